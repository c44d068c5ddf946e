#include "gateway/server/serve.h"

#include <grpcpp/grpcpp.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/http/current_tls.h"
#include "base/loop/event_loops.h"
#include "base/threads/core_count.h"
#include "base/time/duration.h"
#include "gateway/admin/readiness.h"
#include "gateway/admin/server.h"
#include "gateway/audit/open.h"
#include "gateway/callers/access.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/config/config.h"
#include "gateway/config/loader.h"
#include "gateway/config/reloader.h"
#include "gateway/config/snapshot.h"
#include "gateway/grpc_port/grpc_engine.h"
#include "gateway/grpc_port/grpc_release.h"
#include "gateway/process/descriptor_limit.h"
#include "gateway/process/end_bound.h"
#include "gateway/process/free_memory.h"
#include "gateway/process/log.h"
#include "gateway/process/memory_limit.h"
#include "gateway/process/periodic_task.h"
#include "gateway/server/health.h"
#include "gateway/server/measured_methods.h"
#include "gateway/server/room_metrics.h"
#include "gateway/server/server.h"
#include "gateway/server/start_telemetry.h"
#include "gateway/server/tls_files.h"
#include "gateway/server/version.h"
#include "gateway/tokens/key_pool.h"

namespace stampgate {
namespace {

// How long the audit log and the event log may take to close, after the time within which calls must end.
constexpr absl::Duration kCloseTime = absl::Seconds(5);

// How long the last export of telemetry may take.
constexpr absl::Duration kLastExportTime = absl::Seconds(2);

constexpr absl::Duration kMemoryInterval = absl::Milliseconds(20);
constexpr absl::Duration kCheckInterval = absl::Seconds(2);
constexpr absl::Duration kCheckTimeout = absl::Seconds(2);

// Blocks the signals that the gateway waits for. Threads that are created later block them too, so that only sigwait()
// receives them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Waits for SIGTERM or SIGINT, and returns the signal. Triggers a reload for each SIGHUP.
int WaitForEnd(const sigset_t& signals, Reloader& reloader) {
  for (;;) {
    int signal_number = 0;
    sigwait(&signals, &signal_number);
    if (signal_number != SIGHUP) return signal_number;
    reloader.Wake();
  }
}

void WarnOfLimits(const config::v1::Config& config) {
  if (const std::optional<std::string> warning = DescriptorWarning(config); warning.has_value()) {
    Log(Severity::kWarning, "descriptor_limit", {{"message", *warning}});
  }
  if (const std::optional<std::string> warning = MemoryWarning(config); warning.has_value()) {
    Log(Severity::kWarning, "memory_limit", {{"message", *warning}});
  }
}

// The parts of a gateway that serves.
class Serving {
 public:
  explicit Serving(const std::string& config_file) : source_(config_file) {}

  // Starts the parts, each before those that use it. Errors: those of the parts.
  absl::Status Start() {
    ABSL_RETURN_IF_ERROR(LoadConfig());
    ABSL_RETURN_IF_ERROR(OpenParts());
    ABSL_RETURN_IF_ERROR(StartServer());
    StartReloader();
    if (admin_ != nullptr) {
      health_->liveness.Start([this] { return server_->CheckPort(kCheckTimeout); }, kCheckInterval);
    }
    health_->readiness.Clear(Readiness::kStarting);
    Announce();
    return absl::OkStatus();
  }

  // Serves until SIGTERM or SIGINT, and returns the exit status.
  int ServeUntil(const sigset_t& signals) {
    const int signal_number = WaitForEnd(signals, *reloader_);
    Log(Severity::kInfo, "draining", {{"signal", strsignal(signal_number)}});
    End();
    return failed_ ? EXIT_FAILURE : EXIT_SUCCESS;
  }

 private:
  absl::Status LoadConfig() {
    ABSL_RETURN_IF_ERROR(RaiseDescriptorLimit());
    ABSL_ASSIGN_OR_RETURN(loops_, EventLoops::Start(CoreCount(), "loop"));
    token_keys_.emplace(loops_);
    ABSL_ASSIGN_OR_RETURN(Loaded loaded, Load(source_, *token_keys_));
    source_.SetInForce();
    config_.emplace(loaded.config);
    ABSL_RETURN_IF_ERROR(CheckGrpcRelease(grpc::Version(), config()));
    if (config().log().level() == config::v1::LOG_LEVEL_WARNING) SetLowestLogged(Severity::kWarning);
    LogWarnings(*config_);
    WarnOfLimits(config());
    access_.emplace(std::move(loaded.access));
    return absl::OkStatus();
  }

  // Opens what the server uses. The admin port starts first and ends last, because it shows the state of the others.
  absl::Status OpenParts() {
    health_.emplace(config_->operations()->set());
    RoomMetrics& metrics = health_->metrics;
    metrics.config.policy.Set(access_->Get()->version);
    ABSL_ASSIGN_OR_RETURN(admin_, StartAdmin(config(), *health_));
    if (admin_ != nullptr) std::cout << "admin on " << admin_->url() << std::endl;
    const auto show = [this](const absl::Status& status) { health_->Show(Readiness::kAuditFailing, !status.ok()); };
    ABSL_ASSIGN_OR_RETURN(audit_, Audit::Open(config(), kVersion, metrics.audit, {.status = show}));
    ABSL_ASSIGN_OR_RETURN(tls_, LoadTls(*config_, metrics.server));
    telemetry_ = StartTelemetry(*config_, kVersion, health_->registry);
    return absl::OkStatus();
  }

