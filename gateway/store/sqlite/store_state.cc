#include "gateway/store/sqlite/store_state.h"

#include <sodium.h>

#include <utility>

#include "absl/status/status_macros.h"
#include "base/disk/row_checksum.h"

namespace stampgate {
namespace {

std::array<uint8_t, 32> ChecksumOf(const StoreState& state) {
  RowChecksum checksum;
  checksum.Add(BytesOf(state.id));
  checksum.Add(BytesOf(state.commit_id));
  for (int64_t number : {state.commit, state.keys, state.last_number, state.clock.age_us, state.clock.wall_us,
                         state.distrusted_age_us, state.distrusted_through}) {
    checksum.Add(number);
  }
  return checksum.Sum();
}

}  // namespace

StoreState MakeStoreState(absl::Time now, bool distrusted) {
  StoreState state;
  randombytes_buf(state.id.data(), state.id.size());
  state.clock.wall_us = absl::ToUnixMicros(now);
  if (distrusted) state.distrusted_age_us = 0;
  return state;
}

const char kCreateStoreState[] =
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

absl::StatusOr<StoreStateRow> StoreStateRow::Open(const SqliteConnection& connection) {
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
  StoreStateRow row;
  row.read_ = std::move(read);
  row.write_ = std::move(write);
  return row;
}

absl::StatusOr<StoreState> StoreStateRow::Read() {
  SqliteReset reset(read_);
  ABSL_ASSIGN_OR_RETURN(const bool row, read_.Step());
  if (!row) return absl::DataLossError("the store's state row is missing");
  StoreState state;
  const bool sized = FillWith(read_.Bytes(0), &state.id) && FillWith(read_.Bytes(2), &state.commit_id);
  state.commit = read_.Number(1);
  state.keys = read_.Number(3);
  state.last_number = read_.Number(4);
  state.clock.age_us = read_.Number(5);
  state.clock.wall_us = read_.Number(6);
  state.distrusted_age_us = read_.Number(7);
  state.distrusted_through = read_.Number(8);
  if (!sized || read_.Bytes(9) != BytesOf(ChecksumOf(state))) {
    return absl::DataLossError("the store's state row is damaged");
  }
  return state;
}

absl::Status StoreStateRow::Write(const StoreState& state) {
  const std::array<uint8_t, 32> checksum = ChecksumOf(state);
  write_.BindBlob(1, BytesOf(state.id));
  write_.Bind(2, state.commit);
  write_.BindBlob(3, BytesOf(state.commit_id));
  write_.Bind(4, state.keys);
  write_.Bind(5, state.last_number);
  write_.Bind(6, state.clock.age_us);
  write_.Bind(7, state.clock.wall_us);
  write_.Bind(8, state.distrusted_age_us);
  write_.Bind(9, state.distrusted_through);
  write_.BindBlob(10, BytesOf(checksum));
  return write_.Run();
}

}  // namespace stampgate
