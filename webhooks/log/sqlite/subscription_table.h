// The tables of shared subscriptions in the event log's file.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_SUBSCRIPTION_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_SUBSCRIPTION_TABLE_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// The version of a file that has the tables. A file gets them with its first change of a subscription: see
// MigrateFromVersion3.
inline constexpr int64_t kVersionWithSubscriptions = 4;

// SQL that creates the empty tables: `subscriptions` has the heads, `subscription_events` the rows, `subscription_keys`
// the keys that lag. Each row has a checksum, which also covers the log's id and the subscription's name, so that a
// moved row is recognized as damaged.
extern const char kCreateSubscriptions[];

// Returns whether the file has the tables. Errors: those of SqliteStatus.
absl::StatusOr<bool> HasSubscriptionTables(SqliteConnection& connection);

// Reads all subscriptions of the log with this identity, within the current transaction. Returns none if the file does
// not have the tables. See SubscriptionState::damage for damaged rows. Errors: those of SqliteStatus.
absl::StatusOr<SubscriptionStates> LoadSubscriptions(SqliteConnection& connection, const LogIdentity& log);

// Changes the tables through `connection`, which must outlive this object.
class SubscriptionTable {
 public:
  // Requires that the file has the tables. Errors: those of SqliteStatus.
  static absl::StatusOr<SubscriptionTable> Open(const SqliteConnection& connection, const LogIdentity& log);

  // Applies a change within the current transaction. Errors: kNotFound, and nothing is changed, if the change has no
  // head, and there is no such subscription or its head is damaged; those of SqliteStatus, after which the transaction
  // must be rolled back.
  absl::Status Apply(const SubscriptionChange& change);

 private:
  // Returns nothing if there is no head, or if it is damaged.
  absl::StatusOr<std::optional<SubscriptionHead>> FindHead(absl::string_view subscription);
  absl::Status Remove(absl::string_view subscription);
  absl::Status PutHead(absl::string_view subscription, const SubscriptionHead& head);
  absl::Status PutRow(absl::string_view subscription, const SubscriptionRow& row);
  absl::Status PutLagging(absl::string_view subscription, absl::string_view key, Position position);

  std::array<uint8_t, 16> log_id_ = {};
  SqliteStatement find_head_;
  SqliteStatement put_head_;
  SqliteStatement erase_head_;
  SqliteStatement put_row_;
  SqliteStatement erase_row_;
  SqliteStatement erase_rows_;
  SqliteStatement put_key_;
  SqliteStatement erase_key_;
  SqliteStatement erase_keys_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_SUBSCRIPTION_TABLE_H_
