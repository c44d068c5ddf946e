// The table of idempotency keys: each key has one row.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_CALL_TABLE_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_CALL_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/disk/sqlite.h"
#include "gateway/store/call_row.h"
#include "gateway/store/sqlite/store_state.h"

namespace stampgate {

// SQL that creates the empty table and its index.
extern const char kCreateCalls[];
extern const char kIndexCalls[];

// The result of a search. If the kind is kDamaged, do not use `row`.
struct FoundCall {
  enum class Kind { kNone, kRow, kDamaged };

  Kind kind = Kind::kNone;
  CallRow row;
};

// Reads and changes the table through `connection`, which must outlive this object. Errors: those of SqliteStatus.
class CallTable {
 public:
  using CallerCounts = std::vector<std::pair<std::string, int64_t>>;

  static absl::StatusOr<CallTable> Open(const SqliteConnection& connection, const StoreId& id);

  absl::StatusOr<FoundCall> Find(absl::string_view caller, absl::string_view key);
  absl::StatusOr<FoundCall> FindNumber(int64_t number);

  // Stores a row. Replaces rows that have the same number, or the same caller and key.
  absl::Status Put(const CallRow& row);

  // Returns the rows with numbers above `number`, in the order of the numbers, at most `max_rows`. Errors: kDataLoss if
  // one of them is damaged.
  absl::StatusOr<std::vector<CallRow>> RowsAfter(int64_t number, int max_rows);

  // Examines the oldest `max_rows` rows. Returns the number of the last of these rows that was stored before the store
  // had the age `age_us`, or 0 if none was. Skips damaged rows: retention removes a damaged row together with a later
  // row.
  absl::StatusOr<int64_t> LastStoredBefore(int64_t age_us, int max_rows);

  // Returns how many rows each caller has: of all rows, or of those up to and including `number`.
  absl::StatusOr<CallerCounts> CountByCaller();
  absl::StatusOr<CallerCounts> CountByCallerThrough(int64_t number);

  // Removes the rows up to and including `number`. Returns how many it removed.
  absl::StatusOr<int64_t> RemoveThrough(int64_t number);

 private:
  FoundCall Read(SqliteStatement& statement) const;
  static absl::StatusOr<CallerCounts> ReadCounts(SqliteStatement& statement);

  sqlite3* connection_ = nullptr;
  StoreId id_ = {};
  SqliteStatement find_;
  SqliteStatement find_number_;
  SqliteStatement put_;
  SqliteStatement after_;
  SqliteStatement count_;
  SqliteStatement count_through_;
  SqliteStatement remove_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_CALL_TABLE_H_
