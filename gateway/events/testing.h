// What the tests of the event calls share: an environment, a caller whose grants the test sets, and a clock.
#ifndef STAMPGATE_GATEWAY_EVENTS_TESTING_H_
#define STAMPGATE_GATEWAY_EVENTS_TESTING_H_

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/events/encoder.h"
#include "gateway/events/environment.h"
#include "gateway/events/fake_log.h"
#include "gateway/events/fake_source.h"
#include "gateway/events/identity.h"
#include "gateway/events/page.h"
#include "gateway/events/stream_slots.h"
#include "google/protobuf/message.h"
#include "translate/message_plan.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The bytes of a request of EventService.
grpc::ByteBuffer BytesOf(const google::protobuf::Message& request);

// Fails the test if the call takes a slot of a stream and does not give it back.
class EventCallTest : public ::testing::Test {
 protected:
  static constexpr size_t kMaxStreams = 2;
  static constexpr absl::Duration kHeartbeat = absl::Seconds(30);

  EventCallTest();
  ~EventCallTest() override;

  // The policy from now on: in text format, the grants of the one caller.
  void SetGrants(const std::string& grants);
  void GrantAll() { SetGrants("classes: POLICY_CLASS_EVENTS all_organizations: true"); }
  // Grants the events of these organizations.
  void Grant(const std::string& organizations) {
    SetGrants("classes: POLICY_CLASS_EVENTS organizations: [" + organizations + "]");
  }
  void GrantNothing() { SetGrants("methods: 'PolicyService/GetPolicy' all_organizations: true"); }

  // Shows the caller, or `stranger_` if it is not OK.
  CallIdentity Identity();
  // The gateway does not know the caller from now on.
  void MakeStranger();
  // Finds the caller that was not found because of `hold_identity_`.
  void Release();

  void Pass(absl::Duration time) {
    now_ += time;
    steady_now_ += absl::ToChronoNanoseconds(time);
  }

  // The place at `position`, and its cursor.
  EventPlace PlaceAt(Position position) const { return {position, FakeEventLog::DigestOf(position)}; }
  std::string CursorAt(Position position) const { return EncodeCursorAt(PlaceAt(position)); }
  std::string EncodeCursorAt(const EventPlace& place) const;

  // The page of the log's events from `first` to `last`; empty if `last` is before `first`, with `through` there.
  EventPage PageOf(Position first, Position last);

  FakeEventLog log_;
  const std::unique_ptr<const EventEncoder> encoder_ = *EventEncoder::Create("Service", log_.identity());
  StreamSlots subscriptions_{kMaxStreams, "subscriptions"};
  StreamSlots body_reads_{kMaxStreams, "body reads"};
  CurrentAccess access_{nullptr};
  DiskWaits disk_waits_;
  // The events of the log's lines: each call writes one when it ends.
  std::vector<std::string> lines() const {
    std::lock_guard lock(lines_mutex_);
    return lines_;
  }
  CallLines call_lines_;
  CallsInFlight<grpc::CallbackServerContext> in_flight_;
  MessagePlans plans_{"Service"};
  std::atomic<bool> ending_ = false;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  // Called each time the clock is read.
  std::function<void()> on_now_ = [] {};
  std::chrono::steady_clock::time_point steady_now_{};
  FakeEventSource source_{log_};  // destroyed before what its calls refer to
  EventEnvironment environment_;

  absl::Status stranger_;
  absl::Time token_end_ = absl::InfiniteFuture();
  bool hold_identity_ = false;
  std::atomic<int> identified_ = 0;  // how often the caller was found, or not

 private:
  absl::StatusOr<KnownCaller> Find();

  std::optional<absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)>> held_;
  mutable std::mutex lines_mutex_;
  std::vector<std::string> lines_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_TESTING_H_
