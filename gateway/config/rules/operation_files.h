// Adds the operations in the files that the config names to those that the program contains.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_OPERATION_FILES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_OPERATION_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/secret/file_contents.h"
#include "gateway/config/rules/fault_report.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_table.h"

namespace stampgate {

// Returns the operations of `base`, which must have no fault, and of the files `operations` of `config`. `config_file`
// is the path of the config, to which the names of these files are relative. Warns of what a file defines otherwise
// than the gateway, which stays as it is. If a file has a fault, reports it, and leaves this file out. Keeps the last
// result without a fault, and returns it again if nothing has changed. Thread-safe.
std::shared_ptr<const OperationTable> ReadOperations(OperationSet::Shared base, const std::string& config_file,
                                                     const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report);

// Returns the full names of the fields of `set` that nobody has reviewed, in alphabetical order.
std::vector<std::string> UnreviewedNames(const OperationSet& set);

// What the warnings state of a field that nobody has reviewed, and of an element whose options in a file are not used.
inline constexpr absl::string_view kHasNoGuard =
    "has no guard: a grant with amount_limits, destinations or export_public_keys allows no request that sets it";
inline constexpr absl::string_view kHasUnusedOptions =
    "has other options in this file, which are not used: the gateway uses its own";

// Returns the SHA-256 of the operations in hex: equal protos, with equal comments, have the same digest.
std::string DigestOf(const OperationSet& operations);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_OPERATION_FILES_H_
