#include "gateway/server/rate_sharing.h"

#include <filesystem>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status_macros.h"
#include "absl/time/clock.h"
#include "base/time/duration.h"
#include "gateway/admission/rate_window.h"
#include "gateway/config/settings/store_address.h"
#include "gateway/process/log.h"
#include "gateway/process/steady_now.h"
#include "gateway/store/postgres/postgres_quota_store.h"
#include "gateway/store/postgres/postgres_share_store.h"
#include "gateway/store/sqlite/sqlite_quota_store.h"

namespace stampgate {
namespace {

using Rates = google::protobuf::RepeatedPtrField<config::v1::Rate>;

bool AnyRate(const config::v1::Admission& admission, absl::FunctionRef<bool(absl::Duration window)> is_wanted) {
  const auto any = [&](const Rates& rates) {
    for (const config::v1::Rate& rate : rates) {
      if (is_wanted(ToDuration(rate.per()))) return true;
    }
    return false;
  };
  if (any(admission.rates()) || any(admission.organization_rates())) return true;
  for (const config::v1::OrganizationRates& organization : admission.organizations()) {
    if (any(organization.rates())) return true;
  }
  for (const config::v1::OperationRates& operations : admission.operation_rates()) {
    if (any(operations.rates())) return true;
  }
  return false;
}

bool HasRate(const config::v1::Admission& admission) {
  return AnyRate(admission, [](absl::Duration window) { return window <= RateWindow::kLongestPaced; });
}

bool HasQuota(const config::v1::Admission& admission) {
  return AnyRate(admission, [](absl::Duration window) { return window > RateWindow::kLongestPaced; });
}

// Logs when something begins to fail, and when it works again. Runs on one thread at a time.
class FailureLog {
 public:
  FailureLog(std::string failing, std::string recovered)
      : failing_(std::move(failing)), recovered_(std::move(recovered)) {}

  void Report(bool fails, const absl::Status& status) {
    if (std::exchange(fails_, fails) == fails) return;
    if (fails) {
      Log(Severity::kWarning, failing_, {{"message", std::string(status.message())}});
    } else {
      Log(Severity::kInfo, recovered_, {});
    }
  }

 private:
  const std::string failing_;
  const std::string recovered_;
  bool fails_ = false;
};

RateSharesOptions SharesOptions(Admission& admission, ShareMetrics& metrics) {
  RateSharesOptions options;
  options.demand = [&admission] { return admission.rate_demand(); };
  options.apply = [&admission, &metrics](const std::shared_ptr<const HeldShares>& shares, absl::Time now) {
    admission.SetShares(shares, now);
    metrics.share.Set(shares->Share(Admission::kUpstreamRate, now));
  };
  options.observe = [&metrics, log = std::make_shared<FailureLog>("rate_shares_failing", "rate_shares_recovered")](
                        const RateSharesState& state) {
    log->Report(state.uses_fallback && !state.last.ok(), state.last);
    metrics.replicas.Set(state.replicas);
    metrics.shares_failing.Set(state.uses_fallback ? 1 : 0);
  };
  return options;
}

RateQuotasOptions QuotasOptions(Admission& admission, ShareMetrics& metrics) {
  RateQuotasOptions options;
  options.now = SteadyNow;
  options.demand = [&admission] { return admission.quota_demand(); };
  options.apply = [&admission, &metrics](const std::shared_ptr<const HeldQuotas>& quotas) {
    admission.SetQuotas(quotas);
    for (const auto& [name, block] : quotas->blocks) {
      if (name.first == Admission::kUpstreamRate) metrics.SetUnused(name.second, block.unused);
    }
  };
  options.observe =
      [&metrics, log = std::make_shared<FailureLog>("quotas_failing", "quotas_recovered")](const absl::Status& status) {
        log->Report(!status.ok(), status);
        metrics.quotas_failing.Set(status.ok() ? 0 : 1);
      };
  return options;
}

absl::StatusOr<std::unique_ptr<QuotaStore>> OpenQuotaStore(const config::v1::Config& config) {
  const config::v1::Store& store = config.store();
  if (store.has_postgresql()) {
    PostgresQuotaStoreOptions options;
    options.address = AddressOf(config);
    return MakePostgresQuotaStore(std::move(options));
  }
  SqliteQuotaStoreOptions options;
  options.path = (std::filesystem::path(store.sqlite().folder()) / "quotas.db").string();
  options.now = [] { return absl::Now(); };
  return OpenSqliteQuotaStore(std::move(options));
}

}  // namespace

void RateSharing::SetOptions(const config::v1::Config& config, AdmissionOptions& options) {
  options.share = 1.0 / config.replica().count();
  options.has_quotas = config.has_store() && HasQuota(config.admission());
}

absl::StatusOr<std::unique_ptr<RateSharing>> RateSharing::Start(const config::v1::Config& config, Admission& admission,
                                                                ShareMetrics& metrics) {
  std::unique_ptr<RateSharing> sharing(new RateSharing(admission));
  if (HasRate(config.admission())) {
    metrics.share.Set(1.0 / config.replica().count());
    metrics.replicas.Set(config.replica().count());
    metrics.shares_failing.Set(0);
    if (config.store().has_postgresql()) {
      sharing->shares_ =
          std::make_unique<RateShares>(MakePostgresShareStore(AddressOf(config)), SharesOptions(admission, metrics));
    }
  }
  if (config.has_store() && HasQuota(config.admission())) {
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<QuotaStore> store, OpenQuotaStore(config));
    sharing->quotas_ = std::make_unique<RateQuotas>(std::move(store), QuotasOptions(admission, metrics));
    admission.OnQuotaLack([quotas = sharing->quotas_.get()] { quotas->Wake(); });
  }
  return sharing;
}

absl::Duration RateSharing::QuotaWriteUnderWay() const {
  return quotas_ == nullptr ? absl::ZeroDuration() : quotas_->WriteUnderWay();
}

RateSharing::~RateSharing() { admission_.OnQuotaLack(nullptr); }

}  // namespace stampgate
