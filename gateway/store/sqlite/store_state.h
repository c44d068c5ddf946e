// The state row of a call store: the store's identity, last commit and clock.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_STORE_STATE_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_STORE_STATE_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/age_clock.h"
#include "base/disk/sqlite.h"

namespace stampgate {

using StoreId = std::array<uint8_t, 16>;

// The content of the state row. Every transaction writes it.
struct StoreState {
  StoreId id = {};                         // random, different for each store
  int64_t commit = 0;                      // number of transactions; 0 before the first Start
  std::array<uint8_t, 32> commit_id = {};  // random, different for each transaction
  int64_t keys = 0;                        // number of stored keys
  int64_t last_number = 0;                 // the highest row number so far
  AgeClock clock;
  // The age of `clock` when the store was restored or a loss was detected; negative if neither has ever happened.
  int64_t distrusted_age_us = -1;
  int64_t distrusted_through = 0;  // `last_number` when `distrusted_age_us` was set
};

// Returns the state of a new store. If `distrusted` is true, an earlier store existed at the same path and was lost.
StoreState MakeStoreState(absl::Time now, bool distrusted);

// SQL that creates the empty table.
extern const char kCreateStoreState[];

// Reads and writes the state row through `connection`, which must outlive this object.
class StoreStateRow {
 public:
  static absl::StatusOr<StoreStateRow> Open(const SqliteConnection& connection);

  // Errors: kDataLoss if the row is missing or damaged, and those of SqliteStatus.
  absl::StatusOr<StoreState> Read();

  // Errors: those of SqliteStatus.
  absl::Status Write(const StoreState& state);

 private:
  SqliteStatement read_;
  SqliteStatement write_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_STORE_STATE_H_
