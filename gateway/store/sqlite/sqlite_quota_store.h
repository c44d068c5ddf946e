// A store of quotas in a SQLite file, for a single replica.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_QUOTA_STORE_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_QUOTA_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/disk.h"
#include "gateway/shares/quota_store.h"

namespace stampgate {

struct SqliteQuotaStoreOptions {
  std::string path;
  Disk* disk = &Disk::System();  // must outlive the store
  // The clock of the windows.
  std::function<absl::Time()> now;
};

// Opens or creates the store. After an error that is not kResourceExhausted or kAborted, Take fails until the store is
// opened again, because the system has perhaps dropped pages that it could not write. Errors: kFailedPrecondition if
// another process has the store open, if the file belongs to another program or a newer version, or if its folder does
// not exist; kDataLoss if the file is damaged; kUnavailable otherwise.
absl::StatusOr<std::unique_ptr<QuotaStore>> OpenSqliteQuotaStore(SqliteQuotaStoreOptions options);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_QUOTA_STORE_H_
