#include "gateway/server/server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/threads/core_count.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/breaker.h"
#include "gateway/admission/retry_budget.h"
#include "gateway/callers/peer_registry.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/config/duration.h"
#include "gateway/deliveries/log_opening.h"
#include "gateway/door/door.h"
#include "gateway/events/environment.h"
#include "gateway/events/messages.h"
#include "gateway/events/service.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/operation_service.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/operations/timestamp_reserve.h"
#include "gateway/process/log.h"
#include "gateway/process/periodic_task.h"
#include "gateway/process/random.h"
#include "gateway/process/steady_now.h"
#include "gateway/process/worker_threads.h"
#include "gateway/reflection/service.h"
#include "gateway/server/connection_ages.h"
#include "gateway/server/drain.h"
#include "gateway/server/grpc_port.h"
#include "gateway/server/hang_watches.h"
#include "gateway/server/parts_of_config.h"
#include "gateway/server/rate_sharing.h"
#include "gateway/server/served_events.h"
#include "gateway/server/service_health.h"
#include "gateway/server/store_preparation.h"
#include "gateway/upstream/client.h"
#include "gateway/waiting/activity_waits.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

// How often the gateway logs the number of lines that it has left out of the log.
constexpr absl::Duration kLinesReport = absl::Seconds(10);

// How often the gateway measures the connections.
constexpr absl::Duration kUsageReport = absl::Seconds(1);

ConnectionAges AgesOf(const config::v1::Config& config, const Server::Parts& parts) {
  return parts.ages.has_value() ? *parts.ages : ConnectionAgesOf(config);
}

class GrpcServer : public Server, private Drainable {
 public:
  GrpcServer(const config::v1::Config& config, const Parts& parts, std::unique_ptr<const EventMessages> event_messages,
             std::unique_ptr<CallStore> store, std::shared_ptr<Admission> admission,
             std::unique_ptr<RateSharing> rate_sharing, std::unique_ptr<UpstreamClient> upstream)
      : loops_(parts.loops),
        operations_(parts.access.Get()->operations),
        event_messages_(std::move(event_messages)),
        lines_({.every_call = config.log().calls(), .now = absl::Now, .write = Log}),
        lines_report_("call-lines", kLinesReport, [this] { lines_.ReportLeftOut(); }),
        timestamps_(TimestampFloor(store.get()), LeaseOf(store.get(), config.replica())),
        store_(std::move(store)),
        in_flight_(
            {.calls = config.calls().max_in_flight(), .calls_per_caller = config.calls().max_in_flight_per_caller()}),
        admission_(std::move(admission)),
        rate_sharing_(std::move(rate_sharing)),
        metrics_(parts.metrics),
        retries_(metrics_.admission),
        submit_breaker_(metrics_.admission.submit_breaker_open, BreakerObserver(UpstreamClient::Lane::kSubmit)),
        query_breaker_(metrics_.admission.query_breaker_open, BreakerObserver(UpstreamClient::Lane::kQuery)),
        upstream_(std::move(upstream)),
        waits_(std::make_shared<ActivityWaits>(WaitOptionsOf(config.activities(), parts.access), (*loops_)[0],
                                               metrics_.waits)),
        environment_{parts.access,
                     timestamps_,
                     *upstream_,
                     *admission_,
                     config.admission().retries() ? &retries_ : nullptr,
                     config.admission().breaker() ? &submit_breaker_ : nullptr,
                     config.admission().breaker() ? &query_breaker_ : nullptr,
                     *loops_,
                     signing_,
                     in_flight_,
                     store_.get(),
                     {parts.audit, disk_waits_, metrics_.calls, &lines_, parts.tracer},
                     metrics_.operations,
                     ToDuration(config.calls().default_deadline()),
                     ToDuration(config.calls().max_deadline()),
                     *waits_,
                     ToDuration(config.activities().max_wait()),
                     config.upstream().forward_traceparent(),
                     [] { return absl::Now(); },
                     RandomOfThread},
        operation_service_(environment_),
        events_({.pool = operations_->set().pool(),
                 .upstream = *upstream_,
                 .metrics = metrics_.deliveries,
                 .feed_metrics = metrics_.feed,
                 .environment = {.is_configured = HasEventLog(config),
                                 .access = parts.access,
                                 .recorders = environment_.recorders,
                                 .in_flight = in_flight_,
                                 .messages = *event_messages_,
                                 .heartbeat_interval = ToDuration(config.events().heartbeat_interval()),
                                 .end_of_streams = AgesOf(config, parts).end_of_streams,
                                 .ending = ending_,
                                 .random = RandomOfThread,
                                 .now = [] { return absl::Now(); }},
                 .observers = parts.events,
                 .on_open = [this](EventFeed& feed) { waits_->Watch(feed); }}),
        event_service_(events_.environment()),
        serves_reflection_(config.reflection()),
        tls_(parts.tls),
        ages_(AgesOf(config, parts)),
        hang_watches_({.disk_waits = disk_waits_,
                       .quotas_failing = metrics_.shares.quotas_failing,
                       .on_hanging = parts.on_hanging}) {
    WatchForHangs(parts.audit);
  }

