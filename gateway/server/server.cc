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
#include "absl/time/time.h"
#include "base/time/duration.h"
#include "gateway/admission/admission.h"
#include "gateway/callers/peer_registry.h"
#include "gateway/deliveries/log_opening.h"
#include "gateway/events/environment.h"
#include "gateway/events/messages.h"
#include "gateway/events/service.h"
#include "gateway/grpc_port/grpc_port.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/operation_service.h"
#include "gateway/process/periodic_task.h"
#include "gateway/reflection/service.h"
#include "gateway/server/connection_ages.h"
#include "gateway/server/drain.h"
#include "gateway/server/grpc_port_options.h"
#include "gateway/server/parts_of_config.h"
#include "gateway/server/served_events.h"
#include "gateway/server/served_operations.h"
#include "gateway/server/service_health.h"
#include "gateway/server/store_preparation.h"
#include "gateway/subscriptions/calls/messages.h"
#include "gateway/subscriptions/calls/service.h"
#include "gateway/upstream/client.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

// How often the gateway measures the connections.
constexpr absl::Duration kUsageReport = absl::Seconds(1);

class GrpcServer : public Server, private Drainable {
 public:
  GrpcServer(const config::v1::Config& config, const ServerParts& parts,
             std::unique_ptr<const EventMessages> event_messages,
             std::unique_ptr<const SubscriptionMessages> subscription_messages,
             std::unique_ptr<ServedOperations> operations)
      : loops_(parts.loops),
        metrics_(parts.metrics),
        ages_(parts.ages.has_value() ? *parts.ages : ConnectionAgesOf(config)),
        table_(parts.access.Get()->operations),
        event_messages_(std::move(event_messages)),
        subscription_messages_(std::move(subscription_messages)),
        operations_(std::move(operations)),
        environment_(operations_->environment()),
        operation_service_(environment_),
        events_(EventOptionsOf(config, parts)),
        event_service_(events_.environment()),
        subscription_service_(events_.subscription_environment()),
        tls_(parts.tls) {}

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
    ABSL_RETURN_IF_ERROR(operations_->Start(config));
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    SetGrpcLimits(config, ages_, builder);
    GrpcPort::Options options =
        GrpcPortOptionsOf(config, tls_, environment_.access, environment_.recorders, metrics_.grpc_port);
    options.on_dismissed = [this](const std::set<uint64_t>& connections) { DismissCalls(connections); };
    ABSL_ASSIGN_OR_RETURN(port_, GrpcPort::Create(options, loops_, builder));
    builder.RegisterCallbackGenericService(&operation_service_);
    builder.RegisterService(&event_service_);
    builder.RegisterService(&subscription_service_);
    if (config.reflection()) {
      reflection_.emplace(ReflectionOptions());
      builder.RegisterService(&*reflection_);
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC does not start the server");
    health_.emplace(*server_->GetHealthCheckService());
    health_->Report(table_->set().services());
    port_->Open();
    usage_report_.emplace("grpc-usage", kUsageReport, [this] {
      metrics_.grpc_port.Show(port_->usage());
      environment_.admission.ShowRates();
    });
    return absl::OkStatus();
  }

  void DismissStrangers() override { port_->DismissStrangers(); }

  absl::Status Prepare(OperationSet::Shared operations) override {
    ABSL_RETURN_IF_ERROR(events_.Use(operations));
    health_->Report(operations->services());
    return absl::OkStatus();
  }

  absl::Status CheckPort(absl::Duration timeout) override { return port_->Check(timeout); }

  const std::string& address() const override { return port_->address(); }

  std::string webhook_url() const override { return events_.webhook_url(); }

  ReloadedMore ReloadWebhookTls(bool asked) override { return events_.ReloadTls(asked); }

  void Drain(absl::Duration grace) override {
    events_.StopOpening();
    operations_->EndActivityWaits();
    if (server_ == nullptr) return;
    const Clock::time_point deadline = Clock::now() + absl::ToChronoNanoseconds(grace);
    stampgate::Drain(*this, grace);
    // Immediately cancels the remaining calls: the calls of gRPC's own health service, and the calls that did not end
    // in time.
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_ = nullptr;
    environment_.upstream.Shutdown(Left(deadline));
    operations_->StopWatching();
  }

  void CloseStore(absl::Duration grace) override {
    operations_->Close();
    events_.Close(grace);
  }

 private:
  static absl::Duration Left(Clock::time_point deadline) {
    return std::max(absl::FromChrono(deadline - Clock::now()), absl::ZeroDuration());
  }

  ServedEvents::Options EventOptionsOf(const config::v1::Config& config, const ServerParts& parts) {
    return {.pool = table_->set().pool(),
            .upstream = environment_.upstream,
            .metrics = metrics_.deliveries,
            .feed_metrics = metrics_.feed,
            .registry = metrics_.registry,
            .environment = {.is_configured = HasEventLog(config),
                            .access = environment_.access,
                            .recorders = environment_.recorders,
                            .in_flight = environment_.in_flight,
                            .messages = *event_messages_,
                            .heartbeat_interval = ToDuration(config.events().heartbeat_interval()),
                            .end_of_streams = ages_.end_of_streams,
                            .ending = ending_,
                            .random = environment_.random,
                            .now = environment_.now},
            .subscription_messages = *subscription_messages_,
            .observers = parts.events,
            .on_open = [this](EventFeed& feed) { operations_->Watch(feed); }};
  }

