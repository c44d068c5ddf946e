// The rows of idempotency keys in the table `submits`: see calls_v1.sql.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_SUBMIT_ROWS_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_SUBMIT_ROWS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/postgres/parameters.h"
#include "base/postgres/result.h"
#include "gateway/store/call_row.h"
#include "gateway/store/postgres/submit_seal.h"

namespace stampgate {

struct SubmitRow {
  int64_t version = 0;  // 0: the key has no row
  CallRow row;
  bool is_genuine = true;  // whether a gateway has stored the row
  bool changed = false;
};

// Rows by caller and key.
using SubmitRows = std::map<std::pair<std::string, std::string>, SubmitRow>;

// The columns of a row in a SELECT from `submits s`.
extern const char kSubmitColumns[];

// Decides which rows are genuine: those with a valid seal, and those whose age is at most `unsealed_through_us`. If it
// is nullopt, all are, because gateways of releases before 0.2.0 can use the store.
struct SubmitCheck {
  const SubmitSeals& seals;
  std::optional<int64_t> unsealed_through_us;
};

// Returns the rows of a result with kSubmitColumns. Error: kDataLoss if one is not genuine.
absl::StatusOr<std::vector<CallRow>> RowsOf(const PostgresResult& result, const SubmitCheck& check);

// Returns the statement that reads the rows of all keys in `rows`.
PostgresStatement ReadSubmits(const SubmitRows& rows);

// Adds the result of ReadSubmits to `rows`.
void AddSubmits(const PostgresResult& result, const SubmitCheck& check, SubmitRows* rows);

// Adds the columns of the changed rows to `arguments`, in the order of the function store_submits of calls_v3.sql.
void AddChanges(const SubmitRows& rows, const SubmitSeals& seals, PostgresParameters* arguments);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_SUBMIT_ROWS_H_