  ~GrpcServer() override {
    GrpcServer::Drain(absl::ZeroDuration());
    GrpcServer::CloseStore(absl::ZeroDuration());
  }

  // Opens the event log. If its server has not been reached, opens the log later. Errors: those of ServedEvents::Open.
  absl::Status OpenEvents(const Config& config, bool reached) {
    if (!HasEventLog(*config)) return absl::OkStatus();
    if (reached) return events_.Open(*config);
    events_.OpenLater(config);
    return absl::OkStatus();
  }

  absl::Status Listen(const config::v1::Config& config) {
    hang_watches_.Start();
    if (store_ != nullptr) {
      ABSL_ASSIGN_OR_RETURN(std::unique_ptr<TimestampReserve> reserve,
                            TimestampReserve::Start(*store_, timestamps_, config.store().has_postgresql(), absl::Now));
      timestamp_reserve_ = std::move(reserve);
    }
    MakeReflection();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    SetGrpcLimits(config, ages_, builder);
    Door::Options options = DoorOptionsOf(config, tls_, environment_.access, environment_.recorders, metrics_.door);
    options.on_dismissed = [this](const std::set<uint64_t>& connections) { DismissCalls(connections); };
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Door> door, Door::Create(options, loops_, builder));
    door_ = std::move(door);
    builder.RegisterCallbackGenericService(&operation_service_);
    builder.RegisterService(&event_service_);
    if (reflection_ != nullptr) builder.RegisterService(reflection_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC does not start the server");
    health_.emplace(*server_->GetHealthCheckService());
    health_->Report(operations_->set().services());
    door_->Open();
    usage_report_.emplace("grpc-usage", kUsageReport, [this] {
      metrics_.door.Show(door_->usage());
      admission_->ShowRates();
    });
    return absl::OkStatus();
  }

  void DismissStrangers() override { door_->DismissStrangers(); }

  absl::Status Prepare(OperationSet::Shared operations) override {
    ABSL_RETURN_IF_ERROR(events_.Use(operations));
    health_->Report(operations->services());
    return absl::OkStatus();
  }

  absl::Status CheckPort(absl::Duration timeout) override { return door_->Check(timeout); }

  const std::string& address() const override { return door_->address(); }

  std::string webhook_url() const override { return events_.webhook_url(); }

  ReloadedMore ReloadWebhookTls(bool asked) override { return events_.ReloadTls(asked); }

  void Drain(absl::Duration grace) override {
    events_.StopOpening();
    waits_->Drain();
    if (server_ == nullptr) return;
    const Clock::time_point deadline = Clock::now() + absl::ToChronoNanoseconds(grace);
    stampgate::Drain(*this, grace);
    // Immediately cancels the remaining calls: the calls of gRPC's own health service, and the calls that did not end
    // in time.
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_ = nullptr;
    upstream_->Shutdown(Left(deadline));
  }

  void CloseStore(absl::Duration grace) override {
    hang_watches_.Stop();
    rate_sharing_ = nullptr;
    timestamp_reserve_ = nullptr;
    if (store_ != nullptr) store_->Close(timestamps_.next_ms());
    events_.Close(grace);
  }

 private:
  static absl::Duration Left(Clock::time_point deadline) {
    return std::max(absl::FromChrono(deadline - Clock::now()), absl::ZeroDuration());
  }

  Clock::time_point Now() override { return Clock::now(); }

  void Refuse(Clock::time_point last_words) override {
    in_flight_.Drain();
    admission_->Drain(SteadyNow() + Left(last_words));
    if (auto* health = server_->GetHealthCheckService()) health->Shutdown();
    events_.Drain();
    usage_report_.reset();
    if (reflection_ != nullptr) reflection_->Drain();
    door_->StopListening();
  }

  bool WaitUntilNoCall(Clock::time_point deadline) override { return in_flight_.WaitUntilNone(deadline); }

  void WaitUntilNoRefusal(Clock::time_point deadline) override { in_flight_.WaitUntilNoneRefused(deadline); }

  void EndCalls() override {
    ending_ = true;
    upstream_->Shutdown(absl::ZeroDuration());
  }

  void EndDiskWaits() override { disk_waits_.EndAll(); }

  bool HaveConnections() override { return door_->HaveConnections(); }

  void CloseIdleConnections() override {
    std::set<std::string> busy;
    in_flight_.ForEach([&](const grpc::CallbackServerContext& call) { busy.insert(call.peer()); });
    door_->CloseConnections(busy);
  }

