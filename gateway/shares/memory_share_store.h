// A store of shares in memory, for tests, with the rules of rates_v2.sql.
#ifndef STAMPGATE_GATEWAY_SHARES_MEMORY_SHARE_STORE_H_
#define STAMPGATE_GATEWAY_SHARES_MEMORY_SHARE_STORE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/share_store.h"

namespace stampgate {

class MemoryShares {
 public:
  absl::StatusOr<ShareAnswer> Renew(const ShareRenewal& renewal);
  void Release(const std::string& replica) { replicas_.erase(replica); }

  // Loses everything, as a server that recovers from a crash.
  void Clear() { replicas_.clear(); }

  // The sum of the shares of one rate that replicas may be using.
  Millionths Sum(const std::string& rate) const;

 private:
  struct Row {
    int64_t number = 0;
    std::map<std::string, Millionths> shares;
    std::vector<RateDemand> demand;
  };
  std::map<std::string, Row> replicas_;
};

// The connection of one replica to `shares`, which must outlive it. While `*lost` is true, the store cannot be reached.
std::unique_ptr<ShareStore> ConnectToMemory(MemoryShares& shares, const bool& lost);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_MEMORY_SHARE_STORE_H_
