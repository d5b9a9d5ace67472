#include "net/tls_context.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <string_view>
#include <utility>

namespace tide::net {
namespace {

constexpr std::size_t kMinKeyBytes = 16;
constexpr std::size_t kMaxKeyBytes = 256;
// The hash of the suite is bound to the key, so there is exactly one suite.
constexpr const char* kCipherSuite = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> kCipherSuiteId = {0x13, 0x01};
constexpr const char* kKeyExchange = "X25519";
constexpr std::array<unsigned char, 4> kSessionContext = {'t', 'i', 'd', 'e'};

Error tls_error(const char* what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return Error{ErrorCode::kInternal, fmt::format("{}: {}", what, text.data())};
}

}  // namespace

TlsContext::Secret::Secret(std::string the_identity, std::string the_key)
    : identity(std::move(the_identity)), key(std::move(the_key)) {}

TlsContext::Secret::~Secret() {
  OPENSSL_cleanse(key.data(), key.size());
}

Result<std::shared_ptr<TlsContext>> TlsContext::create(const std::string& identity,
                                                       const std::string& key) {
  if (identity.empty())
    return Error{ErrorCode::kInvalidArgument, "a DVM id is needed for secure links"};
  if (key.size() < kMinKeyBytes || key.size() > kMaxKeyBytes)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the DVM's key must have {} to {} bytes, not {}", kMinKeyBytes,
                             kMaxKeyBytes, key.size())};
  std::shared_ptr<TlsContext> tls(new TlsContext(std::make_unique<Secret>(identity, key)));
  if (Status status = tls->configure(); !status) return status.error();
  return tls;
}

TlsContext::TlsContext(std::unique_ptr<Secret> secret)
    : context_(asio::ssl::context::tlsv13), secret_(std::move(secret)) {}

Status TlsContext::configure() {
  SSL_CTX* ctx = context_.native_handle();
  if (SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1)
    return tls_error("asking for TLS 1.3");
  if (SSL_CTX_set_ciphersuites(ctx, kCipherSuite) != 1) return tls_error("choosing the cipher");
  if (SSL_CTX_set1_groups_list(ctx, kKeyExchange) != 1)
    return tls_error("choosing the key exchange");
  if (SSL_CTX_set_num_tickets(ctx, 0) != 1) return tls_error("switching off session tickets");
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  // Nobody is trusted by certificate: a server that offers one instead of the key is refused.
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  // With verification a server has to say what its sessions are for, and a key counts as one.
  if (SSL_CTX_set_session_id_context(ctx, kSessionContext.data(), kSessionContext.size()) != 1)
    return tls_error("naming the sessions");
  if (SSL_CTX_set_ex_data(ctx, secret_index(), secret_.get()) != 1)
    return tls_error("storing the key");
  SSL_CTX_set_psk_use_session_callback(ctx, &TlsContext::offer_key);
  SSL_CTX_set_psk_find_session_callback(ctx, &TlsContext::find_key);
  return ok_status();
}

// An external key counts as a resumed session for OpenSSL; anything else was no key at all.
bool TlsContext::key_was_proven(SSL* ssl) {
  return SSL_session_reused(ssl) == 1;
}

int TlsContext::secret_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

const TlsContext::Secret* TlsContext::secret_of(SSL* ssl) {
  return static_cast<const Secret*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), secret_index()));
}

SSL_SESSION* TlsContext::new_session(SSL* ssl, const Secret& secret) {
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipherSuiteId.data());
  SSL_SESSION* session = SSL_SESSION_new();
  if (session == nullptr) return nullptr;
  const auto* key = reinterpret_cast<const unsigned char*>(secret.key.data());
  if (cipher != nullptr && SSL_SESSION_set1_master_key(session, key, secret.key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1 &&
      SSL_SESSION_set1_id_context(session, kSessionContext.data(), kSessionContext.size()) == 1)
    return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int TlsContext::offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity,
                          std::size_t* identity_bytes, SSL_SESSION** session) {
  const Secret& secret = *secret_of(ssl);
  *session = new_session(ssl, secret);
  if (*session == nullptr) return 0;
  *identity = reinterpret_cast<const unsigned char*>(secret.identity.data());
  *identity_bytes = secret.identity.size();
  // A second call names the hash the server wants; with one suite it can only be ours.
  static_cast<void>(digest);
  return 1;
}

int TlsContext::find_key(SSL* ssl, const unsigned char* identity, std::size_t identity_bytes,
                         SSL_SESSION** session) {
  const Secret& secret = *secret_of(ssl);
  *session = nullptr;
  const std::string_view asked(reinterpret_cast<const char*>(identity), identity_bytes);
  if (asked != secret.identity) return 1;  // no key of that name; without one there is no handshake
  *session = new_session(ssl, secret);
  return *session != nullptr ? 1 : 0;
}

}  // namespace tide::net
