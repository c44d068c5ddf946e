#include "gateway/store/postgres/postgres_share_store.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/string_view.h"
#include "base/postgres/connection.h"
#include "base/postgres/holder_secret.h"
#include "base/postgres/lasting_connection.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/store/postgres/store_tables.h"

namespace stampgate {
namespace {

// The arguments of renew_rates: see rates_v3.sql. ShareRenewal::replica is the secret of the replica.
PostgresParameters ArgumentsOf(const ShareRenewal& renewal) {
  std::vector<absl::string_view> silent;
  std::vector<int64_t> silent_numbers;
  for (const ShareRenewal::Silent& each : renewal.silent) {
    silent.push_back(each.replica);
    silent_numbers.push_back(each.number);
  }
  std::vector<absl::string_view> rates;
  std::vector<int64_t> used;
  std::vector<int64_t> asked;
  for (const ShareRenewal::Rate& rate : renewal.rates) {
    rates.push_back(rate.rate);
    used.push_back(rate.used);
    asked.push_back(rate.asked);
  }
  // A rate without callers has one element with the weight 0.
  std::vector<absl::string_view> demand_rates;
  std::vector<absl::string_view> callers;
  std::vector<int64_t> weights;
  std::vector<int64_t> wanted;
  for (const RateDemand& rate : renewal.demand) {
    for (const CallerDemand& caller : rate.callers) {
      demand_rates.push_back(rate.rate);
      callers.push_back(caller.caller);
      weights.push_back(caller.weight);
      wanted.push_back(caller.wanted);
    }
    if (rate.callers.empty()) {
      demand_rates.push_back(rate.rate);
      callers.push_back("");
      weights.push_back(0);
      wanted.push_back(0);
    }
  }
  PostgresParameters arguments;
  arguments.Bytes(renewal.replica).Bigint(renewal.number).ByteArrays(silent).Bigints(silent_numbers);
  arguments.ByteArrays(rates).Bigints(used).Bigints(asked);
  arguments.ByteArrays(demand_rates).ByteArrays(callers).Bigints(weights).Bigints(wanted);
  return arguments;
}

// Reads the rows of the other replicas, which are sorted by replica and rate.
std::vector<ShareAnswer::Replica> OthersOf(const PostgresResult& rows) {
  std::vector<ShareAnswer::Replica> others;
  for (int i = 0; i < rows.rows(); ++i) {
    const absl::string_view replica = rows.Bytes(i, 0);
    if (others.empty() || others.back().replica != replica) {
      others.push_back({std::string(replica), rows.Number(i, 1), {}});
    }
    if (rows.IsNull(i, 2)) continue;  // a replica that uses no rate
    std::vector<RateDemand>& demand = others.back().demand;
    const absl::string_view rate = rows.Bytes(i, 2);
    if (demand.empty() || demand.back().rate != rate) demand.push_back({std::string(rate), {}});
    const int64_t weight = rows.Number(i, 4);
    if (weight == 0) continue;
    demand.back().callers.push_back({std::string(rows.Bytes(i, 3)), weight, rows.Number(i, 5)});
  }
  return others;
}

// A renewal waits for no standby.
PostgresAddress WithoutStandby(PostgresAddress address) {
  address.allow_single_server = true;
  return address;
}

class PostgresShareStore final : public ShareStore {
 public:
  explicit PostgresShareStore(const PostgresAddress& address)
      : connection_(WithoutStandby(address), StepsOfThisProgram()) {}

  absl::StatusOr<ShareAnswer> Renew(const ShareRenewal& renewal) override {
    ABSL_ASSIGN_OR_RETURN(PostgresConnection * connection, connection_.Get());
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<PostgresResult> results,
        connection->Run(
            {{"SELECT renew_rates($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", ArgumentsOf(renewal)},
             {"SELECT r.replica, r.number, d.rate, d.caller, d.weight, d.wanted FROM replicas r LEFT JOIN LATERAL"
              " unnest(r.demand_rates, r.demand_callers, r.weights, r.wanted) AS d (rate, caller, weight, "
              "wanted) ON true"
              " WHERE r.replica <> $1 ORDER BY r.replica, d.rate",
              PostgresParameters().Bytes(HolderNameOf(renewal.replica))}}));
    if (results.front().IsNull(0, 0)) return absl::AbortedError("the replica has already made a later renewal");
    return ShareAnswer{results.front().Numbers(0, 0), OthersOf(results.back())};
  }

  absl::Status Release(const std::string& replica) override {
    PostgresConnection* connection = connection_.GetIfOpen();
    if (connection == nullptr) return absl::UnavailableError("there is no connection");
    return connection->Run({{"SELECT release_rates($1)", PostgresParameters().Bytes(replica)}}).status();
  }

 private:
  LastingConnection connection_;
};

}  // namespace

std::unique_ptr<ShareStore> MakePostgresShareStore(const PostgresAddress& address) {
  return std::make_unique<PostgresShareStore>(address);
}

}  // namespace stampgate
