// Validates a message by the options of its fields: required fields, enums, limits, JSON texts, mutually exclusive
// fields. A field that the message's proto does not define is a violation too, since the gateway could not render it as
// JSON and must not drop it.
#ifndef STAMPGATE_TRANSLATE_VALIDATOR_H_
#define STAMPGATE_TRANSLATE_VALIDATOR_H_

#include "translate/message/parsed_message.h"
#include "translate/violations.h"

namespace stampgate {

// Adds every violation in `message` and the messages inside it to `violations`. A description names the broken rule and
// never quotes a value.
void Validate(const ParsedMessage& message, Violations& violations);

// Adds a violation for each field of `message` that its proto does not define. Ignores the messages inside `message`.
void CheckUnknownFields(const ParsedMessage& message, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_VALIDATOR_H_
