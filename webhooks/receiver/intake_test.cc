#include "webhooks/receiver/intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixMillis(1'700'000'000'000);

// An event log whose appends stay pending until the test completes them.
class FakeLog : public EventLog {
 public:
  struct Item {
    VerifiedEvent event;
    absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done;
  };

  void Append(VerifiedEvent event, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) override {
    items.push_back({std::move(event), std::move(done)});
  }
  void SetOnGrowth(std::function<void(Position)>) override {}
  absl::StatusOr<std::unique_ptr<EventReader>> NewReader() override { return absl::UnimplementedError("fake"); }
  const LogIdentity& identity() const override { return identity_; }
  absl::Duration WriteUnderWay() const override { return absl::ZeroDuration(); }
  void Close() override {}

  std::vector<Item> items;

 private:
  LogIdentity identity_;
};

// A report, and the number of responses that had been sent before it.
struct Observed {
  Intake::Report report;
  size_t answers_before = 0;
};

class IntakeTest : public testing::Test {
 protected:
  IntakeTest() { keys_.Refresh(); }

  void Take(Delivery delivery) {
    intake_.Take(std::move(delivery), [this](int http_status) { answers_.push_back(http_status); });
  }

  // Completes the pending append with this result. Returns the report.
  Intake::Report Finish(absl::StatusOr<AppendOutcome> appended) {
    EXPECT_THAT(log_.items, SizeIs(1));
    log_.items.front().done(std::move(appended));
    log_.items.clear();
    EXPECT_THAT(observed_, SizeIs(1));
    return observed_.front().report;
  }

  static KeySetCache::Options CacheOptions() {
    KeySetCache::Options options;
    options.now = [] { return kNow; };
    return options;
  }
  static Verifier::Options VerifierOptions() {
    Verifier::Options options;
    options.now = [] { return kNow; };
    return options;
  }

  const TestSender sender_;
  std::vector<int> answers_;
  std::vector<Observed> observed_;
  KeySetCache keys_{CacheOptions(), [this](auto done) { done(KeySetAnswer{sender_.KeySet(), "", {}}); }};
  Verifier verifier_{VerifierOptions(), keys_};
  FakeLog log_;
  Intake intake_{verifier_, log_, [this](const Intake::Report& report) {
                   observed_.push_back({report, answers_.size()});
                 }};
};

TEST_F(IntakeTest, RespondsOnlyAfterTheEventIsStored) {
  Take(sender_.Sign("evt_1", R"({"type":"a"})", kNow));
  ASSERT_THAT(log_.items, SizeIs(1));
  EXPECT_EQ(log_.items.front().event->event_id, "evt_1");
  EXPECT_EQ(log_.items.front().event->body, R"({"type":"a"})");
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(observed_, IsEmpty());

  const Intake::Report report = Finish(AppendOutcome::kStored);
  EXPECT_THAT(answers_, ElementsAre(200));
  EXPECT_EQ(report.http_status, 200);
  EXPECT_EQ(report.outcome, "stored");
  EXPECT_EQ(report.header, "");
  EXPECT_EQ(report.event_id, "evt_1");
  EXPECT_EQ(observed_.front().answers_before, 0u);
}

TEST_F(IntakeTest, AcknowledgesARepeatedEvent) {
  for (const auto& [outcome, name] :
       {std::pair(AppendOutcome::kDuplicate, "duplicate"), std::pair(AppendOutcome::kConflict, "conflict")}) {
    answers_.clear();
    observed_.clear();
    Take(sender_.Sign("evt_1", "{}", kNow));
    const Intake::Report report = Finish(outcome);
    EXPECT_THAT(answers_, ElementsAre(200));
    EXPECT_EQ(report.http_status, 200);
    EXPECT_EQ(report.outcome, name);
  }
}

TEST_F(IntakeTest, RespondsWith503IfTheEventCouldNotBeStored) {
  for (const absl::Status& error : {absl::ResourceExhaustedError("full"), absl::UnavailableError("closed"),
                                    absl::DataLossError("bad"), absl::InternalError("bug")}) {
    answers_.clear();
    observed_.clear();
    Take(sender_.Sign("evt_1", "{}", kNow));
    const Intake::Report report = Finish(error);
    EXPECT_THAT(answers_, ElementsAre(503));
    EXPECT_EQ(report.http_status, 503);
    EXPECT_EQ(report.outcome, "not_stored");
    EXPECT_EQ(report.event_id, "evt_1");
  }
}

