// Connects the admission of calls with the store, in which gateways share upstream's rates and count quotas.
#ifndef STAMPGATE_GATEWAY_SERVER_RATE_SHARING_H_
#define STAMPGATE_GATEWAY_SERVER_RATE_SHARING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gateway/admission/admission.h"
#include "gateway/shares/rate_quotas.h"
#include "gateway/shares/rate_shares.h"
#include "gateway/shares/share_metrics.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// With a store on a PostgreSQL server, the gateways share the rates, and count the calls of quotas together. With a
// store in SQLite files, this gateway counts the calls of quotas there. Without a store, it counts them in memory.
class RateSharing {
 public:
  // Sets what the config states about sharing: AdmissionOptions::share and has_quotas.
  static void SetOptions(const config::v1::Config& config, AdmissionOptions& options);

  // `admission` and `metrics` must outlive this. Starts no thread if nothing is shared or counted. Errors: those of
  // OpenSqliteQuotaStore.
  static absl::StatusOr<std::unique_ptr<RateSharing>> Start(const config::v1::Config& config, Admission& admission,
                                                            ShareMetrics& metrics);

  // Gives the shares and the unused calls back. No call may be in progress. May wait for the store for a few seconds.
  ~RateSharing();

  // Returns how long the thread that counts quotas has waited for the store so far; zero if it does not wait.
  absl::Duration QuotaWriteUnderWay() const;

  RateSharing(const RateSharing&) = delete;
  RateSharing& operator=(const RateSharing&) = delete;

 private:
  explicit RateSharing(Admission& admission) : admission_(admission) {}

  Admission& admission_;
  std::unique_ptr<RateShares> shares_;  // null if the config has no rate or no server
  std::unique_ptr<RateQuotas> quotas_;  // null if the config has no quota or no store
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_RATE_SHARING_H_
