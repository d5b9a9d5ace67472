// TLS 1.3 with the DVM's pre-shared key: no certificates, no tickets, fresh keys per connection.
#pragma once

#include <asio/ssl/context.hpp>
#include <asio/ssl/stream.hpp>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace tide::net {

class TlsContext {
 public:
  // `identity` (the DVM id) is sent in clear, `key` (16 to 256 bytes) is what both sides must have.
  static Result<std::shared_ptr<TlsContext>> create(const std::string& identity,
                                                    const std::string& key);

  [[nodiscard]] asio::ssl::context& context() { return context_; }

  // After a handshake: did both sides prove that they have the key?
  static bool key_was_proven(SSL* ssl);

 private:
  struct Secret {
    std::string identity;
    std::string key;
    Secret(std::string the_identity, std::string the_key);
    ~Secret();
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;
  };

  explicit TlsContext(std::unique_ptr<Secret> secret);
  Status configure();

  static const Secret* secret_of(SSL* ssl);
  static int secret_index();
  static SSL_SESSION* new_session(SSL* ssl, const Secret& secret);
  static int offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity,
                       std::size_t* identity_bytes, SSL_SESSION** session);
  static int find_key(SSL* ssl, const unsigned char* identity, std::size_t identity_bytes,
                      SSL_SESSION** session);

  asio::ssl::context context_;
  std::unique_ptr<Secret> secret_;
};

}  // namespace tide::net
