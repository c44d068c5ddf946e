#include "webhooks/log/postgres/subscription_rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/log/partition.h"

namespace stampgate {

SubscriptionRow ReadRow(const PostgresResult& result, int row, int column) {
  SubscriptionRow read;
  read.position = result.Number(row, column);
  read.partition = FromTables(result.Number(row, column + 1));
  read.mark = static_cast<EventMark>(result.Number(row, column + 2));
  read.deliveries = result.Number(row, column + 3);
  read.uncounted = result.Number(row, column + 4);
  read.time = absl::FromUnixMicros(result.Number(row, column + 5));
  read.reason = std::string(result.Bytes(row, column + 6));
  return read;
}

void ReadKey(const PostgresResult& result, int row, int column, SubscriptionState& state) {
  const std::string key(result.Bytes(row, column));
  if (FromTables(result.Number(row, column + 2)) != PartitionOf(key)) return;
  state.lagging[key] = result.Number(row, column + 1);
}

void ReadProgress(const std::vector<int64_t>& partitions, const std::vector<int64_t>& through,
                  const std::vector<int64_t>& reserved, SubscriptionHead& head) {
  for (const int64_t number : partitions) {
    const size_t partition = FromTables(number);
    if (partition < kPartitions && through.size() == kPartitions && reserved.size() == kPartitions) {
      head.partitions[partition] = {through[partition], reserved[partition]};
    }
  }
}

std::vector<PostgresStatement> QueriesOfStates() {
  return {
      {"SELECT subscription, incarnation, event_order FROM subscriptions"},
      {"SELECT subscription, partitions, through, reserved FROM subscription_holds"},
      {absl::StrCat("SELECT subscription, ", kRowColumns, " FROM subscription_events ORDER BY subscription, position")},
      {"SELECT subscription, key, position, partition FROM subscription_keys"}};
}

SubscriptionStates ReadStates(const std::vector<PostgresResult>& results) {
  SubscriptionStates states;
  const PostgresResult& heads = results[0];
  for (int i = 0; i < heads.rows(); ++i) {
    SubscriptionHead& head = states[std::string(heads.Bytes(i, 0))].head;
    head.incarnation = heads.Number(i, 1);
    head.order = heads.Number(i, 2);
  }
  const PostgresResult& holds = results[1];
  for (int i = 0; i < holds.rows(); ++i) {
    ReadProgress(holds.Numbers(i, 1), holds.Numbers(i, 2), holds.Numbers(i, 3),
                 states[std::string(holds.Bytes(i, 0))].head);
  }
  const PostgresResult& rows = results[2];
  for (int i = 0; i < rows.rows(); ++i) {
    states[std::string(rows.Bytes(i, 0))].rows.push_back(ReadRow(rows, i, 1));
  }
  const PostgresResult& keys = results[3];
  for (int i = 0; i < keys.rows(); ++i) {
    ReadKey(keys, i, 1, states[std::string(keys.Bytes(i, 0))]);
  }
  return states;
}

void AddRows(absl::Span<const SubscriptionRow> rows, PostgresParameters& parameters) {
  const auto column = [&rows](auto of) {
    std::vector<int64_t> values;
    for (const SubscriptionRow& row : rows) values.push_back(of(row));
    return values;
  };
  std::vector<absl::string_view> reasons;
  for (const SubscriptionRow& row : rows) reasons.push_back(row.reason);
  parameters.Bigints(column([](const SubscriptionRow& row) { return row.position; }))
      .Bigints(column([](const SubscriptionRow& row) { return ToTables(row.partition); }))
      .Bigints(column([](const SubscriptionRow& row) { return static_cast<int64_t>(row.mark); }))
      .Bigints(column([](const SubscriptionRow& row) { return row.deliveries; }))
      .Bigints(column([](const SubscriptionRow& row) { return row.uncounted; }))
      .Bigints(column([](const SubscriptionRow& row) { return absl::ToUnixMicros(row.time); }))
      .ByteArrays(reasons);
}

void AddKeys(absl::Span<const std::pair<std::string, Position>> keys, PostgresParameters& parameters) {
  std::vector<absl::string_view> names;
  std::vector<int64_t> partitions;
  std::vector<int64_t> positions;
  for (const auto& [key, position] : keys) {
    names.push_back(key);
    partitions.push_back(ToTables(PartitionOf(key)));
    positions.push_back(position);
  }
  parameters.ByteArrays(names).Bigints(partitions).Bigints(positions);
}

}  // namespace stampgate
