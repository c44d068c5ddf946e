#include "gateway/store/postgres/postgres_call_copy.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/store/postgres/submit_rows.h"
#include "gateway/store/postgres/submit_seal.h"

namespace stampgate {
namespace {

class PostgresCallSource final : public CallSource {
 public:
  PostgresCallSource(PostgresConnection& connection, const SecretBytes& store_key)
      : connection_(connection), seals_(store_key) {}

  absl::Status Open() {
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<PostgresResult> results,
        connection_.Run({{"SELECT age_us, wall_us, distrusted_age_us, (SELECT max(through_ms) FROM leases),"
                          " keys_unsealed_through_us FROM submit_clock, bounds"}}));
    const PostgresResult& row = results.front();
    outline_.clock = {.age_us = row.Number(0, 0), .wall_us = row.Number(0, 1)};
    outline_.distrusted_age_us = row.Number(0, 2);
    outline_.timestamp_bound_ms = static_cast<uint64_t>(row.Number(0, 3));
    if (!row.IsNull(0, 4)) check_.unsealed_through_us = row.Number(0, 4);
    return absl::OkStatus();
  }

  const CallStoreOutline& outline() const override { return outline_; }

  absl::StatusOr<std::vector<CallRow>> Next() override {
    ABSL_ASSIGN_OR_RETURN(
        std::vector<PostgresResult> results,
        connection_.Run(
            {{absl::StrCat("SELECT ", kSubmitColumns,
                           " FROM submits s WHERE (stored_age_us, caller, key) > ($1, $2, $3)",
                           " ORDER BY stored_age_us, caller, key LIMIT $4"),
              PostgresParameters().Bigint(last_age_us_).Bytes(last_caller_).Bytes(last_key_).Bigint(kCopiedRows)}}));
    absl::StatusOr<std::vector<CallRow>> rows = RowsOf(results.front(), check_);
    if (rows.ok() && !rows->empty()) {
      last_age_us_ = rows->back().stored_age_us;
      last_caller_ = rows->back().submit.caller;
      last_key_ = rows->back().submit.key;
    }
    return rows;
  }

 private:
  PostgresConnection& connection_;
  const SubmitSeals seals_;
  SubmitCheck check_{seals_, std::nullopt};
  CallStoreOutline outline_;
  // The last row that Next has returned.
  int64_t last_age_us_ = -1;
  std::string last_caller_;
  std::string last_key_;
};

class PostgresCallTarget final : public CallTarget {
 public:
  PostgresCallTarget(PostgresConnection& connection, const SecretBytes& store_key)
      : connection_(connection), seals_(store_key) {}

  absl::Status Add(const std::vector<CallRow>& rows) override {
    SubmitRows changed;
    for (const CallRow& row : rows) changed[{row.submit.caller, row.submit.key}] = {.row = row, .changed = true};
    PostgresParameters arguments;
    AddChanges(changed, seals_, &arguments);
    return connection_
        .Commit(
            {{"INSERT INTO submits SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,"
              " $15, $16)",
              std::move(arguments)}})
        .status();
  }

  absl::Status Finish(const CallStoreOutline& outline) override {
    return connection_
        .Commit({{"UPDATE submit_clock SET age_us = $1, wall_us = $2, distrusted_age_us = $3",
                  PostgresParameters()
                      .Bigint(outline.clock.age_us)
                      .Bigint(outline.clock.wall_us)
                      .Bigint(outline.distrusted_age_us)},
                 {"UPDATE leases SET through_ms = $1",
                  PostgresParameters().Bigint(static_cast<int64_t>(outline.timestamp_bound_ms))}})
        .status();
  }

 private:
  PostgresConnection& connection_;
  const SubmitSeals seals_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CallSource>> OpenPostgresCallSource(PostgresConnection& connection,
                                                                   const SecretBytes& store_key) {
  auto source = std::make_unique<PostgresCallSource>(connection, store_key);
  ABSL_RETURN_IF_ERROR(source->Open());
  return source;
}

std::unique_ptr<CallTarget> MakePostgresCallTarget(PostgresConnection& connection, const SecretBytes& store_key) {
  return std::make_unique<PostgresCallTarget>(connection, store_key);
}

}  // namespace stampgate
