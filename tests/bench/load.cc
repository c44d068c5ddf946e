// Keeps a fixed number of gRPC calls to a server in flight, or begins calls at fixed times. Measures the server's CPU
// for each call, the calls per second, and the latency. Prints one line of name=value pairs. Exits with 1 if a call
// failed.

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "tests/bench/latencies.h"
#include "tests/bench/process_cpu.h"
#include "translate/testing/dynamic_message.h"

ABSL_FLAG(std::string, target, "", "host:port of the server");
ABSL_FLAG(int, pid, 0, "process id of the server");
ABSL_FLAG(std::string, call, "query",
          "query (ListWalletAccounts), submit (CreatePolicies) or keyed_submit (with an idempotency key)");
ABSL_FLAG(int, in_flight, 64, "number of calls in flight");
ABSL_FLAG(
    int, rate, 0,
    "calls to begin each second, of which at most --in_flight are in flight; 0 begins a call when the previous one "
    "has ended");
ABSL_FLAG(int, channels, 8, "number of connections that the calls share");
ABSL_FLAG(absl::Duration, warm_up, absl::Milliseconds(400), "duration of the load before the measurement");
ABSL_FLAG(absl::Duration, measure, absl::Seconds(5), "duration of the measurement");

namespace stampgate::bench {
namespace {

constexpr absl::Duration kHang = absl::Seconds(60);

// In the requests, the place of the number that each call replaces.
constexpr char kPlaceholder[] = "############";

constexpr char kQuery[] = R"pb(
  organization_id: "11111111-2222-4333-8444-555555555555"
  wallet_id: "aaaaaaaa-bbbb-4ccc-8ddd-############"
  include_wallet_details: true
  pagination_options { limit: 3 })pb";

constexpr char kSubmit[] = R"pb(
  organization_id: "11111111-2222-4333-8444-555555555555"
  parameters {
    policies {
      policy_name: "Treasury signs transfers"
      effect: EFFECT_ALLOW
      condition: "wallet.id == 'aaaaaaaa-bbbb-4ccc-8ddd-000000000011' && eth.tx.value < 1000000000000000000"
      consensus: "approvers.any(user, user.id == '77777777-8888-4777-8666-555555555555')"
      notes: "order ############"
    }
  })pb";

constexpr char kIdempotencyKey[] = R"pb(idempotency_key: "order-############")pb";

// Makes the requests of the calls. Encodes a request once, and then replaces a number in it for each call, so that no
// two bodies are equal.
class RequestMaker {
 public:
  explicit RequestMaker(const std::string& call) {
    if (call == "query") {
      method_ = "/stampgate.v1.WalletService/ListWalletAccounts";
      encoded_ = testing::MessageOf("stampgate.v1.ListWalletAccountsRequest", kQuery)->SerializeAsString();
    } else {
      method_ = "/stampgate.v1.PolicyService/CreatePolicies";
      const std::string request = absl::StrCat(kSubmit, call == "keyed_submit" ? kIdempotencyKey : "");
      encoded_ = testing::MessageOf("stampgate.v1.CreatePoliciesRequest", request)->SerializeAsString();
    }
    for (size_t at = encoded_.find(kPlaceholder); at != std::string::npos; at = encoded_.find(kPlaceholder, at + 1)) {
      places_.push_back(at);
    }
  }

  const std::string& method() const { return method_; }
  size_t size() const { return encoded_.size(); }

  grpc::ByteBuffer Next() {
    const std::string digits = absl::StrFormat("%012d", number_++ % 1'000'000'000'000);
    for (const size_t place : places_) encoded_.replace(place, digits.size(), digits);
    grpc::Slice slice(encoded_);
    return grpc::ByteBuffer(&slice, 1);
  }

 private:
  std::string method_;
  std::string encoded_;
  std::vector<size_t> places_;
  // Starts with a number that earlier runs have not used.
  int64_t number_ = absl::GetCurrentTimeNanos() / 1000;
};

// Carries out one call after another.
struct Slot {
  grpc::GenericStub* stub;
  std::optional<grpc::ClientContext> context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer response;
  grpc::Status status;
  absl::Time started;
};

class Load {
 public:
  Load() : requests_(absl::GetFlag(FLAGS_call)), slots_(absl::GetFlag(FLAGS_in_flight)) {
    const int channels = std::min(absl::GetFlag(FLAGS_channels), absl::GetFlag(FLAGS_in_flight));
    for (int i = 0; i < channels; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // otherwise all channels share one connection
      stubs_.push_back(std::make_unique<grpc::GenericStub>(
          grpc::CreateCustomChannel(absl::GetFlag(FLAGS_target), grpc::InsecureChannelCredentials(), arguments)));
    }
    for (size_t i = 0; i < slots_.size(); ++i) slots_[i].stub = stubs_[i % stubs_.size()].get();
  }

