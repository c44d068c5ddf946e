#include "webhooks/log/sqlite/subscription_table.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/disk/big_endian.h"
#include "base/disk/row_checksum.h"

namespace stampgate {
namespace {

using LogId = std::array<uint8_t, 16>;

// Begins the checksum of a row of `table`.
RowChecksum BeginChecksum(const LogId& log, absl::string_view table, absl::string_view subscription) {
  RowChecksum checksum;
  checksum.Add(BytesOf(log));
  checksum.Add(table);
  checksum.Add(subscription);
  return checksum;
}

constexpr size_t kProgressBytes = 2 * sizeof(int64_t);

// The positions of the partitions, in the order of their numbers: `through` and `reserved` of each, as big-endian
// numbers.
std::string EncodePartitions(const SubscriptionHead& head) {
  std::string bytes;
  for (const PartitionProgress& progress : head.partitions) {
    for (const Position position : {progress.through, progress.reserved}) {
      const std::array<char, 8> number = ToBigEndian(static_cast<uint64_t>(position));
      bytes.append(number.data(), number.size());
    }
  }
  return bytes;
}

// Returns positions of 0 if the bytes are damaged.
void DecodePartitions(absl::string_view bytes, SubscriptionHead& head) {
  if (bytes.size() != head.partitions.size() * kProgressBytes) return;
  for (PartitionProgress& progress : head.partitions) {
    progress.through = static_cast<Position>(FromBigEndian(bytes.data()));
    progress.reserved = static_cast<Position>(FromBigEndian(bytes.data() + sizeof(int64_t)));
    bytes.remove_prefix(kProgressBytes);
  }
}

ChainDigest ChecksumOf(const LogId& log, absl::string_view subscription, const SubscriptionHead& head) {
  RowChecksum checksum = BeginChecksum(log, "subscriptions", subscription);
  checksum.Add(EncodePartitions(head));
  checksum.Add(head.incarnation);
  checksum.Add(head.order);
  return checksum.Sum();
}

ChainDigest ChecksumOf(const LogId& log, absl::string_view subscription, const SubscriptionRow& row) {
  RowChecksum checksum = BeginChecksum(log, "subscription_events", subscription);
  checksum.Add(row.position);
  checksum.Add(static_cast<int64_t>(row.partition));
  checksum.Add(static_cast<int64_t>(row.mark));
  checksum.Add(row.deliveries);
  checksum.Add(row.uncounted);
  checksum.Add(absl::ToUnixMicros(row.time));
  checksum.Add(row.reason);
  return checksum.Sum();
}

ChainDigest ChecksumOf(const LogId& log, absl::string_view subscription, absl::string_view key, Position position) {
  RowChecksum checksum = BeginChecksum(log, "subscription_keys", subscription);
  checksum.Add(key);
  checksum.Add(position);
  return checksum.Sum();
}

// Keeps the first damage that was found.
void NoteDamage(SubscriptionState& state, std::string damage) {
  if (state.damage.empty()) state.damage = std::move(damage);
}

// Reads the head in the current row of the statement. Returns whether its checksum is right.
bool ReadHead(const SqliteStatement& row, const LogId& log, absl::string_view subscription, SubscriptionHead* head) {
  DecodePartitions(row.Bytes(1), *head);
  head->incarnation = row.Number(2);
  head->order = row.Number(3);
  return row.Bytes(4) == BytesOf(ChecksumOf(log, subscription, *head));
}

absl::Status LoadHeads(const SqliteConnection& connection, const LogId& log, SubscriptionStates* states) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(
          connection, "SELECT subscription, partitions, incarnation, event_order, checksum FROM subscriptions"));
  for (;;) {
    ABSL_ASSIGN_OR_RETURN(const bool row, read.Step());
    if (!row) return absl::OkStatus();
    const std::string subscription(read.Bytes(0));
    SubscriptionState& state = (*states)[subscription];
    if (!ReadHead(read, log, subscription, &state.head)) NoteDamage(state, "its head has another checksum");
  }
}

