// The body of a request, with its digest.
#ifndef STAMPGATE_STAMP_REQUEST_BODY_H_
#define STAMPGATE_STAMP_REQUEST_BODY_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace stampgate {

// The lower-case hex of a SHA-256.
std::string HexDigest(const std::array<uint8_t, 32>& sha256);

// "sha256:" and the hex: the fingerprint that upstream gives the body with this SHA-256. Upstream answers a repeated
// fingerprint with the activity that it already has.
std::string FingerprintOf(const std::array<uint8_t, 32>& sha256);

// The exact bytes that are stamped and sent. Their SHA-256 is computed once, for the fingerprint, for the audit, for
// the call store and for ECDSA. Immutable.
class RequestBody {
 public:
  explicit RequestBody(std::string bytes);

  const std::string& bytes() const { return bytes_; }
  const std::array<uint8_t, 32>& sha256() const { return sha256_; }

  // Also the WebAuthn challenge: a passkey is asked to sign these 64 characters.
  std::string HexDigest() const { return stampgate::HexDigest(sha256_); }
  std::string Fingerprint() const { return FingerprintOf(sha256_); }

  // The bytes; this is of no use afterwards.
  std::string TakeBytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::array<uint8_t, 32> sha256_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_REQUEST_BODY_H_