  absl::Status StartServer() {
    engine_.emplace(loops_);
    const auto show = [this](Readiness::Obstacle obstacle) {
      return [this, obstacle](bool is_there) { health_->Show(obstacle, is_there); };
    };
    ABSL_ASSIGN_OR_RETURN(
        server_, Server::Start(*config_, {.access = *access_,
                                          .metrics = health_->metrics,
                                          .loops = loops_,
                                          .audit = audit_ == nullptr ? nullptr : &audit_->log(),
                                          .tracer = telemetry_ == nullptr ? nullptr : telemetry_->tracer(),
                                          .tls = tls_.get(),
                                          .events = {.on_fatal = [this] { EndAfter(Readiness::kEventLogFailed); },
                                                     .on_hanging = show(Readiness::kEventLogHangs),
                                                     .on_reachable =
                                                         [this](bool reachable) {
                                                           health_->Show(Readiness::kEventLogUnreachable, !reachable);
                                                         }},
                                          .on_hanging =
                                              [this](DiskWaits::Writer writer, bool hangs) {
                                                const bool audit = writer == DiskWaits::Writer::kAuditLog;
                                                health_->Show(
                                                    audit ? Readiness::kAuditHangs : Readiness::kCallStoreHangs, hangs);
                                              },
                                          .on_fatal = [this] { EndAfter(Readiness::kCallStoreFailed); }}));
    token_keys_->Tidy();
    // In a flood, what is free does not always fit what is needed, and the system counts both.
    memory_.emplace("memory", kMemoryInterval, ReturnFreeMemory);
    return absl::OkStatus();
  }

  void StartReloader() {
    reloader_.emplace(Reloader::Options{.source = std::move(source_),
                                        .config = *config_,
                                        .token_keys = *token_keys_,
                                        .metrics = health_->metrics.config,
                                        .reload_more =
                                            [this](bool asked) {
                                              server_->DismissStrangers();
                                              return ReloadTls(tls_.get(), *server_, asked, health_->metrics.server);
                                            },
                                        .prepare = [this](const Access& next) -> absl::Status {
                                          ABSL_RETURN_IF_ERROR(server_->Prepare(next.operations->shared_set()));
                                          health_->metrics.calls.AddMethods(MeasuredMethods(next.operations->set()));
                                          return absl::OkStatus();
                                        }},
                      *access_);
  }

  void Announce() {
    if (!server_->webhook_url().empty()) std::cout << "webhooks on " << server_->webhook_url() << "\n";
    std::cout << "listening on " << server_->address() << std::endl;
    if (!IsMaintainedGrpc(grpc::Version())) {
      Log(Severity::kWarning, "old_grpc",
          {{"message", absl::StrCat("the gateway is built with gRPC ", grpc::Version(),
                                    ", whose HTTP/2 has known faults: do not use it in production")}});
    }
    Log(Severity::kInfo, "started",
        {{"address", server_->address()},
         {"upstream", config().upstream().base_url()},
         {"policy_version", access_->Get()->version},
         {"operations_sha256", access_->Get()->operations_sha256}});
  }

  // Ends the process because the event log or the call store cannot continue after a failure: only a new start reads
  // from the disk again what is stored.
  void EndAfter(Readiness::Obstacle why) {
    failed_ = true;
    health_->readiness.Set(why);
    kill(getpid(), SIGTERM);
  }

  void End() {
    health_->readiness.Set(Readiness::kDraining);
    health_->liveness.Drain();
    const absl::Duration grace = ToDuration(config().calls().drain_grace());
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(grace);
    auto* const bound = new EndBound(grace + kCloseTime, "calls");
    server_->Drain(grace);
    // The audit log is closed before the store, so that the stop record of the audit log is written even if the disk of
    // the store hangs.
    bound->WaitFor("the audit log");
    // Calls that have not ended can still use the closed log, until server_ is destroyed.
    if (audit_ != nullptr) audit_->Close();
    bound->WaitFor("the store");
    server_->CloseStore(absl::FromChrono(deadline - std::chrono::steady_clock::now()));
    if (telemetry_ != nullptr) {
      bound->WaitFor("the last export of telemetry");
      telemetry_->End(kLastExportTime);
    }
    bound->WaitFor("threads");
    Log(Severity::kInfo, "stopped", {});
  }

  const config::v1::Config& config() const { return **config_; }

  // Each part may use those above it.
  ConfigSource source_;  // moved into reloader_
  std::shared_ptr<EventLoops> loops_;
  std::optional<TokenKeyPool> token_keys_;
  std::optional<const Config> config_;  // that of the start
  std::optional<CurrentAccess> access_;
  std::optional<Health> health_;
  std::unique_ptr<AdminServer> admin_;  // null if the config has no admin port
  std::unique_ptr<Audit> audit_;        // null if the config has no audit log
  std::unique_ptr<CurrentTls> tls_;     // null if the config has no TLS
  std::unique_ptr<Telemetry> telemetry_;
  std::atomic<bool> failed_ = false;
  std::optional<GrpcEngine> engine_;
  std::unique_ptr<Server> server_;
  std::optional<PeriodicTask> memory_;
  std::optional<Reloader> reloader_;
};

}  // namespace

int FailToStart(const absl::Status& status) {
  for (const absl::string_view fault : absl::StrSplit(status.message(), '\n')) {
    Log(Severity::kWarning, "start_failed", {{"message", std::string(fault)}});
  }
  FlushLog();
  return EXIT_FAILURE;
}

int Serve(const std::string& config_file) {
  const sigset_t signals = BlockSignals();
  int exit_status = EXIT_SUCCESS;
  {
    Serving serving(config_file);
    const absl::Status started = serving.Start();
    exit_status = started.ok() ? serving.ServeUntil(signals) : FailToStart(started);
  }
  FlushLog();  // the destruction of the parts can log
  return exit_status;
}

}  // namespace stampgate
