// Checks a message by the rules of its fields' options: required fields, enums, limits, JSON texts, fields that exclude
// each other. Protobuf fields that the proto does not know are violations too: what cannot be rendered must not be
// lost.
#ifndef STAMPGATE_TRANSLATE_VALIDATOR_H_
#define STAMPGATE_TRANSLATE_VALIDATOR_H_

#include <string>

#include "google/protobuf/message.h"
#include "translate/message_plan.h"
#include "translate/violations.h"

namespace stampgate {

// Adds every violation in `message` to `violations`. Descriptions name the rule and never quote a value.
void Validate(const google::protobuf::Message& message, const MessagePlan& plan, Violations& violations);

// Adds a violation of the field at `path` for each protobuf field of `message` alone that its proto does not know.
void CheckUnknownFields(const google::protobuf::Message& message, const std::string& path, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_VALIDATOR_H_
