#include "gateway/server/parts_of_config.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/secret/bytes.h"
#include "base/secret/symmetric_key.h"
#include "base/time/duration.h"
#include "gateway/config/config.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/config/settings/store_address.h"
#include "gateway/process/log.h"
#include "gateway/process/steady_now.h"
#include "gateway/server/rate_sharing.h"
#include "gateway/store/postgres/postgres_call_store.h"
#include "gateway/store/queued_call_store.h"
#include "gateway/store/sqlite/sqlite_call_store.h"
#include "gateway/upstream/upstream_metrics.h"

namespace stampgate {
namespace {

std::vector<RateLimit> RatesOf(const google::protobuf::RepeatedPtrField<config::v1::Rate>& rates) {
  std::vector<RateLimit> limits;
  for (const config::v1::Rate& rate : rates) limits.push_back({rate.requests(), ToDuration(rate.per())});
  return limits;
}

CallQueueOptions QueueOptions(const std::function<void()>& on_fatal, StoreMetrics& metrics) {
  CallQueueOptions options;
  options.on_fatal = [on_fatal](const absl::Status& status) {
    Log(Severity::kWarning, "call_store_failed", {{"message", std::string(status.message())}});
    on_fatal();
  };
  options.observe = [&metrics, failing = false](const CallStoreState& state) mutable {
    const bool fails = !state.failure.ok();
    metrics.keys.Set(static_cast<double>(state.keys));
    metrics.failing.Set(fails ? 1 : 0);
    if (std::exchange(failing, fails) == fails) return;
    if (fails) {
      Log(Severity::kWarning, "call_store_not_written", {{"message", std::string(state.failure.message())}});
    } else {
      Log(Severity::kInfo, "call_store_works_again", {});
    }
  };
  return options;
}

}  // namespace

std::shared_ptr<Admission> MakeAdmission(const config::v1::Config& config, EventLoops& loops,
                                         AdmissionMetrics& metrics) {
  const config::v1::Admission& admission = config.admission();
  AdmissionOptions options;
  RateSharing::SetOptions(config, options);
  options.rates = RatesOf(admission.rates());
  options.organization_rates = RatesOf(admission.organization_rates());
  for (const config::v1::OrganizationRates& rates : admission.organizations()) {
    options.rates_of[rates.organization()] = RatesOf(rates.rates());
  }
  for (const config::v1::OperationRates& entry : admission.operation_rates()) {
    OperationLimits& limits = options.operation_rates.emplace_back();
    for (const std::string& name : entry.operations()) limits.paths.push_back(OperationPath(name));
    limits.rates = RatesOf(entry.rates());
  }
  if (admission.has_max_in_flight_per_organization()) {
    options.max_in_flight_per_organization = admission.max_in_flight_per_organization();
  }
  options.max_wait = ToDuration(admission.max_wait());
  options.now = SteadyNow;
  options.run_after = [&loop = loops[0]](absl::Duration delay, EventLoop::Task task) {
    loop.RunAfter(delay, std::move(task));
  };
  return Admission::Create(std::move(options), metrics);
}

UpstreamClient::Options UpstreamOptionsOf(const config::v1::Upstream& upstream,
                                          const std::shared_ptr<Admission>& admission) {
  UpstreamClient::Options options;
  options.base_url = upstream.base_url();
  options.ca_file = upstream.ca_file();
  options.connect_timeout = ToDuration(upstream.connect_timeout());
  options.exchange_timeout = ToDuration(upstream.exchange_timeout());
  options.max_connections = static_cast<int>(upstream.max_connections());
  options.max_detached = static_cast<int>(upstream.max_detached());
  options.max_idle = ToDuration(upstream.max_idle());
  options.max_response_bytes = static_cast<int64_t>(upstream.max_response_bytes());
  options.observe_sending = [admission](UpstreamClient::Lane lane) {
    if (lane == UpstreamClient::Lane::kKeySet) admission->Charge();
  };
  return options;
}

absl::StatusOr<std::unique_ptr<CallStore>> OpenCallStore(const config::v1::Config& config,
                                                         const std::function<void()>& on_fatal, StoreMetrics& metrics) {
  if (!config.has_store()) return nullptr;
  const auto on_loss = [](const absl::Status& status) {
    Log(Severity::kWarning, "call_store_lost", {{"message", std::string(status.message())}});
  };
  if (config.store().has_postgresql()) {
    ABSL_ASSIGN_OR_RETURN(const SecretBytes key,
                          ReadSymmetricKey(config.store().postgresql().key_file(), SecretOwnersOf(config)));
    PostgresCallStoreOptions options;
    options.address = AddressOf(config);
    options.store_key = &key;
    options.key_retention = ToDuration(config.store().key_retention());
    options.queue = QueueOptions(on_fatal, metrics);
    options.on_loss = on_loss;
    return OpenPostgresCallStore(std::move(options));
  }
  SqliteCallStoreOptions options;
  options.path = CallStoreFile(config);
  options.key_retention = ToDuration(config.store().key_retention());
  options.now = [] { return absl::Now(); };
  options.queue = QueueOptions(on_fatal, metrics);
  options.on_loss = on_loss;
  return OpenSqliteCallStore(std::move(options));
}

TimestampLease LeaseOf(const CallStore* store, const config::v1::Replica& replica) {
  const std::optional<TimestampLease> lease = store == nullptr ? std::nullopt : store->timestamp_lease();
  return lease.value_or(TimestampLease{replica.index(), replica.count()});
}

uint64_t TimestampFloor(const CallStore* store) {
  if (store != nullptr) return store->timestamp_floor_ms();
  return static_cast<uint64_t>(absl::ToUnixMillis(absl::Now() + TimestampAllocator::kMaxAhead));
}

std::function<void(bool open)> BreakerObserver(UpstreamClient::Lane lane) {
  return [lane](bool open) {
    Log(open ? Severity::kWarning : Severity::kInfo, open ? "upstream_failing" : "upstream_recovered",
        {{"lane", std::string(NameOf(lane))}});
  };
}

WaitTable::Options WaitOptionsOf(const config::v1::Activities& activities, const CurrentAccess& access) {
  return {.max_waiting = activities.max_waiting(),
          .poll_interval = ToDuration(activities.poll_interval()),
          .max_poll_interval = ToDuration(activities.max_poll_interval()),
          .polls_per_second = activities.max_polls_per_second(),
          .is_final = [&access](absl::string_view status) { return access.Get()->operations->IsFinalStatus(status); }};
}

}  // namespace stampgate
