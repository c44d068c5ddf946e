#include "base/postgres/commit_terms.h"

namespace stampgate {

namespace {

// PostgreSQL counts from 2000, in microseconds.
constexpr int64_t kYear2000Us = 946'684'800'000'000;

}  // namespace

// Without operators, which would cost the server more than all the rest. It runs with each transaction.
const char kReadCommitTerms[] =
    "SELECT pg_conf_load_time(), clock_timestamp(), current_setting('synchronous_standby_names'),"
    " current_setting('synchronous_commit'), current_setting('fsync'), pg_current_xact_id_if_assigned()";

CommitTerms CommitTermsOf(const PostgresResult& result) {
  const std::chrono::microseconds age(result.Number(0, 1) - result.Number(0, 0));
  return {.loaded_us = result.Number(0, 0) + kYear2000Us,
          // If the server's clock was set back since, the terms count as settled.
          .are_settled = age.count() < 0 || age > kTermsSettle,
          .requires_standby = !result.Bytes(0, 2).empty(),
          .waits = result.Bytes(0, 3) == "on",
          .syncs = result.Bytes(0, 4) == "on",
          .writes = !result.IsNull(0, 5)};
}

absl::Status CheckCommit(const CommitTerms& before, const CommitTerms& after, bool needs_standby) {
  if (!after.syncs) return absl::FailedPreconditionError("the server's setting fsync is off");
  if (!before.waits) return absl::FailedPreconditionError("synchronous_commit is not on in the transaction");
  if (needs_standby && !after.requires_standby) {
    return absl::FailedPreconditionError("the server requires no synchronous standby");
  }
  if (before.loaded_us != after.loaded_us) {
    return absl::AbortedError("the server has reloaded its settings during the commit");
  }
  if (needs_standby && !before.are_settled) return absl::AbortedError("the server has just reloaded its settings");
  return absl::OkStatus();
}

}  // namespace stampgate
