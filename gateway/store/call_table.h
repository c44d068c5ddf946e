// The table of idempotency keys: one row for each.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_TABLE_H_
#define STAMPGATE_GATEWAY_STORE_CALL_TABLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/store/call_row.h"
#include "gateway/store/store_record.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// Creates the table and its index, empty.
extern const char kCreateCalls[];
extern const char kIndexCalls[];

// The result of a search. Of a damaged row only its existence is known.
struct FoundCall {
  enum class Kind { kNone, kRow, kDamaged };

  Kind kind = Kind::kNone;
  CallRow row;
};

// Uses `connection`, which must outlive this. Errors: those of SqliteStatus.
class CallTable {
 public:
  static absl::StatusOr<CallTable> Open(const SqliteConnection& connection, const StoreId& id);

  absl::StatusOr<FoundCall> Find(absl::string_view caller, absl::string_view key);
  absl::StatusOr<FoundCall> FindNumber(int64_t number);

  // Stores a row; replaces rows with the same number or the same caller and key.
  absl::Status Put(const CallRow& row);

  // The number up to which rows must be removed so that rows stored before `age_us` go, looking at the oldest
  // `max_rows`; 0 if there are none. A damaged row is removed together with a later row.
  absl::StatusOr<int64_t> LastStoredBefore(int64_t age_us, int max_rows);

  // Removes the rows up to `number`; returns how many there were.
  absl::StatusOr<int64_t> RemoveThrough(int64_t number);

 private:
  FoundCall Read(SqliteStatement& statement) const;

  sqlite3* connection_ = nullptr;
  StoreId id_ = {};
  SqliteStatement find_;
  SqliteStatement find_number_;
  SqliteStatement put_;
  SqliteStatement oldest_;
  SqliteStatement remove_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_TABLE_H_
