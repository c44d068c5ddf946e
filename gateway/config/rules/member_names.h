// The setting member_names_as_of, which selects the names of renamed members in the requests that upstream receives.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_MEMBER_NAMES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_MEMBER_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "gateway/config/rules/fault_report.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_table.h"

namespace stampgate {

// Checks member_names_as_of.
void CheckMemberNames(const config::v1::Config& config, const OperationTable& operations, ConfigReport& report);

// Returns a line for the operator with the days on which members of requests got another name, and the names that
// upstream receives if the setting is `names_as_of`. Returns an empty text if no member got another name.
std::string DescribeMemberNames(const OperationTable& operations, absl::string_view names_as_of);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_MEMBER_NAMES_H_
