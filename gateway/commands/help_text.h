// Returns the texts that --help prints.
#ifndef STAMPGATE_GATEWAY_COMMANDS_HELP_TEXT_H_
#define STAMPGATE_GATEWAY_COMMANDS_HELP_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the help of a command, such as "serve" or "audit verify": usage, options, exit statuses and an example. For
// "audit", "store" or "operations", returns the help of all commands that begin with this word. For any other text,
// returns the list of all commands. Ignores words after the command.
std::string HelpText(absl::string_view command);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_HELP_TEXT_H_