absl::Status LoadRows(const SqliteConnection& connection, const LogId& log, SubscriptionStates* states) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(
          connection,
          "SELECT subscription, position, event_partition, mark, deliveries, uncounted, time_us, reason,"
          " checksum"
          " FROM subscription_events ORDER BY subscription, position"));
  for (;;) {
    ABSL_ASSIGN_OR_RETURN(const bool found, read.Step());
    if (!found) return absl::OkStatus();
    const absl::string_view subscription = read.Bytes(0);
    SubscriptionRow row;
    row.position = read.Number(1);
    row.partition = static_cast<size_t>(read.Number(2));
    row.mark = static_cast<EventMark>(read.Number(3));
    row.deliveries = read.Number(4);
    row.uncounted = read.Number(5);
    row.time = absl::FromUnixMicros(read.Number(6));
    row.reason = std::string(read.Bytes(7));
    const auto [state, has_no_head] = states->try_emplace(std::string(subscription));
    if (has_no_head) NoteDamage(state->second, "it has rows but no head");
    if (read.Bytes(8) != BytesOf(ChecksumOf(log, subscription, row))) {
      NoteDamage(state->second, absl::StrCat("the row of event ", row.position, " has another checksum"));
    }
    state->second.rows.push_back(std::move(row));
  }
}

absl::Status LoadKeys(const SqliteConnection& connection, const LogId& log, SubscriptionStates* states) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(connection, "SELECT subscription, key, position, checksum FROM subscription_keys"));
  for (;;) {
    ABSL_ASSIGN_OR_RETURN(const bool found, read.Step());
    if (!found) return absl::OkStatus();
    const absl::string_view subscription = read.Bytes(0);
    const absl::string_view key = read.Bytes(1);
    const Position position = read.Number(2);
    const auto [state, has_no_head] = states->try_emplace(std::string(subscription));
    if (has_no_head) NoteDamage(state->second, "it has keys but no head");
    if (read.Bytes(3) != BytesOf(ChecksumOf(log, subscription, key, position))) {
      NoteDamage(state->second, "the row of a key has another checksum");
    }
    state->second.lagging.emplace(std::string(key), position);
  }
}

}  // namespace

const char kCreateSubscriptions[] =
    "CREATE TABLE subscriptions ("
    " subscription TEXT PRIMARY KEY,"
    " partitions BLOB NOT NULL,"
    " incarnation INTEGER NOT NULL,"
    " event_order INTEGER NOT NULL,"
    " checksum BLOB NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE subscription_events ("
    " subscription TEXT NOT NULL,"
    " position INTEGER NOT NULL,"
    " event_partition INTEGER NOT NULL,"
    " mark INTEGER NOT NULL,"
    " deliveries INTEGER NOT NULL,"
    " uncounted INTEGER NOT NULL,"
    " time_us INTEGER NOT NULL,"
    " reason TEXT NOT NULL,"
    " checksum BLOB NOT NULL,"
    " PRIMARY KEY (subscription, position)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE subscription_keys ("
    " subscription TEXT NOT NULL,"
    " key TEXT NOT NULL,"
    " position INTEGER NOT NULL,"
    " checksum BLOB NOT NULL,"
    " PRIMARY KEY (subscription, key)"
    ") STRICT, WITHOUT ROWID";

absl::StatusOr<bool> HasSubscriptionTables(SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(const int64_t version, connection.Number("PRAGMA user_version"));
  return version >= kVersionWithSubscriptions;
}

absl::StatusOr<SubscriptionStates> LoadSubscriptions(SqliteConnection& connection, const LogIdentity& log) {
  SubscriptionStates states;
  ABSL_ASSIGN_OR_RETURN(const bool exist, HasSubscriptionTables(connection));
  if (!exist) return states;
  ABSL_RETURN_IF_ERROR(LoadHeads(connection, log.id, &states));
  ABSL_RETURN_IF_ERROR(LoadRows(connection, log.id, &states));
  ABSL_RETURN_IF_ERROR(LoadKeys(connection, log.id, &states));
  return states;
}

absl::StatusOr<SubscriptionTable> SubscriptionTable::Open(const SqliteConnection& connection, const LogIdentity& log) {
  SubscriptionTable table;
  table.log_id_ = log.id;
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&table.find_head_,
       "SELECT subscription, partitions, incarnation, event_order, checksum FROM subscriptions WHERE subscription = "
       "?1"},
      {&table.put_head_,
       "INSERT OR REPLACE INTO subscriptions (subscription, partitions, incarnation, event_order, checksum)"
       " VALUES (?1, ?2, ?3, ?4, ?5)"},
      {&table.erase_head_, "DELETE FROM subscriptions WHERE subscription = ?1"},
      {&table.put_row_,
       "INSERT OR REPLACE INTO subscription_events"
       " (subscription, position, event_partition, mark, deliveries, uncounted, time_us, reason, checksum)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
      {&table.erase_row_, "DELETE FROM subscription_events WHERE subscription = ?1 AND position = ?2"},
      {&table.erase_rows_, "DELETE FROM subscription_events WHERE subscription = ?1"},
      {&table.put_key_,
       "INSERT OR REPLACE INTO subscription_keys (subscription, key, position, checksum) VALUES (?1, ?2, ?3, ?4)"},
      {&table.erase_key_, "DELETE FROM subscription_keys WHERE subscription = ?1 AND key = ?2"},
      {&table.erase_keys_, "DELETE FROM subscription_keys WHERE subscription = ?1"},
  };
  for (const auto& [statement, sql] : statements) {
    ABSL_ASSIGN_OR_RETURN(*statement, SqliteStatement::Prepare(connection, sql));
  }
  return table;
}

