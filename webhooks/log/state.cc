#include "webhooks/log/state.h"

#include <sodium.h>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/big_endian.h"
#include "base/disk/row_checksum.h"
#include "base/secret/sha256.h"
#include "webhooks/log/row.h"

namespace stampgate {
namespace {

absl::string_view KeyText(const LogIdentity& identity) {
  return absl::string_view(reinterpret_cast<const char*>(identity.cursor_key.data()), identity.cursor_key.size());
}

std::string BytesOf(const LogState& state, std::initializer_list<int64_t> numbers) {
  std::string bytes = absl::StrCat(AsText(state.identity.id), KeyText(state.identity));
  for (int64_t number : numbers) {
    const std::array<char, 8> encoded = ToBigEndian(static_cast<uint64_t>(number));
    bytes.append(encoded.data(), encoded.size());
  }
  return bytes;
}

Digest ChecksumOf(const LogState& state) {
  return Sha256(absl::StrCat(
      BytesOf(state, {state.earliest, state.latest, state.latest_commit_us, state.clock.age_us, state.clock.wall_us}),
      AsText(state.latest_digest), AsText(state.digest_before)));
}

Digest ChecksumOfVersion1(const LogState& state) {
  return Sha256(BytesOf(state, {state.earliest, state.latest, state.latest_commit_us}));
}

absl::Status MissingRow() { return absl::DataLossError("the log's state row is missing"); }
absl::Status DamagedRow() { return absl::DataLossError("the log's state row is damaged"); }

}  // namespace

LogIdentity MakeLogIdentity() {
  LogIdentity identity;
  randombytes_buf(identity.id.data(), identity.id.size());
  randombytes_buf(identity.cursor_key.data(), identity.cursor_key.size());
  return identity;
}

const char kCreateLogState[] =
    "CREATE TABLE log ("
    " one INTEGER PRIMARY KEY CHECK (one = 1),"
    " id BLOB NOT NULL,"
    " cursor_key BLOB NOT NULL,"
    " earliest INTEGER NOT NULL,"
    " latest INTEGER NOT NULL,"
    " latest_commit_us INTEGER NOT NULL,"
    " latest_digest BLOB NOT NULL,"
    " digest_before BLOB NOT NULL,"
    " age_us INTEGER NOT NULL,"
    " wall_us INTEGER NOT NULL,"
    " checksum BLOB NOT NULL"
    ") STRICT";

absl::StatusOr<LogState> ReadLogStateOfVersion1(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(connection,
                               "SELECT id, cursor_key, earliest, latest, latest_commit_us, checksum FROM log"));
  ABSL_ASSIGN_OR_RETURN(bool row, read.Step());
  if (!row) return MissingRow();
  LogState state;
  const bool sized = FillWith(read.Bytes(0), &state.identity.id) && FillWith(read.Bytes(1), &state.identity.cursor_key);
  state.earliest = read.Number(2);
  state.latest = read.Number(3);
  state.latest_commit_us = read.Number(4);
  if (!sized || read.Bytes(5) != AsText(ChecksumOfVersion1(state))) return DamagedRow();
  return state;
}

absl::StatusOr<LogStateReader> LogStateReader::Open(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(
          connection,
          "SELECT id, cursor_key, earliest, latest, latest_commit_us, latest_digest, digest_before, age_us, wall_us,"
          " checksum FROM log"));
  LogStateReader reader;
  reader.read_ = std::move(read);
  return reader;
}

absl::StatusOr<LogState> LogStateReader::Read() {
  SqliteReset reset(read_);
  ABSL_ASSIGN_OR_RETURN(bool row, read_.Step());
  if (!row) return MissingRow();
  LogState state;
  const bool sized = FillWith(read_.Bytes(0), &state.identity.id) &&
                     FillWith(read_.Bytes(1), &state.identity.cursor_key) &&
                     FillWith(read_.Bytes(5), &state.latest_digest) && FillWith(read_.Bytes(6), &state.digest_before);
  state.earliest = read_.Number(2);
  state.latest = read_.Number(3);
  state.latest_commit_us = read_.Number(4);
  state.clock = {.age_us = read_.Number(7), .wall_us = read_.Number(8)};
  if (!sized || read_.Bytes(9) != AsText(ChecksumOf(state))) return DamagedRow();
  return state;
}

absl::StatusOr<LogStateWriter> LogStateWriter::Open(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement write,
      SqliteStatement::Prepare(
          connection,
          "INSERT OR REPLACE INTO log (one, id, cursor_key, earliest, latest, latest_commit_us, latest_digest,"
          " digest_before, age_us, wall_us, checksum) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  LogStateWriter writer;
  writer.write_ = std::move(write);
  return writer;
}

absl::Status LogStateWriter::Write(const LogState& state) {
  const Digest checksum = ChecksumOf(state);
  write_.BindBlob(1, AsText(state.identity.id));
  write_.BindBlob(2, KeyText(state.identity));
  write_.Bind(3, state.earliest);
  write_.Bind(4, state.latest);
  write_.Bind(5, state.latest_commit_us);
  write_.BindBlob(6, AsText(state.latest_digest));
  write_.BindBlob(7, AsText(state.digest_before));
  write_.Bind(8, state.clock.age_us);
  write_.Bind(9, state.clock.wall_us);
  write_.BindBlob(10, AsText(checksum));
  return write_.Run();
}

}  // namespace stampgate
