#include "gateway/events/log_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"

namespace stampgate {
namespace {

// A log that stores nothing. The test sets how long the log's current write has taken.
class FakeLog : public EventLog {
 public:
  void Append(VerifiedEvent, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) override {
    done(absl::UnimplementedError("fake"));
  }
  void SetOnGrowth(std::function<void(Position)>) override {}
  absl::StatusOr<std::unique_ptr<EventReader>> NewReader() override { return absl::UnimplementedError("fake"); }
  const LogIdentity& identity() const override { return identity_; }
  absl::Duration WriteUnderWay() const override { return under_way; }
  void Close() override {}

  absl::Duration under_way;

 private:
  LogIdentity identity_;
};

TEST(EventLogWatchTest, ReportsEachChangeOnce) {
  FakeLog log;
  std::vector<bool> changes;
  EventLogWatch watch(log, nullptr, [&](bool hangs) { changes.push_back(hangs); });
  for (const absl::Duration under_way : {absl::ZeroDuration(), absl::Seconds(1), kWriteHangsAfter}) {
    log.under_way = under_way;
    watch.Look();
    EXPECT_EQ(changes, std::vector<bool>());
  }
  for (const absl::Duration more : {absl::Nanoseconds(1), absl::Hours(1)}) {
    log.under_way = kWriteHangsAfter + more;
    watch.Look();
    EXPECT_EQ(changes, std::vector<bool>{true});
  }
  for (const absl::Duration under_way : {absl::Seconds(1), absl::ZeroDuration()}) {
    log.under_way = under_way;
    watch.Look();
    EXPECT_EQ(changes, (std::vector<bool>{true, false}));
  }
}

TEST(EventLogWatchTest, SetsTheMetricOfHowLongTheCurrentWriteHasTaken) {
  FakeLog log;
  Metrics metrics({}, "v");
  EventLogWatch watch(log, &metrics, [](bool) {});
  EXPECT_FALSE(absl::StrContains(metrics.Render(), "stampgate_event_log_write_seconds"));
  watch.Look();
  EXPECT_TRUE(absl::StrContains(metrics.Render(), "\nstampgate_event_log_write_seconds 0\n"));
  log.under_way = absl::Milliseconds(2500);
  watch.Look();
  EXPECT_TRUE(absl::StrContains(metrics.Render(), "\nstampgate_event_log_write_seconds 2.5\n"));
}

}  // namespace
}  // namespace stampgate
