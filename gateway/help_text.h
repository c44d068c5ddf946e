// What --help prints.
#ifndef STAMPGATE_GATEWAY_HELP_TEXT_H_
#define STAMPGATE_GATEWAY_HELP_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The help of a command, such as "serve" or "audit verify": usage, options, exit statuses, an example. Of "audit" and
// "store": the help of each of their commands. Of any other text: the list of all commands. Words behind the command
// are passed over.
std::string HelpText(absl::string_view command);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_HELP_TEXT_H_
