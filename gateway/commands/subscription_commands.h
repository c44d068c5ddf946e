// The commands of `stampgate subscriptions`, which ask a running gateway.
#ifndef STAMPGATE_GATEWAY_COMMANDS_SUBSCRIPTION_COMMANDS_H_
#define STAMPGATE_GATEWAY_COMMANDS_SUBSCRIPTION_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/commands/gateway_client.h"

namespace stampgate {

// Each function returns a text for the operator, whose lines contain no control characters. Errors: those of
// GatewayClient.

// Returns a table of the subscriptions that the caller may list.
absl::StatusOr<std::string> ListSubscriptionsOf(const GatewayAddress& gateway);

// Returns the state of the subscription `name`, one field a line.
absl::StatusOr<std::string> ShowSubscriptionOf(const GatewayAddress& gateway, const std::string& name);

// Returns a table of all parked events of a subscription.
absl::StatusOr<std::string> ListParkedOf(const GatewayAddress& gateway, const std::string& name);

// What RetryParked and SkipParked have done.
struct ParkedReport {
  std::string text;
  bool all_were_parked = true;  // whether each of the events was parked
};

// Retry or skip the parked events that have these cursors. If `cursors` is only the word "all", all parked events.
absl::StatusOr<ParkedReport> RetryParkedOf(const GatewayAddress& gateway, const std::string& name,
                                           const std::vector<std::string>& cursors);
absl::StatusOr<ParkedReport> SkipParkedOf(const GatewayAddress& gateway, const std::string& name,
                                          const std::vector<std::string>& cursors);

// Moves a subscription to `place`: "earliest", "latest", a time as in RFC 3339, or a cursor. Returns its new state.
absl::StatusOr<std::string> SeekSubscriptionOf(const GatewayAddress& gateway, const std::string& name,
                                               const std::string& place);

// Deletes the state of a subscription that the config of the gateway does not declare.
absl::StatusOr<std::string> DeleteSubscriptionOf(const GatewayAddress& gateway, const std::string& name);

// Prints the text of a report, and returns the exit status: kExitNotParked if an event was not parked. Prints the
// error, and returns kExitFailure.
int PrintParkedReport(const absl::StatusOr<ParkedReport>& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_SUBSCRIPTION_COMMANDS_H_
