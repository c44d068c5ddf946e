// Keeps subscriptions open and reads events. Measures the latency of the events, their rate and the server's CPU.
// Prints "ready" when every subscription has begun, and at the end one line of name=value pairs. Exits with 1 if a
// subscription failed.

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/sent_header.h"
#include "translate/wire/fields.h"
#include "translate/wire/writer.h"

ABSL_FLAG(std::string, target, "", "host:port of the server");
ABSL_FLAG(int, pid, 0, "process id of the server");
ABSL_FLAG(int, subscribers, 1, "subscriptions");
ABSL_FLAG(int, channels, 8, "number of connections that the subscribers share");
ABSL_FLAG(std::string, cursor, "", "cursor after which the subscriptions start; empty: the end of the log");
ABSL_FLAG(int, skip, 0, "number of events that each subscriber receives before the measurement");
ABSL_FLAG(int, events, 1000, "number of events that each subscriber receives in the measurement");

namespace stampgate::bench {
namespace {

constexpr absl::Duration kHang = absl::Seconds(60);

// Numbers of fields in proto/stampgate/v1/event_service.proto and events.proto. They never change.
constexpr int kEventsField = 1;   // of SubscribeResponse
constexpr int kHeadersField = 8;  // of Event
constexpr int kValueField = 2;    // of EventHeader
constexpr int kCursorField = 1;   // of SubscribeRequest
constexpr int kEndField = 3;      // of SubscribeRequest
constexpr int kEndLatest = 2;     // LOG_END_LATEST

// Returns the time at which the delivery of the event was sent, if the event has the header of sent_header.h. Scans the
// event without parsing it, because the subscribers run on the same machine as the server and should not use the CPU
// that the server needs.
std::optional<absl::Time> SentTime(absl::string_view event) {
  std::optional<absl::Time> sent;
  ForEachBytes(event, kHeadersField, [&](absl::string_view header) {
    if (!absl::StrContains(header, kSentHeader)) return;
    ForEachBytes(header, kValueField, [&](absl::string_view value) {
      int64_t nanos = 0;
      if (absl::SimpleAtoi(value, &nanos)) sent = absl::FromUnixNanos(nanos);
    });
  });
  return sent;
}

grpc::ByteBuffer EncodeRequest() {
  WireWriter request;
  if (absl::GetFlag(FLAGS_cursor).empty()) {
    request.Varint(kEndField, kEndLatest);
  } else {
    request.String(kCursorField, absl::GetFlag(FLAGS_cursor));
  }
  grpc::Slice slice(request.Take());
  return grpc::ByteBuffer(&slice, 1);
}

// One subscription. It always has exactly one gRPC operation in progress.
struct Subscriber {
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  grpc::ByteBuffer message;
  enum class Step { kStart, kRequest, kRead, kFinish } step = Step::kStart;
  grpc::Status status;
  absl::Time started;
  bool has_begun = false;  // true if the first message has arrived
  int events = 0;
  absl::Duration to_first = absl::InfiniteDuration();  // from the start of the call to its first event
};

// The time, and the CPU that the server has used until this time.
struct Instant {
  absl::Time time;
  absl::Duration cpu;
};

class Subscribers {
 public:
  Subscribers() : subscribers_(absl::GetFlag(FLAGS_subscribers)) {}

  bool Run() {
    if (!Connect()) return false;
    for (Subscriber& subscriber : subscribers_) Start(subscriber);
    const size_t all = subscribers_.size();
    begin_ = Look();
    while (begun_ < all || done_ < all) {
      if (!Advance()) return false;
    }
    const Instant end = Look();
    Print(end);
    return true;
  }

 private:
  bool Connect() {
    const int channels = std::min(absl::GetFlag(FLAGS_channels), absl::GetFlag(FLAGS_subscribers));
    for (int i = 0; i < channels; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // otherwise all channels share one connection
      const auto channel =
          grpc::CreateCustomChannel(absl::GetFlag(FLAGS_target), grpc::InsecureChannelCredentials(), arguments);
      if (!channel->WaitForConnected(absl::ToChronoTime(absl::Now() + kHang))) return Fail("cannot connect");
      stubs_.push_back(std::make_unique<grpc::GenericStub>(channel));
    }
    return true;
  }

  void Start(Subscriber& subscriber) {
    grpc::GenericStub& stub = *stubs_[next_stub_++ % stubs_.size()];
    subscriber.started = absl::Now();
    subscriber.stream = stub.PrepareCall(&subscriber.context, "/stampgate.v1.EventService/Subscribe", &queue_);
    subscriber.stream->StartCall(&subscriber);
  }

