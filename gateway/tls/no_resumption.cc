#include "gateway/tls/no_resumption.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <array>

namespace stampgate {
namespace {

// Called at the end of SSL_new, with the connection's settings as its context has them.
void ForbidToResume(void* parent, void* /*data*/, CRYPTO_EX_DATA* /*all*/, int /*index*/, long /*l*/, void* /*p*/) {
  auto* ssl = static_cast<SSL*>(parent);
  if ((SSL_get_verify_mode(ssl) & SSL_VERIFY_FAIL_IF_NO_PEER_CERT) == 0) return;
  SSL_set_options(ssl, SSL_OP_NO_TICKET);
  SSL_set_num_tickets(ssl, 0);
  // A session is resumed in the context in which it began alone: and no other connection has this one.
  std::array<unsigned char, SSL_MAX_SID_CTX_LENGTH> context;
  if (RAND_bytes(context.data(), static_cast<int>(context.size())) != 1) context.fill(0);
  SSL_set_session_id_context(ssl, context.data(), static_cast<unsigned int>(context.size()));
}

}  // namespace

absl::Status RefuseToResumeSessions() {
  static const int index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, &ForbidToResume, nullptr, nullptr);
  return index >= 0 ? absl::OkStatus() : absl::ResourceExhaustedError("OpenSSL lets nobody look at new connections");
}

}  // namespace stampgate
