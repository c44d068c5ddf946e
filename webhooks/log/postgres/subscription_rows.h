// The rows of shared subscriptions in the tables of subscriptions_v4.sql: reads them, and lists them for a statement.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_SUBSCRIPTION_ROWS_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_SUBSCRIPTION_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/postgres/connection.h"
#include "base/postgres/parameters.h"
#include "base/postgres/result.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// The tables count partitions from 1.
inline int64_t ToTables(size_t partition) { return static_cast<int64_t>(partition) + 1; }
inline size_t FromTables(int64_t partition) { return static_cast<size_t>(partition - 1); }

// How a query of subscription_events names the columns that ReadRow reads.
inline constexpr char kRowColumns[] = "position, partition, mark, deliveries, uncounted, time_us, reason";

// Reads a row of subscription_events, whose columns begin at `column`.
SubscriptionRow ReadRow(const PostgresResult& result, int row, int column);

// Adds a row of subscription_keys, with the columns key, position and partition from `column` on, unless it has another
// partition than its key.
void ReadKey(const PostgresResult& result, int row, int column, SubscriptionState& state);

// Writes how far a hold has come into the head.
void ReadProgress(const std::vector<int64_t>& partitions, const std::vector<int64_t>& through,
                  const std::vector<int64_t>& reserved, SubscriptionHead& head);

// The queries of all subscriptions, which must see the same moment.
std::vector<PostgresStatement> QueriesOfStates();
// Reads their results.
SubscriptionStates ReadStates(const std::vector<PostgresResult>& results);

// Add an array for each column of the table except the first, in the order of the columns: for subscription_events, and
// for subscription_keys.
void AddRows(absl::Span<const SubscriptionRow> rows, PostgresParameters& parameters);
void AddKeys(absl::Span<const std::pair<std::string, Position>> keys, PostgresParameters& parameters);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_SUBSCRIPTION_ROWS_H_
