// The result of a statement, in PostgreSQL's binary format.
#ifndef STAMPGATE_BASE_POSTGRES_RESULT_H_
#define STAMPGATE_BASE_POSTGRES_RESULT_H_

#include <postgresql/libpq-fe.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// Rows and columns count from 0.
class PostgresResult {
 public:
  // Owns `result`.
  explicit PostgresResult(PGresult* result) : result_(result) {}

  int rows() const { return PQntuples(result_.get()); }

  bool IsNull(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

  // Returns a value of type bool, smallint, integer or bigint. Returns 0 for NULL.
  int64_t Number(int row, int column) const;

  // Returns a value of type bytea or text, which is valid as long as this result. Returns an empty text for NULL.
  absl::string_view Bytes(int row, int column) const;

  // Returns the elements of a smallint[] or bigint[] without NULLs. Returns an empty vector for NULL.
  std::vector<int64_t> Numbers(int row, int column) const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };

  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_RESULT_H_
