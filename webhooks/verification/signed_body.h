// The members of a delivery's body that identify the organization and the type of an event.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr size_t kMaxLabelBytes = 128;

// Only members of the root object. A member is empty unless it is a JSON string, valid Unicode, of at most
// kMaxLabelBytes.
struct SignedBody {
  std::string organization_id;         // "organizationId"
  std::string parent_organization_id;  // "parentOrganizationId"
  // Upstream's event type. No signed header has it; it follows from the member "type": "ACTIVITY_UPDATES" for an
  // activity type, the known event type for other known values, and the value of "type" itself for the rest.
  std::string event_type;
};

// Reads a body whose signature has been verified. Errors: kInvalidArgument if the body is not one whole JSON object
// (see translate/json/reader.h); the error never quotes the body.
absl::StatusOr<SignedBody> ReadSignedBody(absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_