  // Waits until an operation ends, and begins the next one of its subscriber.
  bool Advance() {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(absl::Now() + kHang)) != grpc::CompletionQueue::GOT_EVENT) {
      return Fail("no event has arrived");
    }
    auto& subscriber = *static_cast<Subscriber*>(tag);
    using Step = Subscriber::Step;
    if (subscriber.step == Step::kFinish) return Fail("a subscription ended: " + subscriber.status.error_message());
    if (!ok) {
      subscriber.step = Step::kFinish;
      subscriber.stream->Finish(&subscriber.status, &subscriber);
      return true;
    }
    if (subscriber.step == Step::kStart) {
      subscriber.step = Step::kRequest;
      subscriber.stream->WriteLast(EncodeRequest(), grpc::WriteOptions(), &subscriber);
      return true;
    }
    if (subscriber.step == Step::kRead) Take(subscriber);
    subscriber.step = Step::kRead;
    subscriber.stream->Read(&subscriber.message, &subscriber);
    return true;
  }

  void Take(Subscriber& subscriber) {
    if (!subscriber.has_begun) {
      subscriber.has_begun = true;
      if (++begun_ == subscribers_.size()) {
        std::printf("ready\n");
        std::fflush(stdout);
      }
    }
    const absl::Time now = absl::Now();
    grpc::Slice slice;
    if (!subscriber.message.DumpToSingleSlice(&slice).ok()) return;
    const absl::string_view message(reinterpret_cast<const char*>(slice.begin()), slice.size());
    ++messages_;
    bytes_ += message.size();
    ForEachBytes(message, kEventsField, [&](absl::string_view event) {
      if (subscriber.events++ == 0) subscriber.to_first = now - subscriber.started;
      if (subscriber.events == absl::GetFlag(FLAGS_skip) + absl::GetFlag(FLAGS_events)) ++done_;
      if (subscriber.events <= absl::GetFlag(FLAGS_skip)) return;
      if (events_++ == 0) begin_ = Look();
      if (const std::optional<absl::Time> sent = SentTime(event)) {
        latencies_.push_back(static_cast<float>(absl::ToDoubleMilliseconds(now - *sent)));
      }
    });
  }

  // Reads the time and the server's CPU. ProcessCpu does not fail here, since the server exists as long as calls
  // succeed.
  static Instant Look() { return {absl::Now(), ProcessCpu(absl::GetFlag(FLAGS_pid)).value_or(absl::ZeroDuration())}; }

  void Print(const Instant& end) {
    std::sort(latencies_.begin(), latencies_.end());
    const auto percentile = [this](double share) {
      return latencies_.empty() ? 0 : latencies_[static_cast<size_t>(share * (latencies_.size() - 1))];
    };
    std::vector<absl::Duration> to_first;
    for (const Subscriber& subscriber : subscribers_) to_first.push_back(subscriber.to_first);
    std::sort(to_first.begin(), to_first.end());
    const auto events = static_cast<double>(events_);
    std::printf(
        "cpu_us=%.2f per_second=%.0f p50_ms=%.2f p99_ms=%.2f first_ms=%.2f events=%.0f event_bytes=%.0f "
        "events_per_message=%.1f\n",
        absl::ToDoubleMicroseconds(end.cpu - begin_.cpu) / events,
        events / absl::ToDoubleSeconds(end.time - begin_.time), percentile(0.5), percentile(0.99),
        absl::ToDoubleMilliseconds(to_first[to_first.size() / 2]), events, static_cast<double>(bytes_) / events,
        events / static_cast<double>(messages_));
  }

  static bool Fail(const std::string& why) {
    std::fprintf(stderr, "subscribe: %s\n", why.c_str());
    return false;
  }

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  size_t next_stub_ = 0;
  std::vector<Subscriber> subscribers_;
  size_t begun_ = 0;
  size_t done_ = 0;
  Instant begin_;
  int64_t events_ = 0;
  int64_t messages_ = 0;
  int64_t bytes_ = 0;
  std::vector<float> latencies_;
};

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const bool ok = stampgate::bench::Subscribers().Run();
  std::fflush(stdout);
  // Ends the process without destructors, because gRPC may still write to the subscribers whose reads are in progress.
  std::_Exit(ok ? 0 : 1);
}
