// The body of a request, with its digest.
#ifndef STAMPGATE_STAMP_REQUEST_BODY_H_
#define STAMPGATE_STAMP_REQUEST_BODY_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace stampgate {

// Returns the 64 lower-case hex digits of `sha256`.
std::string HexDigest(const std::array<uint8_t, 32>& sha256);

// Returns "sha256:" and the hex digits of `sha256`: the fingerprint with which upstream identifies a submit whose body
// has this SHA-256. If upstream already has an activity with the fingerprint, it returns that activity instead of
// creating a new one.
std::string FingerprintOf(const std::array<uint8_t, 32>& sha256);

// The exact bytes that are stamped and sent. The constructor computes their SHA-256, which the fingerprint, the audit
// log, the call store and ECDSA signers use. Immutable.
class RequestBody {
 public:
  explicit RequestBody(std::string bytes);

  const std::string& bytes() const { return bytes_; }
  const std::array<uint8_t, 32>& sha256() const { return sha256_; }

  // These 64 characters are also the WebAuthn challenge that a passkey signs to stamp the body.
  std::string HexDigest() const { return stampgate::HexDigest(sha256_); }
  std::string Fingerprint() const { return FingerprintOf(sha256_); }

  // Moves the bytes out. Do not use this object afterwards.
  std::string TakeBytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::array<uint8_t, 32> sha256_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_REQUEST_BODY_H_
