#include "webhooks/log/sqlite/hole_table.h"

#include <utility>

#include "absl/status/status_macros.h"

namespace stampgate {

const char kCreateHoles[] =
    "CREATE TABLE holes ("
    " first INTEGER PRIMARY KEY,"
    " last INTEGER NOT NULL,"
    " found_us INTEGER NOT NULL"
    ") STRICT";

absl::StatusOr<HoleTable> HoleTable::Open(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(SqliteStatement find,
                        SqliteStatement::Prepare(
                            connection, "SELECT first, last FROM holes WHERE first <= ?1 ORDER BY first DESC LIMIT 1"));
  HoleTable table;
  table.find_ = std::move(find);
  return table;
}

absl::StatusOr<std::optional<LostEvents>> HoleTable::Find(Position position) {
  SqliteReset reset(find_);
  find_.Bind(1, position);
  ABSL_ASSIGN_OR_RETURN(bool row, find_.Step());
  if (!row || find_.Number(1) < position) return std::nullopt;
  return LostEvents{find_.Number(0), find_.Number(1), /*gone=*/true};
}

absl::Status AddHole(const SqliteConnection& connection, Position first, Position last, absl::Time now) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement add,
      SqliteStatement::Prepare(connection, "INSERT INTO holes (first, last, found_us) VALUES (?1, ?2, ?3)"));
  add.Bind(1, first);
  add.Bind(2, last);
  add.Bind(3, absl::ToUnixMicros(now));
  return add.Run();
}

}  // namespace stampgate
