#include "gateway/store/sqlite/call_table.h"

#include <array>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "base/disk/row_checksum.h"

namespace stampgate {
namespace {

#define STAMPGATE_CALL_COLUMNS                                                     \
  "number, caller, key, request_sha256, body_sha256, timestamp_ms, stored_age_us," \
  " open_attempts, kind, code, domain, reason, activity_id, activity_status, checksum"

std::array<uint8_t, 32> ChecksumOf(const StoreId& id, const CallRow& row) {
  RowChecksum checksum;
  checksum.Add(BytesOf(id));
  for (int64_t number :
       {row.number, static_cast<int64_t>(row.submit.timestamp_ms), row.stored_age_us, row.open_attempts,
        static_cast<int64_t>(row.best_end.kind), static_cast<int64_t>(row.best_end.code)}) {
    checksum.Add(number);
  }
  for (absl::string_view text :
       {absl::string_view(row.submit.caller), absl::string_view(row.submit.key), BytesOf(row.submit.request_sha256),
        BytesOf(row.submit.body_sha256), absl::string_view(row.best_end.domain), absl::string_view(row.best_end.reason),
        absl::string_view(row.best_end.activity_id), absl::string_view(row.best_end.activity_status)}) {
    checksum.Add(text);
  }
  return checksum.Sum();
}

}  // namespace

const char kCreateCalls[] =
    "CREATE TABLE calls ("
    " number INTEGER PRIMARY KEY,"
    " caller TEXT NOT NULL,"
    " key TEXT NOT NULL,"
    " request_sha256 BLOB NOT NULL,"
    " body_sha256 BLOB NOT NULL,"
    " timestamp_ms INTEGER NOT NULL,"
    " stored_age_us INTEGER NOT NULL,"
    " open_attempts INTEGER NOT NULL,"
    " kind INTEGER NOT NULL,"
    " code INTEGER NOT NULL,"
    " domain TEXT NOT NULL,"
    " reason TEXT NOT NULL,"
    " activity_id TEXT NOT NULL,"
    " activity_status TEXT NOT NULL,"
    " checksum BLOB NOT NULL"
    ") STRICT";
const char kIndexCalls[] = "CREATE UNIQUE INDEX calls_by_key ON calls (caller, key)";

absl::StatusOr<CallTable> CallTable::Open(const SqliteConnection& connection, const StoreId& id) {
  CallTable table;
  table.connection_ = connection.get();
  table.id_ = id;
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&table.find_, "SELECT " STAMPGATE_CALL_COLUMNS " FROM calls WHERE caller = ?1 AND key = ?2"},
      {&table.find_number_, "SELECT " STAMPGATE_CALL_COLUMNS " FROM calls WHERE number = ?1"},
      {&table.put_, "INSERT OR REPLACE INTO calls (" STAMPGATE_CALL_COLUMNS
                    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"},
      {&table.after_, "SELECT " STAMPGATE_CALL_COLUMNS " FROM calls WHERE number > ?1 ORDER BY number"},
      {&table.count_, "SELECT caller, count(*) FROM calls GROUP BY caller"},
      {&table.count_through_, "SELECT caller, count(*) FROM calls NOT INDEXED WHERE number <= ?1 GROUP BY caller"},
      {&table.remove_, "DELETE FROM calls WHERE number <= ?1"},
  };
  for (const auto& [statement, sql] : statements) {
    ABSL_ASSIGN_OR_RETURN(SqliteStatement prepared, SqliteStatement::Prepare(connection, sql));
    *statement = std::move(prepared);
  }
  return table;
}

FoundCall CallTable::Read(SqliteStatement& statement) const {
  FoundCall found;
  CallRow& row = found.row;
  row.number = statement.Number(0);
  row.submit.caller = std::string(statement.Bytes(1));
  row.submit.key = std::string(statement.Bytes(2));
  const bool sized =
      FillWith(statement.Bytes(3), &row.submit.request_sha256) && FillWith(statement.Bytes(4), &row.submit.body_sha256);
  row.submit.timestamp_ms = static_cast<uint64_t>(statement.Number(5));
  row.stored_age_us = statement.Number(6);
  row.open_attempts = statement.Number(7);
  row.best_end.kind = static_cast<AttemptEnd::Kind>(statement.Number(8));
  row.best_end.code = static_cast<absl::StatusCode>(statement.Number(9));
  row.best_end.domain = std::string(statement.Bytes(10));
  row.best_end.reason = std::string(statement.Bytes(11));
  row.best_end.activity_id = std::string(statement.Bytes(12));
  row.best_end.activity_status = std::string(statement.Bytes(13));
  const bool whole = sized && statement.Bytes(14) == BytesOf(ChecksumOf(id_, row));
  found.kind = whole ? FoundCall::Kind::kRow : FoundCall::Kind::kDamaged;
  return found;
}

