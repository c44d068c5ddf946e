// Validates a message by the options of its fields: required fields, enums, limits, JSON texts, mutually exclusive
// fields. Protobuf fields that the proto does not have are violations too: the gateway could not render them, and must
// not drop them.
#ifndef STAMPGATE_TRANSLATE_VALIDATOR_H_
#define STAMPGATE_TRANSLATE_VALIDATOR_H_

#include <string>

#include "google/protobuf/message.h"
#include "translate/message_plan.h"
#include "translate/violations.h"

namespace stampgate {

// Adds every violation in `message` to `violations`. Descriptions name the rule and never quote a value.
void Validate(const google::protobuf::Message& message, const MessagePlan& plan, Violations& violations);

// Adds a violation at `path` for each protobuf field of `message` that its proto does not have; ignores messages inside
// it.
void CheckUnknownFields(const google::protobuf::Message& message, const std::string& path, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_VALIDATOR_H_
