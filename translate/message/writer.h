// Renders a request message as JSON by its plan. Orders the fields by number and the members of a map by the
// bytes of their names, and writes no white space, so that equal messages give equal bytes. Requires a message that the
// validator accepted; checks nothing itself.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_WRITER_H_
#define STAMPGATE_TRANSLATE_MESSAGE_WRITER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "translate/message/parsed_message.h"

namespace stampgate {

// Appends the JSON members of the fields of `message` to `out`, with commas between them, without the braces of the
// object. Omits fields that are not set, fields whose role excludes them from the body, and the field `left_out` (which
// may be null). Each member has the name that upstream knew on the day `names_as_of`; if this is empty, its oldest
// name.
void AppendJsonMembers(const ParsedMessage& message, const FieldPlan* left_out, absl::string_view names_as_of,
                       std::string& out);

// Returns the number of bytes that AppendJsonMembers would append. As soon as the number exceeds `most`, stops counting
// and returns a number that is greater than `most`.
size_t JsonMembersSize(const ParsedMessage& message, const FieldPlan* left_out, absl::string_view names_as_of,
                       size_t most);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_WRITER_H_
