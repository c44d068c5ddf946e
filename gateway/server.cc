#include "gateway/server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/secret/bytes.h"
#include "base/secret/symmetric_key.h"
#include "base/threads/core_count.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/breaker.h"
#include "gateway/admission/retry_budget.h"
#include "gateway/admission/retry_policy.h"
#include "gateway/callers/peer_registry.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/descriptors_line.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/calls/handshake_line.h"
#include "gateway/config/duration.h"
#include "gateway/config/named_files.h"
#include "gateway/config/store_address.h"
#include "gateway/connection_ages.h"
#include "gateway/deliveries/log_opening.h"
#include "gateway/door/door.h"
#include "gateway/events/environment.h"
#include "gateway/events/messages.h"
#include "gateway/events/service.h"
#include "gateway/grpc_port.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/operation_service.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/operations/timestamp_reserve.h"
#include "gateway/process/hang_watch.h"
#include "gateway/process/log.h"
#include "gateway/process/periodic_task.h"
#include "gateway/process/random.h"
#include "gateway/process/steady_now.h"
#include "gateway/process/worker_threads.h"
#include "gateway/rate_sharing.h"
#include "gateway/reflection/service.h"
#include "gateway/store/postgres/postgres_call_store.h"
#include "gateway/store/queued_call_store.h"
#include "gateway/store/sqlite/sqlite_call_store.h"
#include "gateway/store_preparation.h"
#include "gateway/upstream/client.h"
#include "gateway/waiting/activity_waits.h"
#include "gateway/waiting/wait_table.h"
#include "google/protobuf/descriptor.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

// How long a drain waits so that callers can read final statuses before their connection ends.
constexpr std::chrono::milliseconds kLastWords(500);

// How long a drain waits until the calls that arrive during the drain have been refused.
constexpr std::chrono::milliseconds kRefusalTime(100);

// How often the gateway logs the number of lines that it has left out of the log.
constexpr absl::Duration kLinesReport = absl::Seconds(10);

// How often the gateway measures the connections.
constexpr absl::Duration kUsageReport = absl::Seconds(1);

// How often the gateway tries to open an event log whose server it has not reached yet.
constexpr absl::Duration kOpenInterval = absl::Seconds(1);

// How often a drain searches for connections without calls.
constexpr std::chrono::milliseconds kLook(20);

std::vector<RateLimit> RatesOf(const google::protobuf::RepeatedPtrField<config::v1::Rate>& rates) {
  std::vector<RateLimit> limits;
  for (const config::v1::Rate& rate : rates) limits.push_back({rate.requests(), ToDuration(rate.per())});
  return limits;
}

std::shared_ptr<Admission> MakeAdmission(const config::v1::Config& config, EventLoops& loops, Metrics* metrics) {
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
  if (metrics != nullptr) {
    options.observe = [metrics](CallClass call_class, std::optional<AdmissionRefusal> refusal, absl::Duration waited) {
      std::optional<size_t> reason;
      if (refusal.has_value()) reason = static_cast<size_t>(*refusal);
      metrics->CountAdmission(static_cast<size_t>(call_class), reason, waited);
    };
    options.observe_waiting = [metrics](CallClass call_class, size_t waiting) {
      metrics->SetQueuedCalls(static_cast<size_t>(call_class), waiting);
    };
  }
  return Admission::Create(std::move(options));
}

UpstreamOptions OptionsOf(const config::v1::Upstream& upstream, const std::shared_ptr<Admission>& admission,
                          Metrics* metrics) {
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
  if (metrics != nullptr) {
    options.observe_detached = [metrics](int count, std::chrono::steady_clock::time_point oldest) {
      metrics->SetDetachedExchanges(count, oldest);
    };
    options.observe_lane = [metrics](UpstreamClient::Lane lane, int in_flight, int waiting) {
      metrics->SetUpstreamLane(static_cast<size_t>(lane), in_flight, waiting);
    };
    options.observe_exchange = [metrics](UpstreamClient::Lane lane, absl::Duration duration) {
      metrics->ObserveUpstreamExchange(static_cast<size_t>(lane), duration);
    };
  }
  return options;
}

