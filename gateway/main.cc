// The process: reads the command line, wires the parts together, and ends when it is told to.

#include <google/protobuf/stubs/logging.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gateway/command_line.h"
#include "gateway/config.h"
#include "gateway/key_ring.h"
#include "gateway/log.h"
#include "gateway/server.h"
#include "stamp/key_file.h"
#include "stamp/key_generator.h"
#include "stamp/key_memory.h"
#include "stamp/make_signer.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr absl::string_view kVersion = "0.1.0";

int Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return kExitFailure;
}

// Reads the config, and the keys that it names into `keys`.
absl::StatusOr<Config> Load(const std::string& path, KeyRing& keys) {
  if (absl::Status status = InitializeKeyMemory(); !status.ok()) return status;
  return LoadConfig(path, [&](const config::v1::Key& key) -> absl::StatusOr<std::string> {
    absl::StatusOr<PrivateKey> secret = ReadKeyFile(key.file());
    if (!secret.ok()) return secret.status();
    absl::StatusOr<std::shared_ptr<const Signer>> signer = MakeSigner(*std::move(secret));
    if (!signer.ok()) return signer.status();
    keys.Add(key, *signer);
    return std::string((*signer)->public_key_hex());
  });
}

int Check(const CommandLine& line) {
  KeyRing keys;
  absl::StatusOr<Config> config = Load(line.config, keys);
  if (!config.ok()) return Fail(config.status());
  absl::StatusOr<std::unique_ptr<const OperationTable>> operations = OperationTable::Create((*config)->operator_name());
  if (!operations.ok()) return Fail(operations.status());
  std::cout << line.config << ": ok (" << (*config)->keys_size() << " keys, " << (*operations)->operations().size()
            << " operations)\n";
  return 0;
}

int Serve(const CommandLine& line) {
  // Blocked before there are threads, so that only sigwait() takes them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  KeyRing keys;
  absl::StatusOr<Config> config = Load(line.config, keys);
  if (!config.ok()) return Fail(config.status());
  std::atomic<bool> failed = false;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(*config, std::move(keys), [&failed] {
    failed = true;
    kill(getpid(), SIGTERM);
  });
  if (!server.ok()) return Fail(server.status());
  if (!(*server)->webhook_url().empty()) std::cout << "webhooks on " << (*server)->webhook_url() << "\n";
  std::cout << "listening on " << (*server)->address() << std::endl;
  Log(Severity::kInfo, "started", {{"address", (*server)->address()}, {"upstream", (*config)->upstream().base_url()}});

  int signal_number = 0;
  sigwait(&signals, &signal_number);
  Log(Severity::kInfo, "draining", {{"signal", strsignal(signal_number)}});
  (*server)->Drain(ToDuration((*config)->calls().drain_grace()));
  Log(Severity::kInfo, "stopped", {});
  FlushLog();
  return failed ? kExitFailure : 0;
}

int Keygen(const CommandLine& line) {
  absl::StatusOr<std::string> public_key = GenerateKeyFile(line.curve, line.out);
  if (!public_key.ok()) return Fail(public_key.status());
  std::cout << *public_key << "\n";
  return 0;
}

int Main(int argc, char** argv) {
  // Protocol Buffers would write pieces of what it cannot parse to standard error.
  google::protobuf::SetLogHandler(nullptr);
  // libcurl would write the keys of every TLS session to the file that it names.
  unsetenv("SSLKEYLOGFILE");
  // Debian's build of Abseil watches the order in which every mutex is taken.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  absl::StatusOr<CommandLine> line = ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  if (!line.ok()) {
    std::cerr << "stampgate: " << line.status().message() << " (see stampgate --help)\n";
    return kExitUsage;
  }
  switch (line->command) {
    case CommandLine::Command::kHelp:
      std::cout << std::string(kUsage);
      return 0;
    case CommandLine::Command::kVersion:
      std::cout << "stampgate " << std::string(kVersion) << "\n";
      return 0;
    case CommandLine::Command::kServe:
      return Serve(*line);
    case CommandLine::Command::kCheck:
      return Check(*line);
    case CommandLine::Command::kKeygen:
      return Keygen(*line);
  }
  return kExitUsage;
}

}  // namespace
}  // namespace stampgate

int main(int argc, char** argv) { return stampgate::Main(argc, argv); }
