// The one place where Asio's TLS part is compiled.
#include <asio/ssl/impl/src.hpp>
