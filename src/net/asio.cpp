// The one place where plain Asio is compiled.
#include <asio/impl/src.hpp>