absl::Status SubscriptionTable::Apply(const SubscriptionChange& change) {
  const std::string& subscription = change.subscription;
  if (change.remove) return Remove(subscription);
  std::optional<SubscriptionHead> head = change.head;
  if (!head.has_value()) {
    ABSL_ASSIGN_OR_RETURN(head, FindHead(subscription));
    if (!head) {
      return absl::NotFoundError(absl::StrCat("there is no subscription \"", subscription, "\" with a sound head"));
    }
  }
  for (const auto& [partition, progress] : change.progress) head->partitions[partition] = progress;
  if (change.head || !change.progress.empty()) {
    ABSL_RETURN_IF_ERROR(PutHead(subscription, *head));
  }
  for (const Position position : change.erase) {
    erase_row_.BindText(1, subscription);
    erase_row_.Bind(2, position);
    ABSL_RETURN_IF_ERROR(erase_row_.Run());
  }
  for (const SubscriptionRow& row : change.put) {
    ABSL_RETURN_IF_ERROR(PutRow(subscription, row));
  }
  for (const std::string& key : change.erase_lagging) {
    erase_key_.BindText(1, subscription);
    erase_key_.BindText(2, key);
    ABSL_RETURN_IF_ERROR(erase_key_.Run());
  }
  for (const auto& [key, position] : change.put_lagging) {
    ABSL_RETURN_IF_ERROR(PutLagging(subscription, key, position));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<SubscriptionHead>> SubscriptionTable::FindHead(absl::string_view subscription) {
  SqliteReset reset(find_head_);
  find_head_.BindText(1, subscription);
  ABSL_ASSIGN_OR_RETURN(const bool found, find_head_.Step());
  if (!found) return std::nullopt;
  SubscriptionHead head;
  if (!ReadHead(find_head_, log_id_, subscription, &head)) return std::nullopt;
  return head;
}

absl::Status SubscriptionTable::Remove(absl::string_view subscription) {
  for (SqliteStatement* erase : {&erase_rows_, &erase_keys_, &erase_head_}) {
    erase->BindText(1, subscription);
    ABSL_RETURN_IF_ERROR(erase->Run());
  }
  return absl::OkStatus();
}

absl::Status SubscriptionTable::PutHead(absl::string_view subscription, const SubscriptionHead& head) {
  const ChainDigest checksum = ChecksumOf(log_id_, subscription, head);
  const std::string partitions = EncodePartitions(head);
  put_head_.BindText(1, subscription);
  put_head_.BindBlob(2, partitions);
  put_head_.Bind(3, head.incarnation);
  put_head_.Bind(4, head.order);
  put_head_.BindBlob(5, BytesOf(checksum));
  return put_head_.Run();
}

absl::Status SubscriptionTable::PutRow(absl::string_view subscription, const SubscriptionRow& row) {
  const ChainDigest checksum = ChecksumOf(log_id_, subscription, row);
  put_row_.BindText(1, subscription);
  put_row_.Bind(2, row.position);
  put_row_.Bind(3, static_cast<int64_t>(row.partition));
  put_row_.Bind(4, static_cast<int64_t>(row.mark));
  put_row_.Bind(5, row.deliveries);
  put_row_.Bind(6, row.uncounted);
  put_row_.Bind(7, absl::ToUnixMicros(row.time));
  put_row_.BindText(8, row.reason);
  put_row_.BindBlob(9, BytesOf(checksum));
  return put_row_.Run();
}

absl::Status SubscriptionTable::PutLagging(absl::string_view subscription, absl::string_view key, Position position) {
  const ChainDigest checksum = ChecksumOf(log_id_, subscription, key, position);
  put_key_.BindText(1, subscription);
  put_key_.BindText(2, key);
  put_key_.Bind(3, position);
  put_key_.BindBlob(4, BytesOf(checksum));
  return put_key_.Run();
}

}  // namespace stampgate
