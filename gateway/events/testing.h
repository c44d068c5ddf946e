// Helpers for the tests of the event calls: an environment, a caller whose grants the test sets, and a clock.
#ifndef STAMPGATE_GATEWAY_EVENTS_TESTING_H_
#define STAMPGATE_GATEWAY_EVENTS_TESTING_H_

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/callers/access.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/call_metrics.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/calls/stream_slots.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/messages.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/fake_log.h"
#include "gateway/feed/fake_source.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/feed/page.h"
#include "gateway/memory/testing.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/dynamic_message.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Returns the serialized request of the type `type`, such as "SubscribeRequest", that `text_proto` describes in
// protobuf text format.
grpc::ByteBuffer RequestBytes(const std::string& type, const std::string& text_proto);

// The fixture of the tests. At the end of each test, checks that the calls hold no slot and no bytes, and that no call
// waits for the source.
class EventCallTest : public ::testing::Test {
 protected:
  static constexpr size_t kMaxStreams = 2;
  static constexpr absl::Duration kHeartbeat = absl::Seconds(30);

  EventCallTest();
  ~EventCallTest() override;

  // Returns the trace to which the calls belong.
  static TraceContext Trace() {
    return TraceContext::Begin([] { return 7; });
  }

  // Replaces the policy. `grants` is the grant of the only caller, in protobuf's text format.
  // `settings` are further ones of the config, as text.
  void SetGrants(const std::string& grants, const std::string& settings = "");
  void GrantAll() { SetGrants("classes: POLICY_CLASS_EVENTS all_organizations: true"); }
  // Replaces the policy by one that grants the events of these organizations.
  void Grant(const std::string& organizations) {
    SetGrants("classes: POLICY_CLASS_EVENTS organizations: [" + organizations + "]");
  }
  void GrantNothing() { SetGrants("methods: 'PolicyService/GetPolicy' all_organizations: true"); }

  // Returns an identity that finds the caller or, if `stranger_` is an error, returns this error.
  CallIdentity Identity();
  // From now on, the gateway does not know the caller.
  void MakeStranger();
  // Ends the delay that `hold_identity_` causes, so that the call finds its caller.
  void Release();

  void Pass(absl::Duration time) {
    now_ += time;
    steady_now_ += absl::ToChronoNanoseconds(time);
  }

  // PointAt returns the point at `position`. CursorAt returns the cursor for this point.
  LogPoint PointAt(Position position) const { return {position, FakeEventLog::DigestOf(position)}; }
  std::string CursorAt(Position position) const { return EncodeCursorAt(PointAt(position)); }
  std::string EncodeCursorAt(const LogPoint& point) const;

  // Returns a page with the events of the log from position `first` to position `last`. If `last` is before `first`,
  // the page has no events, and its `through` is at `last`.
  EventPage PageOf(Position first, Position last);

  MetricRegistry registry_;
  CallMetrics call_metrics_{registry_};
  FeedMetrics feed_metrics_{registry_};
  FakeEventLog log_;
  const std::unique_ptr<const EventEncoder> encoder_ =
      *EventEncoder::Create(testing::Pool(), "Service", log_.identity(), feed_metrics_);
  StreamSlots subscriptions_{kMaxStreams, kMaxStreams, "subscriptions"};
  StreamSlots consumers_{kMaxStreams, kMaxStreams, "consumers"};
  StreamSlots body_reads_{kMaxStreams, kMaxStreams, "body reads"};
  CallerQuota queries_{{.max = kMaxStreams,
                        .max_per_caller = kMaxStreams,
                        .what = "queries",
                        .reason = v1::ERROR_REASON_TOO_MANY_SUBSCRIBERS,
                        .retry_delay = absl::Seconds(1)}};
  TestMemory memory_;
  CurrentAccess access_{nullptr};
  DiskWaits disk_waits_;
  // Returns the event names of the process's log lines. Each call of the event service writes one line when it ends.
  std::vector<std::string> lines() const {
    MutexLock lock(lines_mutex_);
    return lines_;
  }
  CallLines call_lines_;
  CallsInFlight<grpc::CallbackServerContext> in_flight_;
  const std::unique_ptr<const EventMessages> messages_ = *EventMessages::Create(testing::Pool(), "Service");
  std::atomic<bool> ending_ = false;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  // Called each time the clock is read.
  std::function<void()> on_now_ = [] {};
  std::chrono::steady_clock::time_point steady_now_{};
  FakeEventSource source_{log_};  // destroyed before the objects to which its calls refer
  ServedEventLog served_;
  EventEnvironment environment_;

  absl::Status stranger_;
  absl::Status counted_;  // the result of counting a call for its caller
  absl::Time token_end_ = absl::InfiniteFuture();
  std::chrono::steady_clock::time_point stream_end_ = std::chrono::steady_clock::time_point::max();
  bool hold_identity_ = false;
  std::atomic<int> identified_ = 0;  // how often a call has searched for its caller

 private:
  absl::StatusOr<KnownCaller> Find();

  std::optional<absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)>> held_;
  mutable Mutex lines_mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(lines_mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_TESTING_H_
