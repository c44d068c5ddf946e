// The program: parses the command line, creates the parts of the gateway and connects them, and ends on SIGTERM.

#include <grpcpp/grpcpp.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/http/current_tls.h"
#include "base/loop/event_loops.h"
#include "base/secret/memory.h"
#include "base/secret/symmetric_key.h"
#include "base/threads/core_count.h"
#include "gateway/admin/liveness.h"
#include "gateway/admin/readiness.h"
#include "gateway/admin/server.h"
#include "gateway/audit/open.h"
#include "gateway/audit/several_logs.h"
#include "gateway/audit/verifier.h"
#include "gateway/callers/access.h"
#include "gateway/command_line.h"
#include "gateway/config/caller_report.h"
#include "gateway/config/config.h"
#include "gateway/config/duration.h"
#include "gateway/config/loader.h"
#include "gateway/config/reloaded_more.h"
#include "gateway/config/reloader.h"
#include "gateway/config/snapshot.h"
#include "gateway/door/grpc_engine.h"
#include "gateway/door/grpc_experiments.h"
#include "gateway/door/grpc_release.h"
#include "gateway/help_text.h"
#include "gateway/measured_methods.h"
#include "gateway/metrics/metrics.h"
#include "gateway/policy/class_coverage.h"
#include "gateway/process/descriptor_limit.h"
#include "gateway/process/end_bound.h"
#include "gateway/process/free_memory.h"
#include "gateway/process/hardening.h"
#include "gateway/process/library_logs.h"
#include "gateway/process/log.h"
#include "gateway/process/memory_limit.h"
#include "gateway/process/periodic_task.h"
#include "gateway/process/usage.h"
#include "gateway/server.h"
#include "gateway/start_telemetry.h"
#include "gateway/store_commands.h"
#include "gateway/store_copy.h"
#include "gateway/tokens/key_pool.h"
#include "stamp/key_generator.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnverified = 2;  // the files could not be verified, so it is unknown whether they were changed
constexpr absl::string_view kVersion = "0.3.0-dev";

// How long the audit log and the event log may take to close, after the time within which calls must end.
constexpr absl::Duration kCloseTime = absl::Seconds(5);

// How long the last export of telemetry may take.
constexpr absl::Duration kLastExportTime = absl::Seconds(2);

constexpr absl::Duration kMemoryInterval = absl::Milliseconds(20);
constexpr absl::Duration kCheckInterval = absl::Seconds(2);
constexpr absl::Duration kCheckTimeout = absl::Seconds(2);

int Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return kExitFailure;
}

// Logs the error `status`, which prevents `serve` from starting. Each fault of the config gets its own line.
int FailToStart(const absl::Status& status) {
  for (const absl::string_view fault : absl::StrSplit(status.message(), '\n')) {
    Log(Severity::kWarning, "start_failed", {{"message", std::string(fault)}});
  }
  FlushLog();
  return kExitFailure;
}

// Prints what a caller may do. Opens no key files, because a reviewer of a policy has only the config.
int CheckCaller(const CommandLine& line) {
  const absl::StatusOr<Config> config = LoadPolicy(line.config);
  if (!config.ok()) return Fail(config.status());
  const absl::StatusOr<std::string> report = DescribeCaller(*config, line.as);
  if (!report.ok()) return Fail(absl::NotFoundError(absl::StrCat(line.config, ": ", report.status().message())));
  std::cout << *report;
  return 0;
}

// Returns the warning that the memory of this process is less than the gateway can need.
std::optional<std::string> MemoryWarningOf(const config::v1::Config& config) {
  return MemoryWarning(LowestMemoryLimit(), static_cast<int64_t>(config.memory().max_bytes()), "memory.max_bytes");
}

