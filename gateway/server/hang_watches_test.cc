#include "gateway/server/hang_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/threads/wait_clock.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr absl::Duration kHangs = absl::Hours(1);

class HangWatchesTest : public ::testing::Test {
 protected:
  // Begins a call that waits for `writer`. Returns the error with which it ends, which is empty as long as it waits.
  const std::optional<absl::Status>& Wait(DiskWaits::Writer writer) {
    auto& end = ends_.emplace_back(std::make_unique<std::optional<absl::Status>>());
    waiting_.push_back(waits_.Guard<int>(
        writer, [&end = *end](absl::StatusOr<int> answer) { end = answer.status(); }, [](int) {}));
    return *end;
  }

  std::vector<std::unique_ptr<std::optional<absl::Status>>> ends_;
  DiskWaits waits_;
  std::vector<DiskWaits::Done<int>> waiting_;
  std::vector<std::pair<DiskWaits::Writer, bool>> changes_;
  MetricRegistry registry_;
  LateGauge audit_seconds_{registry_.AddGauges("audit", "Help.")};
  LateGauge store_seconds_{registry_.AddGauges("store", "Help.")};
  LateGauge quotas_failing_{registry_.AddGauges("quotas", "Help.")};
  HangWatches watches_{
      {.disk_waits = waits_,
       .quotas_failing = quotas_failing_,
       .on_hanging = [this](DiskWaits::Writer writer, bool hangs) { changes_.emplace_back(writer, hangs); }}};
};

TEST_F(HangWatchesTest, TheCallsThatWaitForADiskThatHangsEnd) {
  watches_.Add("audit", "the disk", audit_seconds_, DiskWaits::Writer::kAuditLog, [] { return kHangs; });
  watches_.Add("store", "the disk", store_seconds_, DiskWaits::Writer::kCallStore, [] { return absl::ZeroDuration(); });
  const auto& audit = Wait(DiskWaits::Writer::kAuditLog);
  const auto& store = Wait(DiskWaits::Writer::kCallStore);
  watches_.Start();
  watches_.Stop();
  EXPECT_THAT(changes_, ElementsAre(Pair(DiskWaits::Writer::kAuditLog, true)));
  EXPECT_TRUE(audit.has_value() && absl::IsUnavailable(*audit));
  EXPECT_FALSE(store.has_value());
  EXPECT_EQ(ValueOf(registry_, "audit"), "3600");
  EXPECT_EQ(ValueOf(registry_, "store"), "0");
}

TEST_F(HangWatchesTest, ADiskThatRespondsEndsNothing) {
  watches_.Add("audit", "the disk", audit_seconds_, DiskWaits::Writer::kAuditLog, [] { return kWriteHangsAfter; });
  const auto& audit = Wait(DiskWaits::Writer::kAuditLog);
  watches_.Start();
  watches_.Stop();
  EXPECT_THAT(changes_, IsEmpty());
  EXPECT_FALSE(audit.has_value());
}

TEST_F(HangWatchesTest, NoCallEndsBecauseTheStoreOfTheQuotasHangs) {
  watches_.AddQuotas([] { return kHangs; });
  const auto& store = Wait(DiskWaits::Writer::kCallStore);
  watches_.Start();
  watches_.Stop();
  EXPECT_THAT(changes_, IsEmpty());
  EXPECT_FALSE(store.has_value());
  EXPECT_EQ(ValueOf(registry_, "quotas"), "1");
}

}  // namespace
}  // namespace stampgate
