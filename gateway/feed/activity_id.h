// Finds the id of the activity to which an event belongs.
#ifndef STAMPGATE_GATEWAY_FEED_ACTIVITY_ID_H_
#define STAMPGATE_GATEWAY_FEED_ACTIVITY_ID_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "translate/message/plan.h"

namespace stampgate {

// Where the body of a type of events has the id: the field of role FIELD_ROLE_ACTIVITY_ID. Immutable.
class ActivityIdPlace {
 public:
  // Finds the field in the message of `body`, or else in a single message directly inside it. `body` must outlive the
  // place. Errors: kFailedPrecondition if several messages inside it have such a field.
  static absl::StatusOr<ActivityIdPlace> Find(const MessagePlan& body);

  // Return the id in a decoded body, and in the JSON of a body. The id is empty if the body has none, or has no string
  // in its place, or one of more than kMaxLabelBytes. IdInJson may increase the capacity of `json`.
  std::string IdIn(absl::string_view decoded) const;
  std::string IdInJson(std::string& json) const;

 private:
  const FieldPlan* outer_ = nullptr;  // the field with the message that has `id_`; null if it is the body itself
  const FieldPlan* id_ = nullptr;     // null if events of this type have no activity
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_ACTIVITY_ID_H_