TEST_F(IntakeTest, ReportsWhyADeliveryIsRejected) {
  const Delivery good = sender_.Sign("evt_1", "{}", kNow);
  Delivery unsigned_body = good;
  unsigned_body.body = "{ }";
  Delivery no_headers;
  no_headers.body = "{}";
  struct Expected {
    Delivery delivery;
    int http_status;
    const char* outcome;
    bool names_a_header;
  };
  std::vector<Expected> table;
  table.push_back({std::move(no_headers), 400, "missing_header", true});
  table.push_back({std::move(unsigned_body), 401, "invalid_signature", false});
  table.push_back({TestSender("unknown").Sign("evt_1", "{}", kNow), 503, "missing_key", false});
  table.push_back({sender_.Sign("evt_1", "{}", kNow - absl::Hours(1)), 503, "stale_timestamp", false});
  for (Expected& expected : table) {
    SCOPED_TRACE(expected.outcome);
    answers_.clear();
    observed_.clear();
    Take(std::move(expected.delivery));
    EXPECT_THAT(answers_, ElementsAre(expected.http_status));
    ASSERT_THAT(observed_, SizeIs(1));
    const Intake::Report& report = observed_.front().report;
    EXPECT_EQ(report.http_status, expected.http_status);
    EXPECT_EQ(report.outcome, expected.outcome);
    EXPECT_EQ(!report.header.empty(), expected.names_a_header);
    EXPECT_EQ(report.event_id, "") << "the event id is not verified";
    EXPECT_EQ(observed_.front().answers_before, 0u);
    EXPECT_THAT(log_.items, IsEmpty());
  }
}

TEST_F(IntakeTest, ReportsARequestThatTheReceiverRefused) {
  intake_.Refused(HttpRefusal::kTooLarge);
  ASSERT_THAT(observed_, SizeIs(1));
  const Intake::Report& report = observed_.front().report;
  EXPECT_EQ(report.http_status, 413);
  EXPECT_EQ(report.outcome, "too_large");
  EXPECT_EQ(report.header, "");
  EXPECT_EQ(report.event_id, "");
  EXPECT_EQ(report.times, std::nullopt);
}

TEST_F(IntakeTest, TimesTheVerificationAndTheStorage) {
  int readings = 0;
  std::vector<Intake::Times> times;
  Intake timed(
      verifier_, log_, [&times](const Intake::Report& report) { times.push_back(report.times.value()); },
      [&readings] { return Intake::SteadyTime(std::chrono::seconds(++readings)); });
  timed.Take(sender_.Sign("evt_1", "{}", kNow), [](int) {});
  EXPECT_EQ(readings, 2) << "the event is not stored yet";
  log_.items.front().done(AppendOutcome::kStored);
  ASSERT_THAT(times, SizeIs(1));
  EXPECT_EQ(times[0].begun, Intake::SteadyTime(std::chrono::seconds(1)));
  EXPECT_EQ(times[0].verified, Intake::SteadyTime(std::chrono::seconds(2)));
  EXPECT_EQ(times[0].stored, Intake::SteadyTime(std::chrono::seconds(3)));
}

TEST_F(IntakeTest, ARejectedDeliveryHasNoTimeOfStorage) {
  std::vector<Intake::Times> times;
  Intake timed(
      verifier_, log_, [&times](const Intake::Report& report) { times.push_back(report.times.value()); },
      [] { return Intake::SteadyTime(std::chrono::seconds(1)); });
  timed.Take({}, [](int) {});
  ASSERT_THAT(times, SizeIs(1));
  EXPECT_EQ(times[0].stored, std::nullopt);
}

TEST_F(IntakeTest, ListsAllOutcomes) {
  EXPECT_THAT(Intake::Outcomes(),
              ElementsAre("stored", "duplicate", "conflict", "not_stored", "unsupported_signature_version",
                          "unsupported_signature_algorithm", "missing_header", "duplicate_header", "malformed_header",
                          "unsupported_identifier", "missing_key", "invalid_verification_key_algorithm",
                          "invalid_signature", "stale_timestamp", "malformed_http", "unsupported_http",
                          "head_too_large", "not_found", "no_path", "method_not_allowed", "too_large", "too_slow",
                          "max_bytes_reached", "draining", "proxy_header_missing", "proxy_header_unexpected"));
}

}  // namespace
}  // namespace stampgate
