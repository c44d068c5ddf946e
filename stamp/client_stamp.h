// Checks the form of a stamp that an end user made, and attaches the stamp to the body that the end user signed.
//
// The gateway does not verify the signature. Only upstream knows the keys of end users, so upstream decides whose key
// made the stamp and whether the stamp signs this body. A verification by the gateway would stop no attacker, since
// anybody can make a valid stamp with a key that upstream does not know. Verification would also use about as much CPU
// as the rest of the call. Finally, the gateway would have to accept exactly the encodings that upstream accepts: each
// difference would reject a legitimate user. Therefore the gateway checks only the form of a stamp. A value that cannot
// be a stamp is thus rejected before anything is sent, and the header can contain nothing but a stamp.
#ifndef STAMPGATE_STAMP_CLIENT_STAMP_H_
#define STAMPGATE_STAMP_CLIENT_STAMP_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/stamped_request.h"

namespace stampgate {

// The maximum length of the value of a stamp's header. A stamp that contains a token has 1 to 2 KiB. Few servers accept
// headers of more than 8 KiB.
inline constexpr size_t kMaxClientStampBytes = 8192;

// A stamp of valid form, with the name of its header. Immutable.
class ClientStamp {
 public:
  enum class Kind {
    kApiKey,    // X-Stamp: signed by an API key or a wallet
    kWebAuthn,  // X-Stamp-WebAuthn: signed by a passkey
    kAttested,  // X-Stamp-Attested: signed by a key that a token attests
  };

  // Reads `value`, the value of the header of `kind`. It must be a JSON object in base64url without padding; for
  // kWebAuthn and kAttested it may also be the plain JSON. The object must have exactly the members of `kind`, each in
  // the right form. Errors: kInvalidArgument, with a message that begins with "must" and does not quote `value`.
  static absl::StatusOr<ClientStamp> Read(Kind kind, std::string value);

  // The name and the value of the stamp's header.
  absl::string_view name() const { return name_; }
  const std::string& value() const { return value_; }

  // Returns a request with exactly the bytes of `body`, and with this stamp.
  StampedRequest Stamp(std::string path, std::string body) const;

 private:
  ClientStamp(absl::string_view name, std::string value) : name_(name), value_(std::move(value)) {}

  absl::string_view name_;  // points to a constant
  std::string value_;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_CLIENT_STAMP_H_
