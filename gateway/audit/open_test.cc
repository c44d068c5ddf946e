#include "gateway/audit/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <semaphore>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/secret/symmetric_key.h"
#include "gateway/audit/testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"
#include "gateway/process/log.h"

namespace stampgate {
namespace {

using ::testing::SizeIs;

// Returns a config with an audit log in a new folder.
config::v1::Config NewConfig() {
  const std::string folder = NewFolder();
  EXPECT_TRUE(GenerateSymmetricKey(folder + "key").ok());
  config::v1::Config config;
  config.mutable_audit()->set_file(folder + "audit.log");
  config.mutable_audit()->set_key_file(folder + "key");
  config.mutable_audit()->set_max_file_bytes(1 << 20);
  return config;
}

// Appends denials to an audit log that looks at its head every millisecond, until the observer has got `heads` heads.
// Returns the lines of the log that contain a head, with the last one, which is logged when the audit log is closed.
std::vector<std::string> LinesAfterHeads(int intervals_per_line, int heads) {
  const config::v1::Config config = NewConfig();
  MetricRegistry registry;
  AuditMetrics metrics(registry);
  std::counting_semaphore<> seen(0);
  Audit::Observers observers;
  observers.head = [&seen](const AuditLog::Head&) { seen.release(); };
  ::testing::internal::CaptureStderr();
  {
    auto audit = Audit::Open(config, "1", metrics, observers,
                             {.interval = absl::Milliseconds(1), .intervals_per_line = intervals_per_line});
    EXPECT_TRUE(audit.ok()) << audit.status();
    seen.acquire();  // the head of the start
    for (int i = 0; i < heads; ++i) {
      (*audit)->log().Deny({});
      seen.acquire();
    }
    EXPECT_EQ(ValueOf(registry, "stampgate_audit_failing"), "0");
    EXPECT_NE(ValueOf(registry, "stampgate_audit_file_bytes"), "none");
    EXPECT_NE(ValueOf(registry, "stampgate_audit_head_sequence"), "none");
    EXPECT_EQ(ValueOf(registry, "stampgate_audit_open_allows{kind=\"calls\"}"), "0");
  }
  EXPECT_TRUE(FlushLog(absl::Seconds(60)));
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(::testing::internal::GetCapturedStderr(), '\n')) {
    if (absl::StrContains(line, "audit_head")) lines.emplace_back(line);
  }
  return lines;
}

TEST(AuditTest, TheSpaceIsScarceBelowATenthOfTheDiskOrAGibibyte) {
  constexpr uintmax_t kGib = 1 << 30;
  const auto is_scarce = [](uintmax_t available, uintmax_t capacity, bool before = false) {
    return IsScarce({.capacity = capacity, .free = capacity, .available = available}, before);
  };
  EXPECT_FALSE(is_scarce(kGib, 100 * kGib));
  EXPECT_TRUE(is_scarce(kGib - 1, 100 * kGib));
  EXPECT_FALSE(is_scarce(1000, 10'000));
  EXPECT_TRUE(is_scarce(999, 10'000));
  EXPECT_TRUE(is_scarce(1249, 10'000, /*before=*/true));
  EXPECT_FALSE(is_scarce(1250, 10'000, /*before=*/true));
}

TEST(AuditTest, TheLogHasFewerHeadsThanTheObserver) {
  // Only the head of the start and that of the end.
  EXPECT_THAT(LinesAfterHeads(1'000'000'000, 5), SizeIs(2));
}

TEST(AuditTest, TheLogHasEachHeadThatIsTheLastOfItsIntervals) {
  // That of the end may be logged already.
  EXPECT_THAT(LinesAfterHeads(1, 5), SizeIs(::testing::Ge(6)));
}

TEST(AuditTest, AClosedLogRefusesEachCall) {
  MetricRegistry registry;
  AuditMetrics metrics(registry);
  const auto audit = Audit::Open(NewConfig(), "1", metrics, {});
  ASSERT_TRUE(audit.ok()) << audit.status();
  (*audit)->Close();
  std::promise<absl::Status> refused;
  (*audit)->log().Allow({}, [&refused](const auto& allowed) { refused.set_value(allowed.status()); });
  EXPECT_EQ(refused.get_future().get().code(), absl::StatusCode::kUnavailable);
  (*audit)->log().Deny({});
  (*audit)->Close();
}

}  // namespace
}  // namespace stampgate
