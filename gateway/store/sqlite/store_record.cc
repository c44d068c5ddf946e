#include "gateway/store/sqlite/store_record.h"

#include <sodium.h>

#include <utility>

#include "absl/status/status_macros.h"
#include "gateway/store/sqlite/row_checksum.h"

namespace stampgate {
namespace {

std::array<uint8_t, 32> ChecksumOf(const StoreRecord& record) {
  RowChecksum checksum;
  checksum.Add(BytesOf(record.id));
  checksum.Add(BytesOf(record.commit_id));
  for (int64_t number : {record.commit, record.keys, record.last_number, record.clock.age_us, record.clock.wall_us,
                         record.distrusted_age_us, record.distrusted_through}) {
    checksum.Add(number);
  }
  return checksum.Sum();
}

}  // namespace

StoreRecord MakeStoreRecord(absl::Time now, bool distrusted) {
  StoreRecord record;
  randombytes_buf(record.id.data(), record.id.size());
  record.clock.wall_us = absl::ToUnixMicros(now);
  if (distrusted) record.distrusted_age_us = 0;
  return record;
}

const char kCreateStoreRecord[] =
    "CREATE TABLE store ("
    " one INTEGER PRIMARY KEY CHECK (one = 1),"
    " id BLOB NOT NULL,"
    " commits INTEGER NOT NULL,"
    " commit_id BLOB NOT NULL,"
    " keys INTEGER NOT NULL,"
    " last_number INTEGER NOT NULL,"
    " age_us INTEGER NOT NULL,"
    " wall_us INTEGER NOT NULL,"
    " distrusted_age_us INTEGER NOT NULL,"
    " distrusted_through INTEGER NOT NULL,"
    " checksum BLOB NOT NULL"
    ") STRICT";

absl::StatusOr<StoreRecordRow> StoreRecordRow::Open(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(connection,
                               "SELECT id, commits, commit_id, keys, last_number, age_us, wall_us, distrusted_age_us,"
                               " distrusted_through, checksum FROM store"));
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement write,
      SqliteStatement::Prepare(
          connection,
          "INSERT OR REPLACE INTO store (one, id, commits, commit_id, keys, last_number, age_us, wall_us,"
          " distrusted_age_us, distrusted_through, checksum) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  StoreRecordRow row;
  row.read_ = std::move(read);
  row.write_ = std::move(write);
  return row;
}

absl::StatusOr<StoreRecord> StoreRecordRow::Read() {
  SqliteReset reset(read_);
  ABSL_ASSIGN_OR_RETURN(const bool row, read_.Step());
  if (!row) return absl::DataLossError("the store's state row is missing");
  StoreRecord record;
  const bool sized = FillWith(read_.Bytes(0), &record.id) && FillWith(read_.Bytes(2), &record.commit_id);
  record.commit = read_.Number(1);
  record.keys = read_.Number(3);
  record.last_number = read_.Number(4);
  record.clock.age_us = read_.Number(5);
  record.clock.wall_us = read_.Number(6);
  record.distrusted_age_us = read_.Number(7);
  record.distrusted_through = read_.Number(8);
  if (!sized || read_.Bytes(9) != BytesOf(ChecksumOf(record))) {
    return absl::DataLossError("the store's state row is damaged");
  }
  return record;
}

absl::Status StoreRecordRow::Write(const StoreRecord& record) {
  const std::array<uint8_t, 32> checksum = ChecksumOf(record);
  write_.BindBlob(1, BytesOf(record.id));
  write_.Bind(2, record.commit);
  write_.BindBlob(3, BytesOf(record.commit_id));
  write_.Bind(4, record.keys);
  write_.Bind(5, record.last_number);
  write_.Bind(6, record.clock.age_us);
  write_.Bind(7, record.clock.wall_us);
  write_.Bind(8, record.distrusted_age_us);
  write_.Bind(9, record.distrusted_through);
  write_.BindBlob(10, BytesOf(checksum));
  return write_.Run();
}

}  // namespace stampgate