  ReflectionService::Options ReflectionOptions() const {
    CallRecorders recorders = environment_.recorders;
    recorders.audit = nullptr;
    return {.access = environment_.access,
            .recorders = recorders,
            .in_flight = environment_.in_flight,
            .random = environment_.random,
            .end_of_streams = ages_.end_of_streams};
  }

  Clock::time_point Now() override { return Clock::now(); }

  void Refuse(Clock::time_point last_words) override {
    operations_->Refuse(Left(last_words));
    if (auto* health = server_->GetHealthCheckService()) health->Shutdown();
    events_.Drain();
    usage_report_.reset();
    if (reflection_.has_value()) reflection_->Drain();
    port_->StopListening();
  }

  bool WaitUntilNoCall(Clock::time_point deadline) override { return environment_.in_flight.WaitUntilNone(deadline); }

  void WaitUntilNoRefusal(Clock::time_point deadline) override {
    environment_.in_flight.WaitUntilNoneRefused(deadline);
  }

  void EndCalls() override {
    ending_ = true;
    environment_.upstream.Shutdown(absl::ZeroDuration());
  }

  void EndDiskWaits() override { operations_->EndDiskWaits(); }

  bool HaveConnections() override { return port_->HaveConnections(); }

  void CloseIdleConnections() override {
    std::set<std::string> busy;
    environment_.in_flight.ForEach([&](const grpc::CallbackServerContext& call) { busy.insert(call.peer()); });
    port_->CloseConnections(busy);
  }

  void CloseAllConnections() override { port_->CloseConnections({}); }

  void WaitForPeers(Clock::time_point deadline) override { port_->WaitForPeers(deadline); }

  void Sleep(Clock::duration time) override { std::this_thread::sleep_for(time); }

  // Ends the calls on these connections that would otherwise outlive them.
  void DismissCalls(const std::set<uint64_t>& connections) {
    const auto is_on_them = [&](const grpc::CallbackServerContext& call) {
      const std::optional<uint64_t> id = ConnectionIdOf(call.peer());
      return id.has_value() && connections.contains(*id);
    };
    for (const std::shared_ptr<Dismissable>& call : environment_.in_flight.ToDismiss(is_on_them)) call->Dismiss();
  }

  const std::shared_ptr<EventLoops> loops_;
  RoomMetrics& metrics_;
  const ConnectionAges ages_;
  const std::shared_ptr<const OperationTable> table_;  // that at the start, which the event service uses
  const std::unique_ptr<const EventMessages> event_messages_;
  const std::unique_ptr<const SubscriptionMessages> subscription_messages_;
  const std::unique_ptr<ServedOperations> operations_;
  const CallEnvironment& environment_;  // that of operations_
  OperationService operation_service_;
  std::atomic<bool> ending_ = false;  // true when the drain has begun to end the remaining calls
  ServedEvents events_;
  EventService event_service_;
  SubscriptionService subscription_service_;
  std::optional<ReflectionService> reflection_;  // without a value if reflection is not served
  const CurrentTls* const tls_;
  std::unique_ptr<GrpcPort> port_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<PeriodicTask> usage_report_;
  std::optional<ServiceHealth> health_;  // of server_
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, const ServerParts& parts) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<const EventMessages> event_messages,
                        EventMessages::Create(parts.access.Get()->operations->set().pool(), config->operator_name()));
  ABSL_ASSIGN_OR_RETURN(
      std::unique_ptr<const SubscriptionMessages> subscription_messages,
      SubscriptionMessages::Create(parts.access.Get()->operations->set().pool(), config->operator_name()));
  std::shared_ptr<Admission> admission = MakeAdmission(*config, *parts.loops, parts.metrics.admission);
  ABSL_ASSIGN_OR_RETURN(
      std::unique_ptr<UpstreamClient> upstream,
      UpstreamClient::Create(UpstreamOptionsOf(config->upstream(), admission), parts.loops, parts.metrics.upstream));
  const absl::Status reached = StorePreparation().Run(*config);
  if (!reached.ok() && !absl::IsUnavailable(reached)) return reached;
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<ServedOperations> operations,
                        ServedOperations::Open(*config, parts, std::move(admission), std::move(upstream)));
  auto server = std::make_unique<GrpcServer>(*config, parts, std::move(event_messages),
                                             std::move(subscription_messages), std::move(operations));
  ABSL_RETURN_IF_ERROR(server->OpenEvents(config, reached.ok()));
  ABSL_RETURN_IF_ERROR(server->Listen(*config));
  return server;
}

}  // namespace stampgate
