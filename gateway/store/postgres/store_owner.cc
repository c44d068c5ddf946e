#include "gateway/store/postgres/store_owner.h"

#include <cstdint>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/postgres/schema.h"
#include "gateway/store/postgres/store_tables.h"

namespace stampgate {
namespace {

constexpr char kCountGateways[] =
    "SELECT count(*) FROM leases WHERE holder IS NOT NULL AND renewed_us > server_us() - 600000000";
constexpr char kIsEmpty[] = "NOT EXISTS (SELECT FROM log) AND NOT EXISTS (SELECT FROM submits)";

absl::Status CheckStoreIsEmpty(PostgresConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> results,
                        connection.Run({{absl::StrCat("SELECT 1 WHERE ", kIsEmpty)}}));
  if (results.front().rows() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError("the store has an event log or idempotency keys already");
}

}  // namespace

absl::Status SealStore(PostgresConnection& connection) { return connection.Commit({{"SELECT seal_store()"}}).status(); }

absl::Status MarkServerAsRestored(PostgresConnection& connection) {
  ABSL_RETURN_IF_ERROR(CheckStore(connection, StepsOfThisProgram()));
  const absl::Status status =
      connection.Commit({{"SELECT repair_store()"}, {"SELECT cut_subscriptions_back()"}}).status();
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; start the standbys first, and run this command again"));
}

absl::Status ClaimEmptyStore(PostgresConnection& connection, const std::string& schema) {
  const StoreSteps& steps = StepsOfThisProgram();
  ABSL_ASSIGN_OR_RETURN(const bool claimed, ClaimStore(connection, schema, steps,
                                                       absl::StrCat(kIsEmpty, " AND (", kCountGateways, ") = 0")));
  // A gateway that starts now looks at the claim again after it has taken its lease and created its log. Because this
  // program looks for both after the claim, at least one of the two programs sees the other.
  absl::Status status = CheckStoreIsUnused(connection);
  if (status.ok()) status = CheckStoreIsEmpty(connection);
  if (!claimed) return status.ok() ? absl::FailedPreconditionError("another program uses the store") : status;
  if (!status.ok()) OpenClaimedStore(connection, steps).IgnoreError();  // nothing was copied
  return status;
}

absl::Status CheckStoreIsUnused(PostgresConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<PostgresResult> results, connection.Run({{kCountGateways}}));
  const int64_t gateways = results.front().Number(0, 0);
  if (gateways == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(gateways, gateways == 1 ? " gateway uses" : " gateways use",
                   " the store, or ended without freeing its lease less than ten minutes ago"));
}

}  // namespace stampgate
