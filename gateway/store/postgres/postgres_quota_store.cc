#include "gateway/store/postgres/postgres_quota_store.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "base/postgres/connection.h"
#include "base/postgres/holder_secret.h"
#include "base/postgres/lasting_connection.h"
#include "gateway/store/postgres/store_tables.h"

namespace stampgate {
namespace {

class PostgresQuotaStore final : public QuotaStore {
 public:
  explicit PostgresQuotaStore(PostgresQuotaStoreOptions options)
      : allow_single_server_(options.address.allow_single_server),
        now_(std::move(options.now)),
        connection_(std::move(options.address), StepsOfThisProgram()) {}

  absl::StatusOr<QuotaBlock> Take(const QuotaLimit& limit, int64_t wanted) override {
    ABSL_ASSIGN_OR_RETURN(PostgresConnection * connection, connection_.Get());
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<PostgresResult> results,
        CommitAt(now_, *connection,
                 {{"SELECT calls, this_part, left_us, used, freed_us FROM take_calls($1, $2, $3, $4, $5, $6)",
                   PostgresParameters()
                       .Bool(!allow_single_server_)
                       .Bytes(secret_)
                       .Bytes(limit.quota)
                       .Bigint(absl::ToInt64Microseconds(limit.window))
                       .Bigint(limit.calls)
                       .Bigint(wanted)}}));
    const PostgresResult& row = results.front();
    return QuotaBlock{row.Number(0, 0), row.Number(0, 1), absl::Microseconds(row.Number(0, 2)), row.Number(0, 3),
                      absl::Microseconds(row.Number(0, 4))};
  }

  absl::Status Return(const QuotaLimit& limit, int64_t part, int64_t calls) override {
    PostgresConnection* connection = connection_.GetIfOpen();
    if (connection == nullptr) return absl::UnavailableError("there is no connection");
    return connection
        ->Run({{"SELECT return_calls($1, $2, $3, $4, $5)", PostgresParameters()
                                                               .Bytes(secret_)
                                                               .Bytes(limit.quota)
                                                               .Bigint(absl::ToInt64Microseconds(limit.window))
                                                               .Bigint(part)
                                                               .Bigint(calls)}})
        .status();
  }

 private:
  const bool allow_single_server_;
  const ServerClock now_;
  const std::string secret_ = NewHolderSecret();
  LastingConnection connection_;
};

}  // namespace

std::unique_ptr<QuotaStore> MakePostgresQuotaStore(PostgresQuotaStoreOptions options) {
  return std::make_unique<PostgresQuotaStore>(std::move(options));
}

}  // namespace stampgate
