// Keeps subscriptions open and reads events. Measures the latency of the events, their rate and the server's CPU.
// Prints "ready" when every subscription has begun, and at the end one line of name=value pairs. Exits with 1 if a
// subscription failed.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/arrivals.h"
#include "tests/bench/call_loop.h"
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

// Numbers of fields in proto/stampgate/v1/event_service.proto. They never change.
constexpr int kEventsField = 1;  // of SubscribeResponse
constexpr int kCursorField = 1;  // of SubscribeRequest
constexpr int kEndField = 3;     // of SubscribeRequest
constexpr int kEndLatest = 2;    // LOG_END_LATEST

std::string EncodeRequest() {
  WireWriter request;
  if (absl::GetFlag(FLAGS_cursor).empty()) {
    request.Varint(kEndField, kEndLatest);
  } else {
    request.String(kCursorField, absl::GetFlag(FLAGS_cursor));
  }
  return request.Take();
}

struct Subscriber {
  ServerStream stream;
  absl::Time started;
  bool has_begun = false;  // true if the first message has arrived
  int events = 0;
  absl::Duration to_first = absl::InfiniteDuration();  // from the start of the call to its first event
};

class Subscribers {
 public:
  absl::Status Run() {
    ABSL_RETURN_IF_ERROR(loop_.Connect(absl::GetFlag(FLAGS_target),
                                       std::min(absl::GetFlag(FLAGS_channels), absl::GetFlag(FLAGS_subscribers))));
    const std::string request = EncodeRequest();
    for (Subscriber& subscriber : subscribers_) {
      subscriber.started = absl::Now();
      subscriber.stream.Start(loop_, "/stampgate.v1.EventService/Subscribe", request,
                              [this, &subscriber](absl::string_view message) {
                                Take(subscriber, message);
                                return absl::OkStatus();
                              });
    }
    while (begun_ < subscribers_.size() || done_ < subscribers_.size()) ABSL_RETURN_IF_ERROR(loop_.Advance());
    Print();
    return absl::OkStatus();
  }

 private:
  void Take(Subscriber& subscriber, absl::string_view message) {
    if (!subscriber.has_begun) {
      subscriber.has_begun = true;
      if (++begun_ == subscribers_.size()) {
        std::printf("ready\n");
        std::fflush(stdout);
      }
    }
    const absl::Time now = absl::Now();
    bool is_counted = false;
    ForEachBytes(message, kEventsField, [&](absl::string_view event) {
      if (subscriber.events++ == 0) subscriber.to_first = now - subscriber.started;
      if (subscriber.events == absl::GetFlag(FLAGS_skip) + absl::GetFlag(FLAGS_events)) ++done_;
      if (subscriber.events <= absl::GetFlag(FLAGS_skip)) return;
      arrivals_.Add(event, now);
      is_counted = true;
    });
    if (is_counted) arrivals_.AddMessage();
  }

  void Print() {
    arrivals_.Print();
    std::vector<absl::Duration> to_first;
    for (const Subscriber& subscriber : subscribers_) to_first.push_back(subscriber.to_first);
    std::sort(to_first.begin(), to_first.end());
    std::printf(" first_ms=%.2f\n", absl::ToDoubleMilliseconds(to_first[to_first.size() / 2]));
  }

  CallLoop loop_;
  std::vector<Subscriber> subscribers_{static_cast<size_t>(absl::GetFlag(FLAGS_subscribers))};
  size_t begun_ = 0;
  size_t done_ = 0;
  Arrivals arrivals_{absl::GetFlag(FLAGS_pid)};
};

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  stampgate::bench::Subscribers subscribers;
  const absl::Status status = subscribers.Run();
  if (!status.ok()) std::fprintf(stderr, "subscribe: %s\n", status.ToString().c_str());
  std::fflush(stdout);
  // Ends the process without destructors, because gRPC may still write to the subscribers whose reads are in progress.
  std::_Exit(status.ok() ? 0 : 1);
}