absl::StatusOr<FoundCall> CallTable::Find(absl::string_view caller, absl::string_view key) {
  SqliteReset reset(find_);
  find_.BindText(1, caller);
  find_.BindText(2, key);
  ABSL_ASSIGN_OR_RETURN(const bool there, find_.Step());
  return there ? Read(find_) : FoundCall();
}

absl::StatusOr<FoundCall> CallTable::FindNumber(int64_t number) {
  SqliteReset reset(find_number_);
  find_number_.Bind(1, number);
  ABSL_ASSIGN_OR_RETURN(const bool there, find_number_.Step());
  return there ? Read(find_number_) : FoundCall();
}

absl::Status CallTable::Put(const CallRow& row) {
  const std::array<uint8_t, 32> checksum = ChecksumOf(id_, row);
  put_.Bind(1, row.number);
  put_.BindText(2, row.submit.caller);
  put_.BindText(3, row.submit.key);
  put_.BindBlob(4, BytesOf(row.submit.request_sha256));
  put_.BindBlob(5, BytesOf(row.submit.body_sha256));
  put_.Bind(6, static_cast<int64_t>(row.submit.timestamp_ms));
  put_.Bind(7, row.stored_age_us);
  put_.Bind(8, row.open_attempts);
  put_.Bind(9, static_cast<int64_t>(row.best_end.kind));
  put_.Bind(10, static_cast<int64_t>(row.best_end.code));
  put_.BindText(11, row.best_end.domain);
  put_.BindText(12, row.best_end.reason);
  put_.BindText(13, row.best_end.activity_id);
  put_.BindText(14, row.best_end.activity_status);
  put_.BindBlob(15, BytesOf(checksum));
  return put_.Run();
}

absl::StatusOr<std::vector<CallRow>> CallTable::RowsAfter(int64_t number, int max_rows) {
  std::vector<CallRow> rows;
  SqliteReset reset(after_);
  after_.Bind(1, number);
  while (static_cast<int>(rows.size()) < max_rows) {
    ABSL_ASSIGN_OR_RETURN(const bool there, after_.Step());
    if (!there) break;
    FoundCall found = Read(after_);
    if (found.kind == FoundCall::Kind::kDamaged) return absl::DataLossError("an idempotency key is damaged");
    rows.push_back(std::move(found.row));
  }
  return rows;
}

absl::StatusOr<int64_t> CallTable::LastStoredBefore(int64_t age_us, int max_rows) {
  int64_t last = 0;
  SqliteReset reset(after_);
  after_.Bind(1, 0);
  for (int rows = 0; rows < max_rows; ++rows) {
    ABSL_ASSIGN_OR_RETURN(const bool there, after_.Step());
    if (!there) break;
    const FoundCall found = Read(after_);
    if (found.kind == FoundCall::Kind::kDamaged) continue;
    if (found.row.stored_age_us >= age_us) break;
    last = found.row.number;
  }
  return last;
}

absl::StatusOr<CallTable::CallerCounts> CallTable::CountByCaller() { return ReadCounts(count_); }

absl::StatusOr<CallTable::CallerCounts> CallTable::CountByCallerThrough(int64_t number) {
  count_through_.Bind(1, number);
  return ReadCounts(count_through_);
}

absl::StatusOr<CallTable::CallerCounts> CallTable::ReadCounts(SqliteStatement& statement) {
  CallerCounts counts;
  SqliteReset reset(statement);
  while (true) {
    ABSL_ASSIGN_OR_RETURN(const bool there, statement.Step());
    if (!there) return counts;
    counts.emplace_back(statement.Bytes(0), statement.Number(1));
  }
}

absl::StatusOr<int64_t> CallTable::RemoveThrough(int64_t number) {
  remove_.Bind(1, number);
  ABSL_RETURN_IF_ERROR(remove_.Run());
  return sqlite3_changes(connection_);
}

}  // namespace stampgate
