#include "base/postgres/server_clock.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

void SetTime(const ServerClock& clock, std::vector<PostgresStatement>& statements) {
  statements.insert(statements.begin(), {"SELECT set_config('stampgate.server_us', $1, false)",
                                         PostgresParameters().Text(absl::StrCat(absl::ToUnixMicros(clock())))});
}

absl::StatusOr<std::vector<PostgresResult>> WithoutFirst(absl::StatusOr<std::vector<PostgresResult>> results) {
  if (results.ok()) results->erase(results->begin());
  return results;
}

}  // namespace

absl::StatusOr<std::vector<PostgresResult>> CommitAt(const ServerClock& clock, PostgresConnection& connection,
                                                     std::vector<PostgresStatement> statements) {
  if (!clock) return connection.Commit(std::move(statements));
  SetTime(clock, statements);
  return WithoutFirst(connection.Commit(std::move(statements)));
}

absl::StatusOr<std::vector<PostgresResult>> RunAt(const ServerClock& clock, PostgresConnection& connection,
                                                  std::vector<PostgresStatement> statements) {
  if (!clock) return connection.Run(statements);
  SetTime(clock, statements);
  return WithoutFirst(connection.Run(statements));
}

}  // namespace stampgate
