// Consumes from shared subscriptions and settles every event. Each consumer reads on while it settles: its next Settle
// has all deliveries that arrived during the previous one. Measures the latency of the events, their rate and the
// server's CPU. Prints "ready" when every consumer has joined, "receiving" when the first event has arrived, and at the
// end one line of name=value pairs. Exits with 1 if a call failed, or if a delivery was superseded.

#include <grpcpp/alarm.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/arrivals.h"
#include "tests/bench/call_loop.h"
#include "translate/wire/fields.h"
#include "translate/wire/writer.h"

ABSL_FLAG(std::string, target, "", "host:port of the server");
ABSL_FLAG(int, pid, 0, "process id of the server");
ABSL_FLAG(std::vector<std::string>, subscriptions, {}, "names of the subscriptions, among which consumers are divided");
ABSL_FLAG(int, consumers, 1, "number of consumers");
ABSL_FLAG(int, channels, 8, "number of connections that the consumers share");
ABSL_FLAG(int, max_unsettled, 100, "largest number of events that a consumer holds");
ABSL_FLAG(absl::Duration, handling, absl::ZeroDuration(),
          "time for each event, one after another; 0: settles at once; inf: never");
ABSL_FLAG(int, skip, 0, "number of events that all consumers together receive before the measurement");
ABSL_FLAG(int, events, 1000, "number of events that they receive and settle in the measurement");

namespace stampgate::bench {
namespace {

// Numbers of fields in proto/stampgate/v1/subscription_service.proto and subscriptions.proto. They never change.
constexpr int kSubscriptionField = 1;  // of ConsumeRequest and SettleRequest
constexpr int kMaxUnsettledField = 2;  // of ConsumeRequest
constexpr int kDeliveriesField = 1;    // of ConsumeResponse
constexpr int kEventField = 1;         // of Delivery
constexpr int kTokenField = 2;         // of Delivery
constexpr int kTokensField = 2;        // of SettleRequest
constexpr int kOutcomeField = 3;       // of SettleRequest
constexpr int kOutcomeDone = 1;        // SETTLE_OUTCOME_DONE
constexpr size_t kMaxTokens = 1000;    // of SettleRequest

// Settles the deliveries of one consumer, with at most one call at a time.
class Settler : public CallLoop::Operation {
 public:
  // Adds the deliveries that it has settled to `settled`.
  Settler(CallLoop& loop, std::string subscription, int64_t& settled)
      : loop_(loop), subscription_(std::move(subscription)), settled_(settled) {}

  void Add(absl::string_view token) { tokens_.emplace_back(token); }

  // Begins what must happen next, if nothing is in progress.
  void Advance() {
    const absl::Duration handling = absl::GetFlag(FLAGS_handling);
    if (step_ != Step::kIdle || tokens_.empty() || handling == absl::InfiniteDuration()) return;
    if (handling == absl::ZeroDuration()) return Settle();
    step_ = Step::kHandling;
    alarm_.Set(&loop_.queue(), absl::ToChronoTime(absl::Now() + handling), static_cast<Operation*>(this));
  }

  absl::Status OnEnd(bool /*ok*/) override {
    if (step_ == Step::kHandling) {
      Settle();
      return absl::OkStatus();
    }
    step_ = Step::kIdle;
    if (!status_.ok()) return absl::UnavailableError(absl::StrCat("Settle failed: ", status_.error_message()));
    // The response lists only superseded deliveries.
    if (response_.Length() != 0) return absl::AbortedError("a delivery was superseded");
    settled_ += in_call_;
    Advance();
    return absl::OkStatus();
  }

 private:
  enum class Step { kIdle, kHandling, kSettling };

  void Settle() {
    step_ = Step::kSettling;
    WireWriter request;
    request.String(kSubscriptionField, subscription_);
    const size_t most = absl::GetFlag(FLAGS_handling) == absl::ZeroDuration() ? kMaxTokens : 1;
    const auto end = tokens_.begin() + static_cast<ptrdiff_t>(std::min(tokens_.size(), most));
    for (auto token = tokens_.begin(); token != end; ++token) request.String(kTokensField, *token);
    request.Varint(kOutcomeField, kOutcomeDone);
    in_call_ = end - tokens_.begin();
    tokens_.erase(tokens_.begin(), end);
    context_.emplace();
    response_.Clear();
    call_ = loop_.NextStub().PrepareUnaryCall(&*context_, "/stampgate.v1.SubscriptionService/Settle",
                                              BufferOf(request.Take()), &loop_.queue());
    call_->StartCall();
    call_->Finish(&response_, &status_, static_cast<Operation*>(this));
  }