int Check(const CommandLine& line) {
  if (!line.as.empty()) return CheckCaller(line);
  absl::StatusOr<std::shared_ptr<EventLoops>> loops = EventLoops::Start(CoreCount(), "loop");
  if (!loops.ok()) return Fail(loops.status());
  TokenKeyPool token_keys(*loops);
  ConfigSource source(line.config);
  absl::StatusOr<Loaded> loaded = Load(source, token_keys);
  if (!loaded.ok()) return Fail(loaded.status());
  const Config& config = loaded->config;
  if (absl::Status status = CheckGrpcRelease(grpc::Version(), *config); !status.ok()) return Fail(status);
  for (const std::string& warning : config.warnings()) std::cerr << warning << " (warning)\n";
  // The limits can differ where the gateway runs. A process cannot raise a limit that is too low, so errors do not
  // matter.
  static_cast<void>(RaiseDescriptorLimit());
  for (const std::optional<std::string>& warning : {DescriptorWarning(*config), MemoryWarningOf(*config)}) {
    if (warning.has_value()) std::cerr << line.config << ": " << *warning << " (warning)\n";
  }
  std::cout << line.config << ": ok (" << config->keys_size() << " keys, " << config->callers_size() << " callers, "
            << config.operations()->operations().size() << " operations)\n"
            << DescribeUncovered(config.operations()->set(), config->class_grants_as_of())
            << DescribeNamedOnly(config.operations()->set());
  return 0;
}

// Loads the TLS files of the gRPC port. Returns null if the config has no TLS.
absl::StatusOr<std::unique_ptr<CurrentTls>> OpenTls(const Config& config) {
  if (!config->has_tls()) return nullptr;
  return CurrentTls::Load(FilesOf(*config), TlsProtocol::kHttp2, absl::Now(), [](const SettledFile& file) {
    LogShrunk({file.path(), true, file.former_size(), file.size()});
  });
}

// The state that the admin port's pages show.
struct Health {
  explicit Health(const OperationSet& operations) : metrics(MeasuredMethods(operations), kVersion) {}

  Metrics metrics;
  Readiness readiness;
  Liveness liveness;
};

ProcessNumbers NumbersOfProcess() { return {ReadProcessUsage(), DroppedLogLines()}; }

// Starts the server of the admin port. Returns null if the config has no admin port.
absl::StatusOr<std::unique_ptr<AdminServer>> StartAdmin(const Config& config, Health& health) {
  if (config->admin().listen_address().empty()) return nullptr;
  return AdminServer::Start({.listen_address = config->admin().listen_address()},
                            {{"/livez", [&health] { return health.liveness.Answer(); }},
                             {"/readyz", [&health] { return health.readiness.Answer(); }},
                             {"/readyz/webhooks", [&health] { return health.readiness.AnswerForWebhooks(); }},
                             {"/metrics", [&health]() -> AdminAnswer {
                                return {200, health.metrics.Render(NumbersOfProcess()), Metrics::kContentType};
                              }}});
}

absl::StatusOr<std::unique_ptr<Audit>> OpenAudit(const Config& config, Health& health) {
  return Audit::Open(
      *config, kVersion,
      {.status =
           [&health](const absl::Status& status) {
             health.metrics.SetAuditFailing(!status.ok());
             if (status.ok()) return health.readiness.Clear(Readiness::kAuditFailing);
             health.readiness.Set(Readiness::kAuditFailing);
           },
       .head = [&health](const AuditHead& head) { health.metrics.SetAuditHead(head.sequence, head.ToString()); },
       .file_bytes = [&health](int64_t bytes) { health.metrics.SetAuditFileBytes(bytes); },
       .open_allows =
           [&health](const AuditLog::OpenAllows& open) {
             health.metrics.SetAuditOpenAllows(open.calls, open.reads, open.oldest_call);
           }});
}

// Reloads the TLS files of the gRPC port. Even if ReloadCallersTls returns an error, the served certificate can have
// changed, because a part of the reload can have succeeded.
ReloadedMore ReloadCallersTls(CurrentTls* tls, bool asked, Metrics& metrics) {
  if (tls == nullptr) return {};
  const absl::StatusOr<bool> changed = tls->Reload(absl::Now(), asked);
  if (!changed.ok() || *changed) metrics.CountReload("certificates", changed.ok());
  metrics.SetCertificateNotAfter(tls->not_after());
  return {changed.status(), absl::FromChrono(tls->wait())};
}

