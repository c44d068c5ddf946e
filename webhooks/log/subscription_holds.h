// The interface through which the gateways that share a store divide the partitions of shared subscriptions.
#ifndef STAMPGATE_WEBHOOKS_LOG_SUBSCRIPTION_HOLDS_H_
#define STAMPGATE_WEBHOOKS_LOG_SUBSCRIPTION_HOLDS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// What is known of some of the partitions of a subscription: those of a gateway, or all others.
struct HoldReport {
  // Every event of the partitions up to here is settled, parked, or of a lagging key. The maximum if there are no
  // partitions.
  Position through = std::numeric_limits<Position>::max();
  int64_t consumers = 0;
  int64_t held = 0;  // events that consumers hold
  int64_t parked = 0;
  int64_t lagging_keys = 0;
  std::optional<absl::Time> oldest = {};  // see SharedSubscription::Stats; with a precision of microseconds

  friend bool operator==(const HoldReport&, const HoldReport&) = default;
};

// What applies after a declaration.
struct DeclaredSettings {
  bool is_new = false;
  int64_t version = 0;
  std::string settings = {};
  int64_t order = 0;

  friend bool operator==(const DeclaredSettings&, const DeclaredSettings&) = default;
};

// What a gateway states about a subscription that it serves.
struct HoldRenewal {
  std::string subscription = {};
  // The hold that the gateway knows, or 0, and the partitions of it whose state it has.
  int64_t hold = 0;
  std::set<size_t> known = {};
  // The partitions that it gives back, and how long consumers can hold events of each.
  std::map<size_t, absl::Duration> given = {};
  // How long consumers can hold events of partitions that are taken from a gateway that is gone.
  absl::Duration settle_within = {};
  int64_t settings_version = 0;  // of the settings that the gateway uses
  HoldReport report = {};
};

// The partitions of a subscription that a gateway has until the hold ends. The store refuses a change of another
// gateway that concerns one of them.
struct Hold {
  int64_t number = 0;  // another hold of the same gateway has another number
  std::set<size_t> partitions = {};
  // The partitions whose state the gateway does not have, with how long consumers can hold their events.
  std::map<size_t, absl::Duration> added = {};
  // The state of the added partitions. The other parts mean nothing.
  SubscriptionState state = {};
  // How many partitions the gateway must give back, because others have less than their part.
  size_t excess = 0;
  // The log has events at least up to here: no gateway has sent an event after it.
  Position latest = 0;
  // Events up to here that are sent now can have been sent before somebody called Seek.
  Position sought_from = 0;
  // The settings of the subscription, if they have another version than those that the gateway uses.
  std::optional<DeclaredSettings> settings = {};
  // What the other gateways have reported, and what the store has of the partitions that nobody holds.
  HoldReport others = {};

  friend bool operator==(const Hold&, const Hold&) = default;
};

// Returns the hold of a gateway that shares its store with no other one.
inline Hold SoleHold(const SubscriptionState& state, absl::Duration settle_within) {
  Hold hold = {.number = 1, .state = state};
  for (size_t partition = 0; partition < kPartitions; ++partition) {
    hold.partitions.insert(partition);
    hold.added[partition] = settle_within;
  }
  return hold;
}

// What the config says about a subscription, for all gateways. The gateway with the highest version decides.
struct SubscriptionDeclaration {
  std::string subscription = {};
  int64_t order = 0;   // see SubscriptionHead; counts only if the subscription is new
  Position start = 0;  // also counts only then
  int64_t version = 0;
  std::string settings = {};  // only the user of the store understands it
};

// What a gateway asks the one that has a partition.
struct HolderRequest {
  int64_t id = 0;
  std::string subscription = {};
  size_t partition = 0;
  std::string request = {};  // only the user of the store understands it

  friend bool operator==(const HolderRequest&, const HolderRequest&) = default;
};

struct HolderAnswer {
  int64_t id = 0;
  std::string answer = {};  // see SubscriptionChange::answers

  friend bool operator==(const HolderAnswer&, const HolderAnswer&) = default;
};

// All functions that are not said to be thread-safe must be called on one thread. They block until the store has
// answered. Errors, also where nothing else is said: kUnavailable if the store does not answer; kFailedPrecondition if
// somebody must change a setting or a right.
class SubscriptionHolds {
 public:
  virtual ~SubscriptionHolds() = default;

  // Creates the subscription if it does not exist, and otherwise replaces its settings if they have a lower version.
  virtual absl::StatusOr<DeclaredSettings> Declare(const SubscriptionDeclaration& declaration) = 0;

  // Renews the gateway's hold, or begins one. Must be called about once a second: otherwise, others take the
  // partitions. Partitions are divided evenly among the gateways that have consumers. The added partitions are durable.
  // Errors: kNotFound if there is no such subscription.
  virtual absl::StatusOr<Hold> Renew(const HoldRenewal& renewal) = 0;

  // Ends the gateway's hold. Consumers can hold events of its partitions for `sent_for`.
  virtual absl::Status End(const std::string& subscription, absl::Duration sent_for) = 0;

  // Continues the subscription after `position`, with another incarnation, and ends all holds. Parked events stay.
  // Errors: kNotFound if there is no such subscription; kAborted if it was moved or deleted meanwhile.
  virtual absl::Status Seek(const std::string& subscription, Position position) = 0;

  // Asks the gateway that has the partition, and returns the id of the request. After a minute without an answer, it is
  // forgotten. Errors: kNotFound if there is no such subscription.
  virtual absl::StatusOr<int64_t> Ask(const std::string& subscription, size_t partition,
                                      const std::string& request) = 0;
  // Returns the requests for the partitions that the gateway has, in the order in which they were made. A request is
  // returned until a change has answered it.
  virtual absl::StatusOr<std::vector<HolderRequest>> Requests() = 0;
  // Returns some new answers to the gateway's requests. Each is returned once.
  virtual absl::StatusOr<std::vector<HolderAnswer>> TakeAnswers() = 0;

  // Returns the names of all subscriptions. Thread-safe.
  virtual absl::StatusOr<std::set<std::string>> Names() = 0;
  // Returns at most `most` rows of parked events after `after`, in order. Thread-safe.
  virtual absl::StatusOr<std::vector<SubscriptionRow>> Parked(const std::string& subscription, Position after,
                                                              size_t most) = 0;
  // Returns the rows of those of the positions that have parked events, in order. Thread-safe.
  virtual absl::StatusOr<std::vector<SubscriptionRow>> ParkedAt(const std::string& subscription,
                                                                const std::vector<Position>& positions) = 0;

  // Waits until there can be something new for this gateway, until Wake is called, or until `deadline`. Returns whether
  // the next Renew can return something new.
  virtual bool Await(std::chrono::steady_clock::time_point deadline) = 0;
  // Ends Await, or the next one. Does not block. Thread-safe.
  virtual void Wake() = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SUBSCRIPTION_HOLDS_H_
