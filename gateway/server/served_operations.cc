#include "gateway/server/served_operations.h"

#include <utility>

#include "absl/status/status_macros.h"
#include "absl/time/clock.h"
#include "base/threads/core_count.h"
#include "base/time/duration.h"
#include "gateway/process/log.h"
#include "gateway/process/random.h"
#include "gateway/process/steady_now.h"
#include "gateway/server/parts_of_config.h"

namespace stampgate {
namespace {

// How often the gateway logs the number of lines that it has left out of the log.
constexpr absl::Duration kLinesReport = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<ServedOperations>> ServedOperations::Open(const config::v1::Config& config,
                                                                         const ServerParts& parts,
                                                                         std::shared_ptr<Admission> admission,
                                                                         std::unique_ptr<UpstreamClient> upstream) {
  Opened opened;
  opened.admission = std::move(admission);
  opened.upstream = std::move(upstream);
  ABSL_ASSIGN_OR_RETURN(opened.store, OpenCallStore(config, parts.on_fatal, parts.metrics.store));
  ABSL_ASSIGN_OR_RETURN(opened.rate_sharing, RateSharing::Start(config, *opened.admission, parts.metrics.shares));
  return std::unique_ptr<ServedOperations>(new ServedOperations(config, parts, std::move(opened)));
}

absl::Status ServedOperations::Start(const config::v1::Config& config) {
  hang_watches_.Start();
  if (store_ == nullptr) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(timestamp_reserve_,
                        TimestampReserve::Start(*store_, timestamps_, config.store().has_postgresql(), absl::Now));
  return absl::OkStatus();
}

ServedOperations::ServedOperations(const config::v1::Config& config, const ServerParts& parts, Opened opened)
    : loops_(parts.loops),
      metrics_(parts.metrics),
      lines_({.every_call = config.log().calls(), .now = absl::Now, .write = Log}),
      lines_report_("call-lines", kLinesReport, [this] { lines_.ReportLeftOut(); }),
      admission_(std::move(opened.admission)),
      store_(std::move(opened.store)),
      timestamps_(TimestampFloor(store_.get()), LeaseOf(store_.get(), config.replica())),
      in_flight_(
          {.calls = config.calls().max_in_flight(), .calls_per_caller = config.calls().max_in_flight_per_caller()}),
      rate_sharing_(std::move(opened.rate_sharing)),
      retries_(metrics_.admission),
      submit_breaker_(metrics_.admission.submit_breaker_open, BreakerObserver(UpstreamClient::Lane::kSubmit)),
      query_breaker_(metrics_.admission.query_breaker_open, BreakerObserver(UpstreamClient::Lane::kQuery)),
      upstream_(std::move(opened.upstream)),
      signing_("signing", static_cast<int>(CoreCount())),  // one for each core: signing needs only CPU time
      waits_(std::make_shared<ActivityWaits>(WaitOptionsOf(config.activities(), parts.access), (*loops_)[0],
                                             metrics_.waits)),
      environment_(EnvironmentOf(config, parts)),
      hang_watches_({.disk_waits = disk_waits_,
                     .quotas_failing = metrics_.shares.quotas_failing,
                     .on_hanging = parts.on_hanging}) {
  WatchForHangs(parts.audit);
}

ServedOperations::~ServedOperations() {
  EndActivityWaits();
  Close();
}

CallEnvironment ServedOperations::EnvironmentOf(const config::v1::Config& config, const ServerParts& parts) {
  return {
      .access = parts.access,
      .timestamps = timestamps_,
      .upstream = *upstream_,
      .admission = *admission_,
      .retries = config.admission().retries() ? &retries_ : nullptr,
      .submit_breaker = config.admission().breaker() ? &submit_breaker_ : nullptr,
      .query_breaker = config.admission().breaker() ? &query_breaker_ : nullptr,
      .loops = *loops_,
      .signing = signing_,
      .in_flight = in_flight_,
      .store = store_.get(),
      .recorders = {parts.audit, disk_waits_, metrics_.calls, &lines_, parts.tracer},
      .metrics = metrics_.operations,
      .default_deadline = ToDuration(config.calls().default_deadline()),
      .max_deadline = ToDuration(config.calls().max_deadline()),
      .waits = *waits_,
      .max_wait = ToDuration(config.activities().max_wait()),
      .forward_traceparent = config.upstream().forward_traceparent(),
      .now = [] { return absl::Now(); },
      .random = RandomOfThread,
  };
}

void ServedOperations::WatchForHangs(AuditLog* audit) {
  if (audit != nullptr) {
    hang_watches_.Add("audit", "the disk of the audit log", metrics_.audit.write_seconds, DiskWaits::Writer::kAuditLog,
                      [audit] { return audit->WriteUnderWay(); });
  }
  if (store_ != nullptr) {
    hang_watches_.Add("call_store", "the disk or the server of the call store", metrics_.store.write_seconds,
                      DiskWaits::Writer::kCallStore, [this] { return store_->WriteUnderWay(); });
  }
  hang_watches_.AddQuotas([this] { return rate_sharing_->QuotaWriteUnderWay(); });
}

void ServedOperations::Refuse(absl::Duration last_words) {
  const absl::Time until = SteadyNow() + last_words;
  in_flight_.Drain();
  admission_->Drain(until);
}

void ServedOperations::Close() {
  hang_watches_.Stop();
  rate_sharing_ = nullptr;
  timestamp_reserve_ = nullptr;
  if (store_ != nullptr) store_->Close(timestamps_.next_ms());
}

}  // namespace stampgate
