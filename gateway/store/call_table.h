// The rows of the store's file: one for each key.
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

// The table and its index, with no row in it.
extern const char kCreateCalls[];
extern const char kIndexCalls[];

// What was found. A damaged row is there, and nothing that stands in it may be believed.
struct FoundCall {
  enum class Kind { kNone, kRow, kDamaged };

  Kind kind = Kind::kNone;
  CallRow row;
};

// Over a connection, which outlives this. Errors: those of SqliteStatus.
class CallTable {
 public:
  static absl::StatusOr<CallTable> Open(const SqliteConnection& connection, const StoreId& id);

  absl::StatusOr<FoundCall> Find(absl::string_view caller, absl::string_view key);
  absl::StatusOr<FoundCall> FindNumber(int64_t number);

  // Stores a row. It takes the place of what has the same number, and of what has the same caller and key.
  absl::Status Put(const CallRow& row);

  // The last number that is to go if rows that were stored before `age_us` go, of the oldest `max_rows`; 0 if none is.
  // A damaged row goes once a row after it goes.
  absl::StatusOr<int64_t> LastStoredBefore(int64_t age_us, int max_rows);

  // Removes the rows up to `number`. How many there were.
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
