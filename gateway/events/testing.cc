#include "gateway/events/testing.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/callers/directory.h"
#include "gateway/calls/request_message.h"
#include "translate/error.h"
#include "translate/testing/operations.h"
#include "webhooks/log/cursor.h"

namespace stampgate {

grpc::ByteBuffer RequestBytes(const std::string& type, const std::string& text_proto) {
  return EncodeResponse(*testing::MessageOf(absl::StrCat("stampgate.v1.", type), text_proto));
}

EventCallTest::EventCallTest()
    : call_lines_({.every_call = true,
                   .now = [] { return absl::UnixEpoch(); },
                   .write =
                       [this](Severity, absl::string_view event, const LogFields&) {
                         MutexLock lock(lines_mutex_);
                         lines_.emplace_back(event);
                       }}),
      served_{.source = &source_,
              .encoder = encoder_.get(),
              .subscriptions = &subscriptions_,
              .consumers = &consumers_,
              .body_reads = &body_reads_,
              .queries = &queries_,
              .identity = log_.identity()},
      environment_{.log = &served_,
                   .access = access_,
                   .recorders = {nullptr, disk_waits_, call_metrics_, &call_lines_},
                   .in_flight = in_flight_,
                   .messages = *messages_,
                   .heartbeat_interval = kHeartbeat,
                   .ending = ending_,
                   .random = [] { return 1; },
                   .now =
                       [this] {
                         on_now_();
                         return now_;
                       },
                   .steady_now = [this] { return steady_now_; }} {
  GrantAll();
}

EventCallTest::~EventCallTest() {
  EXPECT_EQ(subscriptions_.taken(), 0u);
  EXPECT_EQ(consumers_.taken(), 0u);
  EXPECT_EQ(body_reads_.taken(), 0u);
  EXPECT_EQ(queries_.taken(), 0u);
  EXPECT_EQ(memory_.held(), 0);
  EXPECT_FALSE(source_.is_busy());
}

void EventCallTest::SetGrants(const std::string& grants, const std::string& settings) {
  auto access = std::make_shared<Access>();
  access->operations = testing::SharedOperations();
  access->settings = testing::Proto<config::v1::Config>(
      absl::StrCat("callers { name: 'reader' loopback: true grants { ", grants, " } } ", settings));
  access->callers = CallerDirectory(access->settings, access->operations->set());
  access_.Set(std::move(access));
}

CallIdentity EventCallTest::Identity() {
  return {.find =
              [this](auto done) {
                if (hold_identity_) {
                  held_ = std::move(done);
                } else {
                  done(Find());
                }
              },
          .count = [this](const Caller&, const std::weak_ptr<Dismissable>&) { return counted_; },
          .stranger = [] { return "(nobody)"; },
          .holder = memory_.holder(),
          .stream_end = stream_end_};
}

void EventCallTest::MakeStranger() {
  stranger_ = ToStatus(
      GatewayError(absl::StatusCode::kUnauthenticated, v1::ERROR_REASON_CALLER_NOT_RECOGNIZED, "no such caller"));
}

void EventCallTest::Release() {
  ASSERT_TRUE(held_.has_value());
  auto done = *std::exchange(held_, std::nullopt);
  done(Find());
}

absl::StatusOr<KnownCaller> EventCallTest::Find() {
  ++identified_;
  if (!stranger_.ok()) return stranger_;
  KnownCaller caller;
  caller.access = access_.Get();
  caller.caller = caller.access->callers.Find({.plaintext_loopback = true, .spiffe_id = {}, .dns_names = {}}).front();
  caller.until = token_end_;
  return caller;
}

std::string EventCallTest::EncodeCursorAt(const LogPoint& point) const { return EncodeCursor(log_.identity(), point); }

EventPage EventCallTest::PageOf(Position first, Position last) {
  EventPage page;
  page.through = PointAt(last);
  if (last < first) return page;
  const std::unique_ptr<EventReader> reader = *log_.NewReader();
  EventReader::Limits limits;
  limits.max_events = static_cast<size_t>(last - first + 1);
  absl::StatusOr<EventReader::Batch> batch = reader->Read({first - 1}, {}, limits);
  EXPECT_TRUE(batch.ok()) << batch.status();
  for (LoggedEvent& event : batch->events) {
    page.events.push_back(std::make_shared<const EncodedEvent>(encoder_->Encode(std::move(event))));
  }
  return page;
}

}  // namespace stampgate