// Reloads the certificates of the gRPC port and of the webhook port. If one reload fails, the other still takes effect.
ReloadedMore ReloadTls(CurrentTls* tls, Server& server, bool asked, Metrics& metrics) {
  const ReloadedMore callers = ReloadCallersTls(tls, asked, metrics);
  const ReloadedMore webhooks = server.ReloadWebhookTls(asked);
  const absl::Duration wait = ShorterWait(callers.wait, webhooks.wait);
  if (callers.status.ok()) return {webhooks.status, wait};
  if (webhooks.status.ok()) return {callers.status, wait};
  return {absl::Status(callers.status.code(), absl::StrCat(callers.status.message(), "; ", webhooks.status.message())),
          wait};
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

int Serve(const CommandLine& line) {
  // The signals are blocked before threads exist, so that only sigwait() receives them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  if (absl::Status status = RaiseDescriptorLimit(); !status.ok()) return FailToStart(status);
  absl::StatusOr<std::shared_ptr<EventLoops>> loops = EventLoops::Start(CoreCount(), "loop");
  if (!loops.ok()) return FailToStart(loops.status());
  TokenKeyPool token_keys(*loops);
  ConfigSource source(line.config);
  absl::StatusOr<Loaded> loaded = Load(source, token_keys);
  if (!loaded.ok()) return FailToStart(loaded.status());
  source.SetInForce();
  const Config config = loaded->config;
  if (absl::Status status = CheckGrpcRelease(grpc::Version(), *config); !status.ok()) return FailToStart(status);
  if (config->log().level() == config::v1::LOG_LEVEL_WARNING) SetLowestLogged(Severity::kWarning);
  if (const std::optional<std::string> warning = DescriptorWarning(*config); warning.has_value()) {
    Log(Severity::kWarning, "descriptor_limit", {{"message", *warning}});
  }
  if (const std::optional<std::string> warning = MemoryWarningOf(*config); warning.has_value()) {
    Log(Severity::kWarning, "memory_limit", {{"message", *warning}});
  }
  CurrentAccess access(std::move(loaded->access));
  Health health(config.operations()->set());
  health.metrics.SetPolicyVersion(access.Get()->version);
  // The admin port starts first and ends last, because it shows the state of the other parts.
  absl::StatusOr<std::unique_ptr<AdminServer>> admin = StartAdmin(config, health);
  if (!admin.ok()) return FailToStart(admin.status());
  if (*admin != nullptr) std::cout << "admin on " << (*admin)->url() << std::endl;
  if (!config->audit().file().empty()) health.metrics.SetAuditFailing(false);
  absl::StatusOr<std::unique_ptr<Audit>> audit = OpenAudit(config, health);
  if (!audit.ok()) return FailToStart(audit.status());
  absl::StatusOr<std::unique_ptr<CurrentTls>> tls = OpenTls(config);
  if (!tls.ok()) return FailToStart(tls.status());
  if (*tls != nullptr) health.metrics.SetCertificateNotAfter((*tls)->not_after());
  // Destroyed after the server, whose calls use its tracer.
  const std::unique_ptr<Telemetry> telemetry = StartTelemetry(config, kVersion, health.metrics, NumbersOfProcess);
  std::atomic<bool> failed = false;
  // If the event log or the call store cannot continue after a failure, the process ends, because only a new start
  // reads from the disk again what is stored.
  const auto end = [&failed, &health](Readiness::Obstacle why) {
    failed = true;
    health.readiness.Set(why);
    kill(getpid(), SIGTERM);
  };
  const GrpcEngine engine(*loops);
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(
      config, {.access = access,
               .loops = *loops,
               .audit = *audit == nullptr ? nullptr : &(*audit)->log(),
               .metrics = &health.metrics,
               .tracer = telemetry == nullptr ? nullptr : telemetry->tracer(),
               .tls = tls->get(),
               .events = {.on_fatal = [end] { end(Readiness::kEventLogFailed); },
                          .on_hanging =
                              [&health](bool hangs) {
                                if (!hangs) return health.readiness.Clear(Readiness::kEventLogHangs);
                                health.readiness.Set(Readiness::kEventLogHangs);
                              },
                          .on_reachable =
                              [&health](bool reachable) {
                                if (reachable) {
                                  health.readiness.Clear(Readiness::kEventLogUnreachable);
                                } else {
                                  health.readiness.Set(Readiness::kEventLogUnreachable);
                                }
                              }},
               .on_hanging =
                   [&health](DurableWrite write, bool hangs) {
                     const Readiness::Obstacle obstacle =
                         write == DurableWrite::kDecision ? Readiness::kAuditHangs : Readiness::kCallStoreHangs;
                     if (!hangs) return health.readiness.Clear(obstacle);
                     health.readiness.Set(obstacle);
                   },
               .on_fatal = [end] { end(Readiness::kCallStoreFailed); }});
  if (!server.ok()) return FailToStart(server.status());
  token_keys.Tidy();
  // In a flood, what is free does not always fit what is needed, and the system counts both.
  const PeriodicTask memory("memory", kMemoryInterval, ReturnFreeMemory);
  Reloader reloader({.source = std::move(source),
                     .config = config,
                     .token_keys = token_keys,
                     .reload_more =
                         [&](bool asked) {
                           (*server)->DismissStrangers();
                           return ReloadTls(tls->get(), **server, asked, health.metrics);
                         },
                     .prepare =
                         [&](const Access& next) {
                           absl::Status prepared = (*server)->Prepare(next.operations->shared_set());
                           if (prepared.ok()) health.metrics.AddMethods(MeasuredMethods(next.operations->set()));
                           return prepared;
                         },
                     .metrics = &health.metrics},
                    access);
  if (*admin != nullptr) {
    health.liveness.Start([&server] { return (*server)->CheckPort(kCheckTimeout); }, kCheckInterval);
  }
  health.readiness.Clear(Readiness::kStarting);
  if (!(*server)->webhook_url().empty()) std::cout << "webhooks on " << (*server)->webhook_url() << "\n";
  std::cout << "listening on " << (*server)->address() << std::endl;
  if (!IsMaintainedGrpc(grpc::Version())) {
    Log(Severity::kWarning, "old_grpc",
        {{"message", absl::StrCat("the gateway is built with gRPC ", grpc::Version(),
                                  ", whose HTTP/2 has known faults: do not use it in production")}});
  }
  Log(Severity::kInfo, "started",
      {{"address", (*server)->address()},
       {"upstream", config->upstream().base_url()},
       {"policy_version", access.Get()->version},
       {"operations_sha256", access.Get()->operations_sha256}});

  const int signal_number = WaitForEnd(signals, reloader);
  Log(Severity::kInfo, "draining", {{"signal", strsignal(signal_number)}});
  health.readiness.Set(Readiness::kDraining);
  health.liveness.Drain();
  const absl::Duration grace = ToDuration(config->calls().drain_grace());
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(grace);
  auto* const bound = new EndBound(grace + kCloseTime, "calls");
  (*server)->Drain(grace);
  // The audit log is closed before the store, so that the stop record of the audit log is written even if the disk of
  // the store hangs.
  bound->WaitFor("the audit log");
  *audit = nullptr;
  bound->WaitFor("the store");
  (*server)->CloseStore(absl::FromChrono(deadline - std::chrono::steady_clock::now()));
  if (telemetry != nullptr) {
    bound->WaitFor("the last export of telemetry");
    telemetry->End(kLastExportTime);
  }
  bound->WaitFor("threads");
  Log(Severity::kInfo, "stopped", {});
  return failed ? kExitFailure : 0;
}

int Keygen(const CommandLine& line) {
  absl::StatusOr<std::string> public_key = GenerateKeyFile(line.curve, line.out);
  if (!public_key.ok()) return Fail(public_key.status());
  std::cout << *public_key << "\n";
  return 0;
}

// Prints the text, or the error.
int Print(const absl::StatusOr<std::string>& text) {
  if (!text.ok()) return Fail(text.status());
  std::cout << *text;
  return 0;
}

int SymmetricKeygen(const CommandLine& line) {
  absl::Status status = InitializeKeyMemory();
  if (status.ok()) status = GenerateSymmetricKey(line.out);
  return status.ok() ? 0 : Fail(status);
}

int AuditVerify(const CommandLine& line) {
  const auto fail = [](const absl::Status& status) {
    Fail(status);
    return kExitUnverified;
  };
  if (absl::Status status = InitializeKeyMemory(); !status.ok()) return fail(status);
  absl::StatusOr<SecretBytes> key = ReadSymmetricKey(line.key);
  if (!key.ok()) return fail(key.status());
  std::optional<AuditHead> head;
  std::optional<AuditHead> from;
  for (const auto& [text, place] : {std::pair(&line.head, &head), std::pair(&line.from, &from)}) {
    if (text->empty()) continue;
    absl::StatusOr<AuditHead> parsed = ParseAuditHead(*text);
    if (!parsed.ok()) return fail(parsed.status());
    *place = *std::move(parsed);
  }
  const std::vector<std::string> logs = AuditLogsIn(line.files);
  const AuditFiles which = line.closed_files ? AuditFiles::kClosed : AuditFiles::kAll;
  if (logs.empty() && line.closed_files) {
    return fail(absl::InvalidArgumentError("--files is for audit logs, but several files of one log are given"));
  }
  if (logs.size() > 1) {
    if (head || from) {
      return fail(absl::InvalidArgumentError(
          absl::StrCat("--head and --from name a record of one log, but ", logs.size(), " logs are given")));
    }
    const AuditLogsReport report = VerifyAuditLogs(logs, *key, which);
    std::cout << report.ToString() << std::flush;
    if (const std::string failures = report.Failures(); !failures.empty()) Fail(absl::DataLossError(failures));
    return report.ExitStatus();
  }
  const AuditReport report =
      logs.empty() ? VerifyAudit(line.files, *key, head, from) : VerifyAuditLog(logs[0], *key, head, from, which);
  std::cout << report.ToString();
  return report.ExitStatus();
}

int Main(int argc, char** argv) {
  absl::StatusOr<CommandLine> line = ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  const bool serve = line.ok() && line->command == CommandLine::Command::kServe;
  if (absl::Status status = HardenProcess(); !status.ok()) return serve ? FailToStart(status) : Fail(status);
  LimitThreadCaches();
  SilenceLibraries();
  ChooseGrpcExperiments();
  // libcurl would write the keys of every TLS session to the file that this variable names.
  unsetenv("SSLKEYLOGFILE");
  // Turns off a check that Debian's build of Abseil makes: whether mutexes are always locked in the same order.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (!line.ok()) {
    std::cerr << "stampgate: " << line.status().message() << " (see stampgate --help)\n";
    return kExitUsage;
  }
  switch (line->command) {
    case CommandLine::Command::kHelp:
      std::cout << HelpText(line->topic);
      return 0;
    case CommandLine::Command::kVersion:
      std::cout << "stampgate " << std::string(kVersion) << "\n";
      return 0;
    case CommandLine::Command::kServe: {
      const int status = Serve(*line);
      FlushLog();  // only after Serve has ended, because Serve destroys parts that may log
      return status;
    }
    case CommandLine::Command::kCheck:
      return Check(*line);
    case CommandLine::Command::kKeygen:
      return Keygen(*line);
    case CommandLine::Command::kAuditVerify:
      return AuditVerify(*line);
    case CommandLine::Command::kStoreRestored:
      return Print(MarkStoreAsRestored(line->config));
    case CommandLine::Command::kStoreMigrate:
      return Print(MigrateStoreOf(line->config, line->grant_to));
    case CommandLine::Command::kStoreSet:
      return Print(SetStoreOf(line->config));
    case CommandLine::Command::kStoreSeal:
      return Print(SealStoreOf(line->config));
    case CommandLine::Command::kStoreCopy:
      return Print(
          CopyStoreOf(line->from, line->to, [](absl::string_view progress) { std::cerr << progress << std::endl; }));
    case CommandLine::Command::kStoreCheck:
      return Print(CheckStoreOf(line->config));
    case CommandLine::Command::kAuditKeygen:
    case CommandLine::Command::kStoreKeygen:
      return SymmetricKeygen(*line);
  }
  return kExitUsage;
}

}  // namespace
}  // namespace stampgate

int main(int argc, char** argv) { return stampgate::Main(argc, argv); }
