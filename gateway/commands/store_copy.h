// The command `stampgate store copy`.
#ifndef STAMPGATE_GATEWAY_COMMANDS_STORE_COPY_H_
#define STAMPGATE_GATEWAY_COMMANDS_STORE_COPY_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Copies the store of the config in the file `from` to the new store of the config in the file `to`: from SQLite to
// PostgreSQL, or back. Reads of the files that the configs name only the key of the store and those with which it logs
// in. Calls `on_progress` with a line for the operator now and then. Returns a text for the operator. See help_text.cc.
// Errors: those of LoadPolicy, and those that help_text.cc lists.
absl::StatusOr<std::string> CopyStoreOf(const std::string& from, const std::string& to,
                                        const std::function<void(absl::string_view)>& on_progress);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_STORE_COPY_H_
