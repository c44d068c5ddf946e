// The state row: the identity of a call store, its last commit and its clock.
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

// Every transaction writes it.
struct StoreRecord {
  StoreId id = {};                         // random; no other store has it
  int64_t commit = 0;                      // number of transactions; 0 if the store has never been opened completely
  std::array<uint8_t, 32> commit_id = {};  // random; no other transaction has it, not even one of the same number
  int64_t keys = 0;                        // number of rows
  int64_t last_number = 0;                 // the last number that a row got
  AgeClock clock;
  // When the store was restored or found to have lost something, by the clock; negative if never.
  int64_t distrusted_age_us = -1;
  int64_t distrusted_through = 0;  // the last row number at that time
};

// The record of a new store. `distrusted`: an earlier store was here and is lost.
StoreRecord MakeStoreRecord(absl::Time now, bool distrusted);

// Creates the table, empty.
extern const char kCreateStoreRecord[];

// Uses `connection`, which must outlive this.
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
