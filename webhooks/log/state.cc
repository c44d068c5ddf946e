#include "webhooks/log/state.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/big_endian.h"
#include "base/secret/sha256.h"
#include "webhooks/log/row.h"

namespace stampgate {
namespace {

absl::string_view KeyText(const LogIdentity& identity) {
  return absl::string_view(reinterpret_cast<const char*>(identity.cursor_key.data()), identity.cursor_key.size());
}

std::string BytesOf(const LogRecord& record, std::initializer_list<int64_t> numbers) {
  std::string bytes = absl::StrCat(AsText(record.identity.id), KeyText(record.identity));
  for (int64_t number : numbers) {
    const std::array<char, 8> encoded = ToBigEndian(static_cast<uint64_t>(number));
    bytes.append(encoded.data(), encoded.size());
  }
  return bytes;
}

Digest ChecksumOf(const LogRecord& record) {
  return Sha256(absl::StrCat(BytesOf(record, {record.earliest, record.latest, record.latest_commit_us,
                                              record.clock.age_us, record.clock.wall_us}),
                             AsText(record.latest_digest), AsText(record.digest_before)));
}

Digest ChecksumOfVersion1(const LogRecord& record) {
  return Sha256(BytesOf(record, {record.earliest, record.latest, record.latest_commit_us}));
}

absl::Status MissingRow() { return absl::DataLossError("the log's state row is missing"); }
absl::Status DamagedRow() { return absl::DataLossError("the log's state row is damaged"); }

template <size_t kSize>
bool Fill(absl::string_view bytes, std::array<uint8_t, kSize>* array) {
  if (bytes.size() != kSize) return false;
  std::copy(bytes.begin(), bytes.end(), array->begin());
  return true;
}

}  // namespace

LogIdentity MakeLogIdentity() {
  LogIdentity identity;
  randombytes_buf(identity.id.data(), identity.id.size());
  randombytes_buf(identity.cursor_key.data(), identity.cursor_key.size());
  return identity;
}

const char kCreateLogRecord[] =
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

absl::StatusOr<LogRecord> ReadLogRecordOfVersion1(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(connection,
                               "SELECT id, cursor_key, earliest, latest, latest_commit_us, checksum FROM log"));
  ABSL_ASSIGN_OR_RETURN(bool row, read.Step());
  if (!row) return MissingRow();
  LogRecord record;
  const bool sized = Fill(read.Bytes(0), &record.identity.id) && Fill(read.Bytes(1), &record.identity.cursor_key);
  record.earliest = read.Number(2);
  record.latest = read.Number(3);
  record.latest_commit_us = read.Number(4);
  if (!sized || read.Bytes(5) != AsText(ChecksumOfVersion1(record))) return DamagedRow();
  return record;
}

absl::StatusOr<LogRecordReader> LogRecordReader::Open(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement read,
      SqliteStatement::Prepare(
          connection,
          "SELECT id, cursor_key, earliest, latest, latest_commit_us, latest_digest, digest_before, age_us, wall_us,"
          " checksum FROM log"));
  LogRecordReader reader;
  reader.read_ = std::move(read);
  return reader;
}

absl::StatusOr<LogRecord> LogRecordReader::Read() {
  SqliteReset reset(read_);
  ABSL_ASSIGN_OR_RETURN(bool row, read_.Step());
  if (!row) return MissingRow();
  LogRecord record;
  const bool sized = Fill(read_.Bytes(0), &record.identity.id) && Fill(read_.Bytes(1), &record.identity.cursor_key) &&
                     Fill(read_.Bytes(5), &record.latest_digest) && Fill(read_.Bytes(6), &record.digest_before);
  record.earliest = read_.Number(2);
  record.latest = read_.Number(3);
  record.latest_commit_us = read_.Number(4);
  record.clock = {.age_us = read_.Number(7), .wall_us = read_.Number(8)};
  if (!sized || read_.Bytes(9) != AsText(ChecksumOf(record))) return DamagedRow();
  return record;
}

absl::StatusOr<LogRecordWriter> LogRecordWriter::Open(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement write,
      SqliteStatement::Prepare(
          connection,
          "INSERT OR REPLACE INTO log (one, id, cursor_key, earliest, latest, latest_commit_us, latest_digest,"
          " digest_before, age_us, wall_us, checksum) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  LogRecordWriter writer;
  writer.write_ = std::move(write);
  return writer;
}

absl::Status LogRecordWriter::Write(const LogRecord& record) {
  const Digest checksum = ChecksumOf(record);
  write_.BindBlob(1, AsText(record.identity.id));
  write_.BindBlob(2, KeyText(record.identity));
  write_.Bind(3, record.earliest);
  write_.Bind(4, record.latest);
  write_.Bind(5, record.latest_commit_us);
  write_.BindBlob(6, AsText(record.latest_digest));
  write_.BindBlob(7, AsText(record.digest_before));
  write_.Bind(8, record.clock.age_us);
  write_.Bind(9, record.clock.wall_us);
  write_.BindBlob(10, AsText(checksum));
  return write_.Run();
}

}  // namespace stampgate