  bool Run() {
    {
      const MutexLock lock(mutex_);
      for (Slot& slot : slots_) idle_.push_back(&slot);
    }
    std::thread starter;
    if (absl::GetFlag(FLAGS_rate) != 0) {
      starter = std::thread([this] { StartAtRate(); });
    } else {
      StartIdle();
    }
    const bool ok = RunUntil(absl::Now() + absl::GetFlag(FLAGS_warm_up)) && Measure();
    ended_ = true;
    if (starter.joinable()) starter.join();
    return ok && Drain();
  }

 private:
  void Start(Slot& slot, absl::Time started) {
    slot.started = started;
    slot.context.emplace();
    slot.reader = slot.stub->PrepareUnaryCall(&*slot.context, requests_.method(), requests_.Next(), &queue_);
    slot.reader->StartCall();
    slot.reader->Finish(&slot.response, &slot.status, &slot);
  }

  Slot* TakeIdle() {
    const MutexLock lock(mutex_);
    if (idle_.empty()) return nullptr;
    Slot* const slot = idle_.back();
    idle_.pop_back();
    return slot;
  }

  void StartIdle() {
    while (Slot* const slot = TakeIdle()) Start(*slot, absl::Now());
  }

  // Starts calls at constant times. Runs on a thread of its own, because gRPC's queues wait for whole milliseconds. If
  // all slots are in use, a call starts late, and the delay is part of its latency.
  void StartAtRate() {
    prctl(PR_SET_TIMERSLACK, 1);
    absl::Time next = absl::Now();
    while (!ended_) {
      absl::SleepFor(next - absl::Now());
      Slot* const slot = TakeIdle();
      if (slot == nullptr) {
        absl::SleepFor(absl::Microseconds(100));
        continue;
      }
      Start(*slot, next);
      next += absl::Seconds(1) / absl::GetFlag(FLAGS_rate);
    }
  }

  // Waits until a call ends. Returns false if no call ends within kHang, or if the call failed.
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(absl::Now() + kHang)) != grpc::CompletionQueue::GOT_EVENT) {
      std::fprintf(stderr, "load: no call has ended in %s\n", absl::FormatDuration(kHang).c_str());
      return false;
    }
    auto* slot = static_cast<Slot*>(tag);
    if (!slot->status.ok()) {
      std::fprintf(stderr, "load: %s failed with code %d: %s\n", requests_.method().c_str(), slot->status.error_code(),
                   slot->status.error_message().c_str());
      return false;
    }
    latencies_.Add(absl::Now() - slot->started);
    response_bytes_ += slot->response.Length();
    const MutexLock lock(mutex_);
    idle_.push_back(slot);
    return true;
  }

  // Repeats calls until `end`, but at least until one has ended.
  bool RunUntil(absl::Time end) {
    do {
      if (!Wait()) return false;
      if (absl::GetFlag(FLAGS_rate) == 0) StartIdle();
    } while (absl::Now() < end);
    return true;
  }

  bool Measure() {
    latencies_.Clear();
    response_bytes_ = 0;
    std::optional<Instant> begin = Look(absl::GetFlag(FLAGS_pid));
    if (!begin.has_value() || !RunUntil(begin->time + absl::GetFlag(FLAGS_measure))) return false;
    std::optional<Instant> end = Look(absl::GetFlag(FLAGS_pid));
    if (!end.has_value()) return false;
    Print(*begin, *end);
    return true;
  }

  bool Drain() {
    while (CountIdle() < slots_.size()) {
      if (!Wait()) return false;
    }
    return true;
  }

  size_t CountIdle() {
    const MutexLock lock(mutex_);
    return idle_.size();
  }

  void Print(const Instant& begin, const Instant& end) {
    const auto calls = static_cast<double>(latencies_.size());
    latencies_.Print(end.cpu - begin.cpu, end.time - begin.time);
    std::printf(" request_bytes=%zu response_bytes=%.0f\n", requests_.size(),
                static_cast<double>(response_bytes_) / calls);
  }

  RequestMaker requests_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<Slot> slots_;
  std::atomic<bool> ended_ = false;
  Mutex mutex_;
  std::vector<Slot*> idle_ ABSL_GUARDED_BY(mutex_);
  Latencies latencies_;
  uint64_t response_bytes_ = 0;
};

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const bool ok = stampgate::bench::Load().Run();
  std::fflush(stdout);
  // Ends the process without destructors, because gRPC may still write to the slots of calls in flight.
  std::_Exit(ok ? 0 : 1);
}
