// The rows of idempotency keys in the table `submits`: see schema.sql.
#ifndef STAMPGATE_GATEWAY_POSTGRES_STORE_SUBMIT_ROWS_H_
#define STAMPGATE_GATEWAY_POSTGRES_STORE_SUBMIT_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gateway/store/call_row.h"
#include "webhooks/postgres/connection.h"
#include "webhooks/postgres/parameters.h"
#include "webhooks/postgres/result.h"

namespace stampgate {

struct SubmitRow {
  int64_t version = 0;  // 0: the key has no row
  CallRow row;
  bool changed = false;
};

// Rows by caller and key.
using SubmitRows = std::map<std::pair<std::string, std::string>, SubmitRow>;

// The columns of a row in a SELECT from `submits s`. The last one is its version.
extern const char kSubmitColumns[];

// Returns the rows of a result with kSubmitColumns.
std::vector<CallRow> RowsOf(const PostgresResult& result);

// Returns the statement that reads the rows of all keys in `rows`.
PostgresStatement ReadSubmits(const SubmitRows& rows);

// Adds the result of ReadSubmits to `rows`.
void AddSubmits(const PostgresResult& result, SubmitRows* rows);

// Adds the columns of the changed rows to `arguments`, in the order of the function put_submits of schema.sql.
void AddChanges(const SubmitRows& rows, PostgresParameters* arguments);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POSTGRES_STORE_SUBMIT_ROWS_H_
