// What a delivery's body says about whose event it is, and which.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr size_t kMaxLabelBytes = 128;

// Members of the root alone. Empty where there is none that is text, in Unicode, of at most kMaxLabelBytes.
struct SignedBody {
  std::string organization_id;         // "organizationId"
  std::string parent_organization_id;  // "parentOrganizationId"
  // Upstream's event type, which is signed nowhere but follows from "type": that of an activity is "ACTIVITY_UPDATES",
  // those of the other events have one each, and what is none of these is "type" itself.
  std::string event_type;
};

// Reads a body whose signature was verified. Errors: kInvalidArgument if it is not one whole JSON object (see
// json_reader.h), never with a piece of it.
absl::StatusOr<SignedBody> ReadSignedBody(absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_SIGNED_BODY_H_