CallQueueOptions QueueOptions(const Server::Parts& parts) {
  CallQueueOptions options;
  options.on_fatal = [on_fatal = parts.on_fatal](const absl::Status& status) {
    Log(Severity::kWarning, "call_store_failed", {{"message", std::string(status.message())}});
    on_fatal();
  };
  options.observe = [metrics = parts.metrics, failing = false](const CallStoreState& state) mutable {
    const bool fails = !state.failure.ok();
    if (metrics != nullptr) metrics->SetCallStore(state.keys, fails);
    if (std::exchange(failing, fails) == fails) return;
    if (fails) {
      Log(Severity::kWarning, "call_store_not_written", {{"message", std::string(state.failure.message())}});
    } else {
      Log(Severity::kInfo, "call_store_works_again", {});
    }
  };
  return options;
}

// Opens the call store. Returns null if the config has no store.
absl::StatusOr<std::unique_ptr<CallStore>> OpenStore(const config::v1::Config& config, const Server::Parts& parts) {
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
    options.queue = QueueOptions(parts);
    options.on_loss = on_loss;
    return OpenPostgresCallStore(std::move(options));
  }
  SqliteCallStoreOptions options;
  options.path = CallStoreFile(config);
  options.key_retention = ToDuration(config.store().key_retention());
  options.now = [] { return absl::Now(); };
  options.queue = QueueOptions(parts);
  options.on_loss = on_loss;
  return OpenSqliteCallStore(std::move(options));
}

// Returns the timestamps that this process may choose.
TimestampLease LeaseOf(const CallStore* store, const config::v1::Replica& replica) {
  const std::optional<TimestampLease> lease = store == nullptr ? std::nullopt : store->timestamp_lease();
  return lease.value_or(TimestampLease{replica.index(), replica.count()});
}

// Returns the observer of the breaker of `lane`, which sets the metric and writes the log.
std::function<void(bool open)> ReportBreaker(Metrics* metrics, UpstreamClient::Lane lane) {
  const auto index = static_cast<size_t>(lane);
  return [metrics, index](bool open) {
    if (metrics != nullptr) metrics->SetBreakerOpen(index, open);
    Log(open ? Severity::kWarning : Severity::kInfo, open ? "upstream_failing" : "upstream_recovered",
        {{"lane", Metrics::kUpstreamLanes[index]}});
  };
}

// Returns the smallest timestamp that the gateway may give to a submit. Without a store, the gateway does not know the
// timestamps that an earlier process has used. If the clock has not been set back, these timestamps are at most
// TimestampAllocator::kMaxAhead ahead of the clock.
uint64_t TimestampFloor(const CallStore* store) {
  if (store != nullptr) return store->timestamp_floor_ms();
  return static_cast<uint64_t>(absl::ToUnixMillis(absl::Now() + TimestampAllocator::kMaxAhead));
}

ConnectionAges AgesOf(const config::v1::Config& config, const Server::Parts& parts) {
  return parts.ages.has_value() ? *parts.ages : ConnectionAgesOf(config);
}

WaitTable::Options WaitOptionsOf(const config::v1::Activities& activities, const CurrentAccess& access) {
  return {.max_waiting = activities.max_waiting(),
          .poll_interval = ToDuration(activities.poll_interval()),
          .max_poll_interval = ToDuration(activities.max_poll_interval()),
          .polls_per_second = activities.max_polls_per_second(),
          .is_final = [&access](absl::string_view status) { return access.Get()->operations->IsFinalStatus(status); }};
}

