// A store of quotas in memory, for tests.
#ifndef STAMPGATE_GATEWAY_SHARES_MEMORY_QUOTA_STORE_H_
#define STAMPGATE_GATEWAY_SHARES_MEMORY_QUOTA_STORE_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "gateway/shares/quota_store.h"

namespace stampgate {

// `now` is the clock of the windows.
std::unique_ptr<QuotaStore> MakeMemoryQuotaStore(std::function<absl::Time()> now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_MEMORY_QUOTA_STORE_H_
