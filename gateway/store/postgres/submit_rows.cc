#include "gateway/store/postgres/submit_rows.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

using Hash = std::array<uint8_t, 32>;

absl::string_view TextOf(const Hash& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

Hash HashOf(absl::string_view bytes) {
  Hash hash = {};
  std::copy_n(bytes.begin(), std::min(bytes.size(), hash.size()), hash.begin());
  return hash;
}

constexpr int kVersionColumn = 14;
constexpr int kSealColumn = 15;

CallRow RowOf(const PostgresResult& result, int i) {
  CallRow row;
  row.submit.caller = std::string(result.Bytes(i, 0));
  row.submit.key = std::string(result.Bytes(i, 1));
  row.number = result.Number(i, 2);
  row.stored_age_us = result.Number(i, 3);
  row.submit.request_sha256 = HashOf(result.Bytes(i, 4));
  row.submit.body_sha256 = HashOf(result.Bytes(i, 5));
  row.submit.timestamp_ms = static_cast<uint64_t>(result.Number(i, 6));
  row.open_attempts = result.Number(i, 7);
  row.best_end.kind = static_cast<AttemptEnd::Kind>(result.Number(i, 8));
  row.best_end.code = static_cast<absl::StatusCode>(result.Number(i, 9));
  row.best_end.domain = std::string(result.Bytes(i, 10));
  row.best_end.reason = std::string(result.Bytes(i, 11));
  row.best_end.activity_id = std::string(result.Bytes(i, 12));
  row.best_end.activity_status = std::string(result.Bytes(i, 13));
  return row;
}

bool IsGenuine(const PostgresResult& result, int i, const CallRow& row, const SubmitCheck& check) {
  if (!check.unsealed_through_us.has_value()) return true;
  // A gateway of an earlier release can have changed the row, and has then left its seal as it was.
  if (row.stored_age_us <= *check.unsealed_through_us) return true;
  return !result.IsNull(i, kSealColumn) &&
         check.seals.IsValid(result.Bytes(i, kSealColumn), row, result.Number(i, kVersionColumn));
}

}  // namespace

const char kSubmitColumns[] =
    "s.caller, s.key, s.number, s.stored_age_us, s.request_sha256, s.body_sha256, s.timestamp_ms, s.open_attempts,"
    " s.end_kind, s.end_code, s.end_domain, s.end_reason, s.activity_id, s.activity_status, s.version, s.seal";

absl::StatusOr<std::vector<CallRow>> RowsOf(const PostgresResult& result, const SubmitCheck& check) {
  std::vector<CallRow> rows;
  for (int i = 0; i < result.rows(); ++i) {
    rows.push_back(RowOf(result, i));
    if (!IsGenuine(result, i, rows.back(), check)) {
      return absl::DataLossError(absl::StrCat("no gateway has stored the idempotency key ", rows.back().submit.key,
                                              " of ", rows.back().submit.caller, " in this form"));
    }
  }
  return rows;
}

PostgresStatement ReadSubmits(const SubmitRows& rows) {
  std::vector<absl::string_view> callers;
  std::vector<absl::string_view> keys;
  for (const auto& [name, row] : rows) {
    callers.push_back(name.first);
    keys.push_back(name.second);
  }
  return {absl::StrCat("SELECT ", kSubmitColumns,
                       " FROM unnest($1, $2) AS name (caller, key) JOIN submits s USING (caller, key)"),
          PostgresParameters().ByteArrays(callers).ByteArrays(keys)};
}

void AddSubmits(const PostgresResult& result, const SubmitCheck& check, SubmitRows* rows) {
  for (int i = 0; i < result.rows(); ++i) {
    CallRow row = RowOf(result, i);
    SubmitRow& stored = (*rows)[{row.submit.caller, row.submit.key}];
    stored.version = result.Number(i, kVersionColumn);
    stored.is_genuine = IsGenuine(result, i, row, check);
    stored.row = std::move(row);
  }
}

void AddChanges(const SubmitRows& rows, const SubmitSeals& seals, PostgresParameters* arguments) {
  std::vector<const SubmitRow*> changed;
  for (const auto& [name, row] : rows) {
    if (row.changed) changed.push_back(&row);
  }
  const auto bytes = [&](auto of) {
    std::vector<absl::string_view> values;
    for (const SubmitRow* row : changed) values.push_back(of(row->row));
    arguments->ByteArrays(values);
  };
  const auto numbers = [&](auto of) {
    std::vector<int64_t> values;
    for (const SubmitRow* row : changed) values.push_back(of(*row));
    arguments->Bigints(values);
  };
  bytes([](const CallRow& row) -> absl::string_view { return row.submit.caller; });
  bytes([](const CallRow& row) -> absl::string_view { return row.submit.key; });
  numbers([](const SubmitRow& row) { return row.version + 1; });
  numbers([](const SubmitRow& row) { return row.row.number; });
  numbers([](const SubmitRow& row) { return row.row.stored_age_us; });
  bytes([](const CallRow& row) { return TextOf(row.submit.request_sha256); });
  bytes([](const CallRow& row) { return TextOf(row.submit.body_sha256); });
  numbers([](const SubmitRow& row) { return static_cast<int64_t>(row.row.submit.timestamp_ms); });
  numbers([](const SubmitRow& row) { return row.row.open_attempts; });
  numbers([](const SubmitRow& row) { return static_cast<int64_t>(row.row.best_end.kind); });
  numbers([](const SubmitRow& row) { return static_cast<int64_t>(row.row.best_end.code); });
  bytes([](const CallRow& row) -> absl::string_view { return row.best_end.domain; });
  bytes([](const CallRow& row) -> absl::string_view { return row.best_end.reason; });
  bytes([](const CallRow& row) -> absl::string_view { return row.best_end.activity_id; });
  bytes([](const CallRow& row) -> absl::string_view { return row.best_end.activity_status; });
  std::vector<std::string> made;
  for (const SubmitRow* row : changed) made.push_back(seals.Make(row->row, row->version + 1));
  arguments->ByteArrays({made.begin(), made.end()});
}

}  // namespace stampgate