class GrpcServer : public Server {
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
        retries_([metrics = parts.metrics](RetryCause cause, bool may) {
          if (metrics != nullptr) metrics->CountRetry(static_cast<size_t>(cause), may);
        }),
        submit_breaker_(ReportBreaker(parts.metrics, UpstreamClient::Lane::kSubmit)),
        query_breaker_(ReportBreaker(parts.metrics, UpstreamClient::Lane::kQuery)),
        upstream_(std::move(upstream)),
        waits_(std::make_shared<ActivityWaits>(WaitOptionsOf(config.activities(), parts.access), (*loops_)[0],
                                               parts.metrics)),
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
                     {parts.audit, disk_waits_, parts.metrics, &lines_, parts.tracer},
                     ToDuration(config.calls().default_deadline()),
                     ToDuration(config.calls().max_deadline()),
                     *waits_,
                     ToDuration(config.activities().max_wait()),
                     config.upstream().forward_traceparent(),
                     [] { return absl::Now(); },
                     RandomOfThread},
        operation_service_(environment_),
        closed_events_{.is_configured = HasEventLog(config),
                       .access = parts.access,
                       .recorders = {parts.audit, disk_waits_, parts.metrics, &lines_, parts.tracer},
                       .in_flight = in_flight_,
                       .messages = *event_messages_,
                       .heartbeat_interval = ToDuration(config.events().heartbeat_interval()),
                       .end_of_streams = AgesOf(config, parts).end_of_streams,
                       .ending = ending_,
                       .random = RandomOfThread,
                       .now = [] { return absl::Now(); }},
        event_service_(event_environment_),
        serves_reflection_(config.reflection()),
        tls_(parts.tls),
        ages_(AgesOf(config, parts)) {
    WatchForHangs(parts);
  }

  // Opens the event log, and receives deliveries. Errors: those of EventPipeline::Start.
  absl::Status OpenEvents(const config::v1::Config& config, EventPipeline::Observers observers) {
    observers.on_failed_handshake = [this](const std::string& address, const std::string& why) {
      LogFailedHandshake(lines_,
                         {.port = "webhooks", .address = address, .reason = "", .certificate = "", .message = why});
    };
    observers.on_no_descriptor = [this] { LogDescriptorsShort(lines_, "webhooks"); };
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<EventPipeline> pipeline,
                          EventPipeline::Start(config, operations_->set().pool(), *upstream_, observers,
                                               environment_.recorders.metrics, environment_.recorders.tracer));
    open_events_.emplace(closed_events_);
    open_events_->source = &pipeline->feed();
    open_events_->encoder = &pipeline->encoder();
    open_events_->subscriptions = &pipeline->subscriptions();
    open_events_->body_reads = &pipeline->body_reads();
    open_events_->queries = &pipeline->queries();
    open_events_->log = pipeline->log_identity();
    events_owner_ = std::move(pipeline);
    events_ = events_owner_.get();
    event_environment_ = &*open_events_;
    waits_->Watch(events_owner_->feed());
    return absl::OkStatus();
  }

  // Opens the event log as soon as its server can be reached.
  void OpenEventsLater(Config config, const EventPipeline::Observers& observers) {
    if (environment_.recorders.metrics != nullptr) environment_.recorders.metrics->SetEventLogFailing(true);
    observers.on_reachable(false);
    opening_.emplace("event-log-opening", kOpenInterval, [this, config = std::move(config), observers] {
      if (events_ != nullptr) return;
      absl::Status status = preparation_.Run(*config);
      if (status.ok()) status = OpenEvents(*config, observers);
      if (!status.ok()) {
        if (std::exchange(opening_failure_, status) != status) {
          Log(Severity::kWarning, "event_log_unreachable", {{"message", std::string(status.message())}});
        }
        return;
      }
      Log(Severity::kInfo, "event_log_opened", {{"webhooks", webhook_url()}});
      observers.on_reachable(true);
    });
    opening_->Wake();
  }

  ~GrpcServer() override {
    GrpcServer::Drain(absl::ZeroDuration());
    GrpcServer::CloseStore(absl::ZeroDuration());
  }

  absl::Status Listen(const config::v1::Config& config) {
    const auto look = [this] {
      for (HangWatch& watch : hang_watches_) watch.Look();
    };
    look();  // shows the metrics from the start
    hang_watcher_.emplace("hang-watch", HangWatch::kInterval, look);
    if (store_ != nullptr) {
      ABSL_ASSIGN_OR_RETURN(std::unique_ptr<TimestampReserve> mark,
                            TimestampReserve::Start(*store_, timestamps_, config.store().has_postgresql(), absl::Now));
      timestamp_reserve_ = std::move(mark);
    }
    MakeReflection();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    SetGrpcLimits(config, ages_, builder);
    Door::Options options = DoorOptionsOf(config, tls_, environment_.access, environment_.recorders);
    options.on_dismissed = [this](const std::set<uint64_t>& connections) { DismissCalls(connections); };
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Door> door, Door::Create(options, loops_, builder));
    door_ = std::move(door);
    builder.RegisterCallbackGenericService(&operation_service_);
    builder.RegisterService(&event_service_);
    if (reflection_ != nullptr) builder.RegisterService(reflection_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC does not start the server");
    // By default gRPC reports only the health of the whole server.
    ReportHealthOf(operations_->set());
    door_->Open();
    if (environment_.recorders.metrics != nullptr) {
      usage_report_.emplace("grpc-usage", kUsageReport, [this] {
        const Door::Usage usage = door_->usage();
        environment_.recorders.metrics->SetConnections(usage.connections, usage.handshakes, usage.held_bytes);
        const double rate = admission_->permitted_per_second();
        if (std::isfinite(rate)) environment_.recorders.metrics->SetUpstreamRate(rate);
        if (admission_->limits()) {
          environment_.recorders.metrics->SetSlowedOperations(admission_->slowed_operations());
        }
      });
    }
    return absl::OkStatus();
  }

  void DismissStrangers() override { door_->DismissStrangers(); }

  absl::Status Prepare(OperationSet::Shared operations) override {
    if (EventPipeline* events = events_; events != nullptr) {
      ABSL_RETURN_IF_ERROR(events->encoder().Use(operations));
    }
    ReportHealthOf(*operations);
    return absl::OkStatus();
  }

  absl::Status CheckPort(absl::Duration timeout) override { return door_->Check(timeout); }

  const std::string& address() const override { return door_->address(); }

  std::string webhook_url() const override {
    const EventPipeline* events = events_;
    return events == nullptr ? std::string() : events->webhook_url();
  }

  ReloadedMore ReloadWebhookTls(bool asked) override {
    EventPipeline* events = events_;
    return events == nullptr ? ReloadedMore() : events->ReloadTls(asked);
  }

  // One second before the end of `grace`, ends the remaining calls. In the last half second, closes the connections.
  void Drain(absl::Duration grace) override {
    opening_.reset();
    waits_->Drain();
    if (server_ == nullptr) return;
    const Clock::time_point began = Clock::now();
    const Clock::time_point deadline = began + absl::ToChronoNanoseconds(grace);
    in_flight_.Drain();
    admission_->Drain(SteadyNow() + Left(deadline - 2 * kLastWords));
    if (auto* health = server_->GetHealthCheckService()) health->Shutdown();
    if (events_owner_ != nullptr) events_owner_->Drain();
    usage_report_.reset();
    if (reflection_ != nullptr) reflection_->Drain();
    door_->StopListening();
    EndCalls(began, deadline);
    // Waits until no call is being refused. If a client calls continuously, some call is always being refused. Closing
    // the connection of this client during a refusal does no harm, so the wait has a short limit.
    in_flight_.WaitUntilNoneRefused(std::min(deadline, Clock::now() + kRefusalTime));
    door_->CloseConnections({});
    door_->WaitForPeers(std::min(deadline, Clock::now() + kLastWords));
    // Immediately cancels the remaining calls: the calls of gRPC's own health service, and the calls that did not end
    // in time.
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_ = nullptr;
    upstream_->Shutdown(Left(deadline));
  }

  void CloseStore(absl::Duration grace) override {
    hang_watcher_.reset();
    rate_sharing_ = nullptr;
    timestamp_reserve_ = nullptr;
    if (store_ != nullptr) store_->Close(timestamps_.next_ms());
    if (events_owner_ != nullptr) events_owner_->Close(grace);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static absl::Duration Left(Clock::time_point deadline) {
    return std::max(absl::FromChrono(deadline - Clock::now()), absl::ZeroDuration());
  }

  // Waits for the calls in flight. Closes each connection that has no call, so that its client connects to another
  // replica. Before it closes a connection, gives the client time to read the health status and the refusals of its
  // latest calls.
  void EndCalls(Clock::time_point began, Clock::time_point deadline) {
    const Clock::time_point warned = began + kLastWords;
    const Clock::time_point last_words = deadline - 2 * kLastWords;
    const Clock::time_point end = deadline - kLastWords;
    while (Clock::now() < end) {
      const bool none = in_flight_.WaitUntilNone(std::min(end, Clock::now() + kLook));
      const Clock::time_point now = Clock::now();
      if (none && (now >= warned || !door_->HaveConnections())) return;
      if (now >= warned) CloseIdleConnections();
      if (none) std::this_thread::sleep_for(kLook);
      if (!ending_ && now >= last_words) {
        // Ends the calls that are still in flight, so that their callers get a status while the connection still
        // exists.
        ending_ = true;
        upstream_->Shutdown(absl::ZeroDuration());
      }
      if (ending_) disk_waits_.EndAll();
    }
  }

  // Ends the calls on these connections that would otherwise outlive them.
  void DismissCalls(const std::set<uint64_t>& connections) {
    const auto is_on_them = [&](const grpc::CallbackServerContext& call) {
      const std::optional<uint64_t> id = ConnectionIdOf(call.peer());
      return id.has_value() && connections.contains(*id);
    };
    for (const std::shared_ptr<Dismissable>& call : in_flight_.ToDismiss(is_on_them)) call->Dismiss();
  }

  // Closes the connections on which no admitted call is in flight.
  void CloseIdleConnections() {
    std::set<std::string> busy;
    in_flight_.ForEach([&](const grpc::CallbackServerContext& call) { busy.insert(call.peer()); });
    door_->CloseConnections(busy);
  }

  // A service that `operations` does not have any more becomes NOT_SERVING, because gRPC's health service cannot forget
  // a service.
  void ReportHealthOf(const OperationSet& operations) {
    std::set<std::string> services;
    for (const std::string& name : operations.services()) {
      if (!absl::StartsWith(name, "grpc.")) services.insert(name);
    }
    auto& health = *server_->GetHealthCheckService();
    for (const std::string& name : reported_) {
      if (!services.contains(name)) health.SetServingStatus(name, false);
    }
    for (const std::string& name : services) health.SetServingStatus(name, true);
    reported_ = std::move(services);
  }

  // Reports the disks and servers that hang, and ends the calls that wait for them.
  void WatchForHangs(const Parts& parts) {
    const auto watch = [&](std::string what, std::string waits_for, DurableWrite write, DiskWaits::Writer writer,
                           std::function<absl::Duration()> under_way) {
      hang_watches_.emplace_back(
          HangWatch::Options{.what = std::move(what),
                             .waits_for = std::move(waits_for),
                             .under_way = std::move(under_way),
                             .observe =
                                 [metrics = parts.metrics, write](absl::Duration waited) {
                                   if (metrics != nullptr) metrics->SetWriteUnderWay(write, waited);
                                 },
                             .on_change =
                                 [this, on_hanging = parts.on_hanging, write, writer](bool hangs) {
                                   if (on_hanging) on_hanging(write, hangs);
                                   if (hangs) disk_waits_.End(writer);
                                 }});
    };
    if (parts.audit != nullptr) {
      watch("audit", "the disk of the audit log", DurableWrite::kDecision, DiskWaits::Writer::kAuditLog,
            [audit = parts.audit] { return audit->WriteUnderWay(); });
    }
    if (store_ != nullptr) {
      watch("call_store", "the disk or the server of the call store", DurableWrite::kIdempotencyKey,
            DiskWaits::Writer::kCallStore, [this] { return store_->WriteUnderWay(); });
    }
    hang_watches_.emplace_back(HangWatch::Options{.what = "quota_store",
                                                  .waits_for = "the disk or the server of the quotas",
                                                  .under_way = [this] { return rate_sharing_->QuotaWriteUnderWay(); },
                                                  // When the store works again, the thread of the quotas reports it.
                                                  .on_change =
                                                      [metrics = parts.metrics](bool hangs) {
                                                        if (hangs && metrics != nullptr)
                                                          metrics->SetQuotasFailing(true);
                                                      }});
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
  std::set<std::string> reported_;                          // the services that the health service reports as SERVING
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
  RetryBudget retries_;
  Breaker submit_breaker_;
  Breaker query_breaker_;
  const std::unique_ptr<UpstreamClient> upstream_;
  WorkerThreads signing_{"signing", static_cast<int>(CoreCount())};  // one for each core: signing needs only CPU time
  const std::shared_ptr<ActivityWaits> waits_;
  const CallEnvironment environment_;
  OperationService operation_service_;
  // Both are null if there is no event log, or as long as the log is not open.
  std::unique_ptr<EventPipeline> events_owner_;
  std::atomic<EventPipeline*> events_ = nullptr;
  std::atomic<bool> ending_ = false;             // true when the drain has begun to end the remaining calls
  const EventEnvironment closed_events_;         // as long as the log is not open
  std::optional<EventEnvironment> open_events_;  // afterwards
  std::atomic<const EventEnvironment*> event_environment_ = &closed_events_;
  EventService event_service_;
  const bool serves_reflection_;
  std::unique_ptr<ReflectionService> reflection_;  // null if reflection is not served
  const CurrentTls* const tls_;
  const ConnectionAges ages_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<PeriodicTask> usage_report_;
  std::vector<HangWatch> hang_watches_;
  std::optional<PeriodicTask> hang_watcher_;
  StorePreparation preparation_;         // used only by opening_
  absl::Status opening_failure_;         // the last reason why the log could not be opened; used only by opening_
  std::optional<PeriodicTask> opening_;  // set if the log's server could not be reached at the start
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, const Parts& parts) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<const EventMessages> event_messages,
                        EventMessages::Create(parts.access.Get()->operations->set().pool(), config->operator_name()));
  std::shared_ptr<Admission> admission = MakeAdmission(*config, *parts.loops, parts.metrics);
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<UpstreamClient> upstream,
                        UpstreamClient::Create(OptionsOf(config->upstream(), admission, parts.metrics), parts.loops));
  const absl::Status reached = StorePreparation().Run(*config);
  if (!reached.ok() && !absl::IsUnavailable(reached)) return reached;
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallStore> store, OpenStore(*config, parts));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<RateSharing> rate_sharing,
                        RateSharing::Start(*config, *admission, parts.metrics));
  auto server = std::make_unique<GrpcServer>(*config, parts, std::move(event_messages), std::move(store),
                                             std::move(admission), std::move(rate_sharing), std::move(upstream));
  if (HasEventLog(*config)) {
    if (reached.ok()) {
      ABSL_RETURN_IF_ERROR(server->OpenEvents(*config, parts.events));
    } else {
      server->OpenEventsLater(config, parts.events);
    }
  }
  ABSL_RETURN_IF_ERROR(server->Listen(*config));
  return server;
}

}  // namespace stampgate
