#include "gateway/tls/handshake_failures.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>

namespace stampgate {
namespace {

std::array<std::atomic<int64_t>, kHandshakeFailureCount> failed = {};

// The random bytes of a ClientHello, by which both sides know the same handshake.
using HelloRandom = std::array<unsigned char, SSL3_RANDOM_SIZE>;

// Those of the process's own clients whose handshakes the server has not ended yet.
class Disregarded {
 public:
  void Add(const HelloRandom& random) {
    const std::lock_guard lock(mutex_);
    randoms_.push_back(random);
    if (randoms_.size() > kMost) randoms_.pop_front();
  }

  bool Remove(const HelloRandom& random) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(randoms_.begin(), randoms_.end(), random);
    if (found == randoms_.end()) return false;
    randoms_.erase(found);
    return true;
  }

 private:
  // The server may close a connection late, or may never have accepted it.
  static constexpr size_t kMost = 64;

  std::mutex mutex_;
  std::deque<HelloRandom> randoms_;
};

// Never destroyed: connections may be closed while the process exits.
Disregarded& TheDisregarded() {
  static Disregarded& disregarded = *new Disregarded;
  return disregarded;
}

HelloRandom RandomOf(const SSL& ssl) {
  HelloRandom random = {};
  SSL_get_client_random(&ssl, random.data(), random.size());
  return random;
}

bool HasHello(const HelloRandom& random) { return random != HelloRandom{}; }

HandshakeFailure FailureOf(const SSL& ssl) {
  if (!HasHello(RandomOf(ssl))) return HandshakeFailure::kNoHello;
  if (SSL_get_verify_result(&ssl) != X509_V_OK) return HandshakeFailure::kCertificateRefused;
  switch (SSL_get_state(&ssl)) {
    case TLS_ST_SR_CLNT_HELLO:
      return HandshakeFailure::kHelloRefused;
    case TLS_ST_SR_CERT:
      return SSL_get0_peer_certificate(&ssl) == nullptr ? HandshakeFailure::kNoCertificate
                                                        : HandshakeFailure::kUnfinished;
    default:
      return HandshakeFailure::kUnfinished;
  }
}

// Called at the beginning of SSL_free, with the connection as it was.
void Count(void* parent, void* /*data*/, CRYPTO_EX_DATA* /*all*/, int /*index*/, long /*l*/, void* /*p*/) {
  const auto* ssl = static_cast<const SSL*>(parent);
  if (SSL_is_server(ssl) == 0 || (SSL_get_verify_mode(ssl) & SSL_VERIFY_FAIL_IF_NO_PEER_CERT) == 0) return;
  // A connection that fails later is in this state too.
  if (SSL_get_state(ssl) == TLS_ST_OK) return;
  if (const HelloRandom random = RandomOf(*ssl); HasHello(random) && TheDisregarded().Remove(random)) return;
  ++failed[static_cast<size_t>(FailureOf(*ssl))];
}

}  // namespace

absl::Status CountFailedHandshakes() {
  static const int index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, nullptr, nullptr, &Count);
  return index >= 0 ? absl::OkStatus() : absl::ResourceExhaustedError("OpenSSL lets nobody look at connections");
}

void DisregardHandshake(const SSL& client) {
  if (const HelloRandom random = RandomOf(client); HasHello(random)) TheDisregarded().Add(random);
}

int64_t FailedHandshakes(HandshakeFailure how) { return failed[static_cast<size_t>(how)]; }

}  // namespace stampgate
