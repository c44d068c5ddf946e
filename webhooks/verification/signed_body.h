// Reads the organization and the event type from the body of a verified delivery.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr size_t kMaxLabelBytes = 128;

// Members of the body's root object. A field is empty if the member is missing, is not a JSON string of valid Unicode,
// or exceeds kMaxLabelBytes.
struct SignedBody {
  std::string organization_id;         // "organizationId"
  std::string parent_organization_id;  // "parentOrganizationId"
  // Upstream's event type, which no signed header contains. It depends on the member "type": an activity type gives
  // "ACTIVITY_UPDATES", some other known values give a known event type, and any other value is itself the event type.
  std::string event_type;
};

// Reads a body whose signature has been verified. Errors: kInvalidArgument if the body is not one whole JSON object
// (see base/json/reader.h); the error never quotes the body.
absl::StatusOr<SignedBody> ReadSignedBody(absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_
