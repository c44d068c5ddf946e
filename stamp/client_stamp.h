// A stamp that an end user made: its form is checked, and it is put onto the body that came with it.
//
// Whose key it is and whether it signs this body is left to upstream, which alone knows the keys. Checking a signature
// here would keep nobody out, since anyone can make a good stamp with a key that upstream does not know; it would cost
// CPU that is comparable to the rest of the call; and it would have to take exactly the encodings that upstream takes,
// where each difference refuses a good user. The form is checked so that what cannot be a stamp is an error before
// anything is sent, and so that nothing but a stamp gets into the header.
#ifndef STAMPGATE_STAMP_CLIENT_STAMP_H_
#define STAMPGATE_STAMP_CLIENT_STAMP_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/stamped_request.h"

namespace stampgate {

// The longest value of a stamp's header. A stamp with a token in it has 1 to 2 KiB; servers seldom take more than 8.
inline constexpr size_t kMaxClientStampBytes = 8192;

// Immutable.
class ClientStamp {
 public:
  enum class Kind {
    kApiKey,    // X-Stamp: an API key or a wallet
    kWebAuthn,  // X-Stamp-WebAuthn: a passkey
    kAttested,  // X-Stamp-Attested: a key that a token vouches for
  };

  // Takes the value of the kind's header: base64url without padding of a JSON object, or the object itself unless it is
  // a kApiKey, with exactly the kind's members, each of its form. Errors: kInvalidArgument; the message says what the
  // value "must" be and quotes nothing of it.
  static absl::StatusOr<ClientStamp> Read(Kind kind, std::string value);

  // The header.
  absl::string_view name() const { return name_; }
  const std::string& value() const { return value_; }

  // The request that carries the stamp over `body`, byte for byte.
  StampedRequest Stamp(std::string path, std::string body) const;

 private:
  ClientStamp(absl::string_view name, std::string value) : name_(name), value_(std::move(value)) {}

  absl::string_view name_;  // a constant
  std::string value_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_CLIENT_STAMP_H_
