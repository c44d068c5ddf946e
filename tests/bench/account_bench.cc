// Measures what the account of memory costs a call: what a connection counts when it reads the request and writes the
// response, and what the call reserves and returns. Two threads call at the same time, each on a connection of its own,
// because all connections count in the same account. Prints the nanoseconds of CPU of one call.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/time.h"
#include "gateway/memory/account.h"
#include "gateway/memory/held_bytes.h"
#include "tests/bench/process_cpu.h"

ABSL_FLAG(uint64_t, bytes, 1000, "size of the request, of the body, and of the response");
ABSL_FLAG(int, calls, 200000, "number of calls of each thread");

namespace stampgate::bench {
namespace {

constexpr int kThreads = 2;

bool Call(const std::shared_ptr<MemoryHolder>& holder, size_t bytes) {
  holder->SetReceived(1, bytes);
  if (holder->Check().has_value()) return false;
  HeldBytes call(holder, MemoryAccount::kSmallCallBytes);
  HeldBytes response(holder, MemoryAccount::kSmallCallBytes);
  // The parsed request, then also the body, the response of upstream, and instead of all the response of the call.
  const bool ok =
      call.Resize(bytes).ok() && call.Resize(2 * bytes).ok() && response.Resize(bytes).ok() && call.Resize(bytes).ok();
  holder->SetReceived(0, 0);
  return ok;
}

int Main() {
  const auto account = std::make_shared<MemoryAccount>(MemoryAccount::Limits{});
  const size_t bytes = absl::GetFlag(FLAGS_bytes);
  const int calls = absl::GetFlag(FLAGS_calls);
  std::vector<std::thread> threads;
  std::vector<int> failed(kThreads);
  const absl::Duration before = ProcessCpu(0).value();
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&account, &failed = failed[i], bytes, calls, i] {
      const std::shared_ptr<MemoryHolder> holder = account->Open(std::to_string(i), [](MemoryBound) {});
      for (int call = 0; call < calls; ++call) failed += Call(holder, bytes) ? 0 : 1;
      holder->Close();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : failed) {
    if (count > 0) return 1;
  }
  const absl::Duration used = ProcessCpu(0).value() - before;
  std::printf("cpu_ns=%.1f\n", absl::ToDoubleNanoseconds(used) / kThreads / calls);
  return 0;
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::Main();
}
