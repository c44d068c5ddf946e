// The program: hardens the process, and runs the command that the command line names.

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "gateway/commands/audit_verify.h"
#include "gateway/commands/check.h"
#include "gateway/commands/command_line.h"
#include "gateway/commands/exit_status.h"
#include "gateway/commands/help_text.h"
#include "gateway/commands/key_files.h"
#include "gateway/commands/operation_commands.h"
#include "gateway/commands/store_commands.h"
#include "gateway/commands/store_copy.h"
#include "gateway/commands/subscription_commands.h"
#include "gateway/grpc_port/grpc_experiments.h"
#include "gateway/process/free_memory.h"
#include "gateway/process/hardening.h"
#include "gateway/process/huge_pages.h"
#include "gateway/process/library_logs.h"
#include "gateway/server/serve.h"
#include "gateway/server/version.h"

namespace stampgate {
namespace {

int Main(int argc, char** argv) {
  absl::StatusOr<CommandLine> line = ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  const bool serve = line.ok() && line->command == CommandLine::Command::kServe;
  if (absl::Status status = HardenProcess(); !status.ok()) return serve ? FailToStart(status) : Fail(status);
  LimitThreadCaches();
  if (serve) AdviseHugePages();
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
    case CommandLine::Command::kServe:
      return Serve(line->config);
    case CommandLine::Command::kCheck:
      return Print(line->as.empty() ? CheckConfig(line->config) : CheckCaller(line->config, line->as));
    case CommandLine::Command::kKeygen:
      return Print(CreateKeyPair(line->curve, line->out));
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
    case CommandLine::Command::kOperationsList:
      return PrintReport(ListOperations(line->files));
    case CommandLine::Command::kOperationsDiff:
      return PrintReport(CompareOperations(line->files));
    case CommandLine::Command::kOperationsLint:
      return PrintReport(ReviewOperations(line->files));
    case CommandLine::Command::kOperationsExport:
      return ExportOperations();
    case CommandLine::Command::kSubscriptionsList:
      return Print(ListSubscriptionsOf(line->gateway));
    case CommandLine::Command::kSubscriptionsShow:
      return Print(ShowSubscriptionOf(line->gateway, line->subscription));
    case CommandLine::Command::kSubscriptionsParked:
      return Print(ListParkedOf(line->gateway, line->subscription));
    case CommandLine::Command::kSubscriptionsRetry:
      return PrintParkedReport(RetryParkedOf(line->gateway, line->subscription, line->cursors));
    case CommandLine::Command::kSubscriptionsSkip:
      return PrintParkedReport(SkipParkedOf(line->gateway, line->subscription, line->cursors));
    case CommandLine::Command::kSubscriptionsSeek:
      return Print(SeekSubscriptionOf(line->gateway, line->subscription, line->to));
    case CommandLine::Command::kSubscriptionsDelete:
      return Print(DeleteSubscriptionOf(line->gateway, line->subscription));
    case CommandLine::Command::kAuditKeygen:
    case CommandLine::Command::kStoreKeygen:
      return Print(CreateSymmetricKey(line->out));
  }
  return kExitUsage;
}

}  // namespace
}  // namespace stampgate

int main(int argc, char** argv) { return stampgate::Main(argc, argv); }