  CallLoop& loop_;
  const std::string subscription_;
  int64_t& settled_;
  std::vector<std::string> tokens_;  // in no call yet
  Step step_ = Step::kIdle;
  grpc::Alarm alarm_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  grpc::ByteBuffer response_;
  grpc::Status status_;
  int64_t in_call_ = 0;
};

struct Consumer {
  Consumer(CallLoop& loop, std::string subscription, int64_t& settled)
      : settler(loop, std::move(subscription), settled) {}

  ServerStream stream;
  Settler settler;
  bool has_begun = false;  // true if the first message has arrived
  bool was_served = false;
};

class Consumers {
 public:
  absl::Status Run() {
    ABSL_RETURN_IF_ERROR(loop_.Connect(absl::GetFlag(FLAGS_target),
                                       std::min(absl::GetFlag(FLAGS_channels), absl::GetFlag(FLAGS_consumers))));
    const std::vector<std::string> subscriptions = absl::GetFlag(FLAGS_subscriptions);
    for (int i = 0; i < absl::GetFlag(FLAGS_consumers); ++i) Start(subscriptions.at(i % subscriptions.size()));
    while (begun_ < consumers_.size() || settled_ < absl::GetFlag(FLAGS_skip) + absl::GetFlag(FLAGS_events)) {
      ABSL_RETURN_IF_ERROR(loop_.Advance());
    }
    Print();
    return absl::OkStatus();
  }

 private:
  void Start(const std::string& subscription) {
    Consumer& consumer = *consumers_.emplace_back(std::make_unique<Consumer>(loop_, subscription, settled_));
    WireWriter request;
    request.String(kSubscriptionField, subscription);
    request.Varint(kMaxUnsettledField, absl::GetFlag(FLAGS_max_unsettled));
    consumer.stream.Start(loop_, "/stampgate.v1.SubscriptionService/Consume", request.Take(),
                          [this, &consumer](absl::string_view message) {
                            Take(consumer, message);
                            return absl::OkStatus();
                          });
  }

  void Take(Consumer& consumer, absl::string_view message) {
    if (!consumer.has_begun) {
      consumer.has_begun = true;
      if (++begun_ == consumers_.size()) Report("ready");
    }
    const absl::Time now = absl::Now();
    bool is_counted = false;
    ForEachBytes(message, kDeliveriesField, [&](absl::string_view delivery) {
      consumer.was_served = true;
      consumer.settler.Add(FindBytes(delivery, kTokenField).value_or(""));
      if (received_++ == 0) Report("receiving");
      if (received_ <= absl::GetFlag(FLAGS_skip)) return;
      arrivals_.Add(FindBytes(delivery, kEventField).value_or(""), now);
      is_counted = true;
    });
    if (is_counted) arrivals_.AddMessage();
    consumer.settler.Advance();
  }

  static void Report(const char* what) {
    std::printf("%s\n", what);
    std::fflush(stdout);
  }

  void Print() {
    arrivals_.Print();
    const auto served =
        std::count_if(consumers_.begin(), consumers_.end(), [](const auto& consumer) { return consumer->was_served; });
    std::printf(" served=%d\n", static_cast<int>(served));
  }

  CallLoop loop_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  size_t begun_ = 0;
  int64_t received_ = 0;
  int64_t settled_ = 0;
  Arrivals arrivals_{absl::GetFlag(FLAGS_pid)};
};

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  stampgate::bench::Consumers consumers;
  const absl::Status status = consumers.Run();
  if (!status.ok()) std::fprintf(stderr, "consume: %s\n", status.ToString().c_str());
  std::fflush(stdout);
  // Ends the process without destructors, because gRPC may still write to the consumers whose reads are in progress.
  std::_Exit(status.ok() ? 0 : 1);
}
