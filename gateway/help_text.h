// The texts that --help prints.
#ifndef STAMPGATE_GATEWAY_HELP_TEXT_H_
#define STAMPGATE_GATEWAY_HELP_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The help of a command, such as "serve" or "audit verify": usage, options, exit statuses, an example. For "audit" and
// "store": the help of each of their commands. For other texts: the list of all commands. Ignores words after the
// command.
std::string HelpText(absl::string_view command);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_HELP_TEXT_H_