  void CloseAllConnections() override { door_->CloseConnections({}); }

  void WaitForPeers(Clock::time_point deadline) override { door_->WaitForPeers(deadline); }

  void Sleep(Clock::duration time) override { std::this_thread::sleep_for(time); }

  // Ends the calls on these connections that would otherwise outlive them.
  void DismissCalls(const std::set<uint64_t>& connections) {
    const auto is_on_them = [&](const grpc::CallbackServerContext& call) {
      const std::optional<uint64_t> id = ConnectionIdOf(call.peer());
      return id.has_value() && connections.contains(*id);
    };
    for (const std::shared_ptr<Dismissable>& call : in_flight_.ToDismiss(is_on_them)) call->Dismiss();
  }

  void WatchForHangs(AuditLog* audit) {
    if (audit != nullptr) {
      hang_watches_.Add("audit", "the disk of the audit log", metrics_.audit.write_seconds,
                        DiskWaits::Writer::kAuditLog, [audit] { return audit->WriteUnderWay(); });
    }
    if (store_ != nullptr) {
      hang_watches_.Add("call_store", "the disk or the server of the call store", metrics_.store.write_seconds,
                        DiskWaits::Writer::kCallStore, [this] { return store_->WriteUnderWay(); });
    }
    hang_watches_.AddQuotas([this] { return rate_sharing_->QuotaWriteUnderWay(); });
  }

  // Makes the reflection service, if the config wants it.
  void MakeReflection() {
    if (!serves_reflection_) return;
    CallRecorders recorders = environment_.recorders;
    recorders.audit = nullptr;
    reflection_ =
        std::make_unique<ReflectionService>(ReflectionService::Options{.access = environment_.access,
                                                                       .recorders = recorders,
                                                                       .in_flight = in_flight_,
                                                                       .random = RandomOfThread,
                                                                       .end_of_streams = ages_.end_of_streams});
  }

  const std::shared_ptr<EventLoops> loops_;
  const std::shared_ptr<const OperationTable> operations_;  // those at the start, which the event service uses
  const std::unique_ptr<const EventMessages> event_messages_;
  CallLines lines_;
  PeriodicTask lines_report_;
  TimestampAllocator timestamps_;
  const std::unique_ptr<CallStore> store_;  // null if the config has no store
  std::unique_ptr<TimestampReserve> timestamp_reserve_;
  CallsInFlight<grpc::CallbackServerContext> in_flight_;
  DiskWaits disk_waits_;
  const std::shared_ptr<Admission> admission_;
  std::unique_ptr<RateSharing> rate_sharing_;  // null after CloseStore
  RoomMetrics& metrics_;
  RetryBudget retries_;
  Breaker submit_breaker_;
  Breaker query_breaker_;
  const std::unique_ptr<UpstreamClient> upstream_;
  WorkerThreads signing_{"signing", static_cast<int>(CoreCount())};  // one for each core: signing needs only CPU time
  const std::shared_ptr<ActivityWaits> waits_;
  const CallEnvironment environment_;
  OperationService operation_service_;
  std::atomic<bool> ending_ = false;  // true when the drain has begun to end the remaining calls
  ServedEvents events_;
  EventService event_service_;
  const bool serves_reflection_;
  std::unique_ptr<ReflectionService> reflection_;  // null if reflection is not served
  const CurrentTls* const tls_;
  const ConnectionAges ages_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<PeriodicTask> usage_report_;
  std::optional<ServiceHealth> health_;  // of server_
  HangWatches hang_watches_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, const Parts& parts) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<const EventMessages> event_messages,
                        EventMessages::Create(parts.access.Get()->operations->set().pool(), config->operator_name()));
  std::shared_ptr<Admission> admission = MakeAdmission(*config, *parts.loops, parts.metrics.admission);
  ABSL_ASSIGN_OR_RETURN(
      std::unique_ptr<UpstreamClient> upstream,
      UpstreamClient::Create(UpstreamOptionsOf(config->upstream(), admission), parts.loops, parts.metrics.upstream));
  const absl::Status reached = StorePreparation().Run(*config);
  if (!reached.ok() && !absl::IsUnavailable(reached)) return reached;
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallStore> store, OpenCallStore(*config, parts.on_fatal, parts.metrics.store));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<RateSharing> rate_sharing,
                        RateSharing::Start(*config, *admission, parts.metrics.shares));
  auto server = std::make_unique<GrpcServer>(*config, parts, std::move(event_messages), std::move(store),
                                             std::move(admission), std::move(rate_sharing), std::move(upstream));
  ABSL_RETURN_IF_ERROR(server->OpenEvents(config, reached.ok()));
  ABSL_RETURN_IF_ERROR(server->Listen(*config));
  return server;
}

}  // namespace stampgate
