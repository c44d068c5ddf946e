// Renders a protobuf message as JSON by its plan: fields ordered by number, no white space, so that equal messages give
// equal bytes. The message must have passed the validator; nothing is checked here.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_WRITER_H_
#define STAMPGATE_TRANSLATE_MESSAGE_WRITER_H_

#include <string>

#include "google/protobuf/message.h"
#include "translate/message_plan.h"

namespace stampgate {

// Appends the JSON members of the fields of `message`, with commas between them, without the braces. Omits fields that
// are not set, fields whose role keeps them out of the body, and `left_out` (which may be null).
void AppendJsonMembers(const google::protobuf::Message& message, const MessagePlan& plan, const FieldPlan* left_out,
                       std::string& out);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_WRITER_H_
