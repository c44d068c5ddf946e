// The row that says what the store as a whole is and holds.
#ifndef STAMPGATE_GATEWAY_STORE_STORE_RECORD_H_
#define STAMPGATE_GATEWAY_STORE_STORE_RECORD_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/disk/age_clock.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

using StoreId = std::array<uint8_t, 16>;

// Written in every transaction.
struct StoreRecord {
  StoreId id = {};                         // no other store has it
  int64_t commit = 0;                      // counts the transactions; 0: the store has never been opened to its end
  std::array<uint8_t, 32> commit_id = {};  // no other transaction has it, whatever its number
  int64_t keys = 0;                        // rows
  int64_t last_number = 0;                 // that was given to a row
  AgeClock clock;
  // By the clock, when the store was restored or was found to have lost something; less than 0 if it never was.
  int64_t distrusted_age_us = -1;
  int64_t distrusted_through = 0;  // the last number at that time
};

// Of a new store. `distrusted`: an earlier store was here, and is gone.
StoreRecord MakeStoreRecord(absl::Time now, bool distrusted);

// The table, with no row in it.
extern const char kCreateStoreRecord[];

// Over a connection, which outlives this.
class StoreRecordRow {
 public:
  static absl::StatusOr<StoreRecordRow> Open(const SqliteConnection& connection);

  // Errors: kDataLoss if the row is missing or damaged, and those of SqliteStatus.
  absl::StatusOr<StoreRecord> Read();

  // Errors: those of SqliteStatus.
  absl::Status Write(const StoreRecord& record);

 private:
  SqliteStatement read_;
  SqliteStatement write_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_STORE_RECORD_H_
