// A stamp that an end user made: checks its form and attaches it to the body that came with it.
//
// Upstream decides whose key it is and whether it signs this body; only upstream knows the keys. Checking the signature
// here would reject no attacker, since anybody can make a valid stamp with a key that upstream does not know. It would
// also cost about as much CPU as the rest of the call, and it would have to accept exactly the encodings that upstream
// accepts: each difference would reject a legitimate user. The form is checked so that a value that cannot be a stamp
// fails before anything is sent, and so that the header can hold nothing but a stamp.
#ifndef STAMPGATE_STAMP_CLIENT_STAMP_H_
#define STAMPGATE_STAMP_CLIENT_STAMP_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/stamped_request.h"

namespace stampgate {

// The longest value of a stamp's header. A stamp with a token in it has 1 to 2 KiB; few servers accept headers over 8
// KiB.
inline constexpr size_t kMaxClientStampBytes = 8192;

// Immutable.
class ClientStamp {
 public:
  enum class Kind {
    kApiKey,    // X-Stamp: an API key or a wallet
    kWebAuthn,  // X-Stamp-WebAuthn: a passkey
    kAttested,  // X-Stamp-Attested: a key that a token attests
  };

  // Accepts the value of the kind's header: a JSON object in base64url without padding or, except for kApiKey, the
  // plain object. It must have exactly the kind's members, each of the right form. Errors: kInvalidArgument; the
  // message states what the value "must" be and never quotes it.
  static absl::StatusOr<ClientStamp> Read(Kind kind, std::string value);

  // The stamp's header.
  absl::string_view name() const { return name_; }
  const std::string& value() const { return value_; }

  // A request with `body`, byte for byte, and this stamp.
  StampedRequest Stamp(std::string path, std::string body) const;

 private:
  ClientStamp(absl::string_view name, std::string value) : name_(name), value_(std::move(value)) {}

  absl::string_view name_;  // points to a constant
  std::string value_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_CLIENT_STAMP_H_
