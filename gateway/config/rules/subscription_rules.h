// Checks the shared subscriptions in the config.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_SUBSCRIPTION_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_SUBSCRIPTION_RULES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/config/rules/fault_report.h"
#include "gateway/policy/organization_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Checks `subscriptions`, and what the grants of their callers allow. Requires that the callers have been checked.
// `of_files` has the ids in the organizations files of the grants. These files change while the gateway runs, so a
// caller that lacks organizations which a file can have is only a warning.
void CheckSubscriptions(const config::v1::Config& config, const OperationSet& operations,
                        const FileOrganizations& of_files, ConfigReport& report);

// Compares the subscriptions of `config` with those of `in_force`, the config that the gateway uses. Warns of each that
// is missing. With a store that gateways share, settings that have changed must have a higher version.
void CompareSubscriptions(const config::v1::Config& in_force, const config::v1::Config& config, ConfigReport& report);

// Returns the settings of a subscription that have a version, in a form in which equal settings are equal: the order of
// a list has no meaning, and neither has `start` of a subscription that exists.
config::v1::Subscription VersionedSettingsOf(config::v1::Subscription subscription);

// Returns a line for the operator about changes of subscriptions. Returns an empty text if there are none.
std::string DescribeSubscriptionChanges(const config::v1::Config& config);

// Returns the time that the setting `start` means: InfinitePast for "earliest", InfiniteFuture for "latest", and
// otherwise a finite time. Returns nullopt if `start` has another form.
std::optional<absl::Time> ParseSubscriptionStart(absl::string_view start);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_SUBSCRIPTION_RULES_H_
