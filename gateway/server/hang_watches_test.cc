#include "gateway/server/hang_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/threads/wait_clock.h"

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
  std::vector<std::pair<DurableWrite, bool>> changes_;
  HangWatches watches_{{.disk_waits = waits_,
                        .on_hanging = [this](DurableWrite write, bool hangs) { changes_.emplace_back(write, hangs); }}};
};

TEST_F(HangWatchesTest, TheCallsThatWaitForADiskThatHangsEnd) {
  watches_.Add("audit", "the disk", DurableWrite::kDecision, DiskWaits::Writer::kAuditLog, [] { return kHangs; });
  watches_.Add("store", "the disk", DurableWrite::kIdempotencyKey, DiskWaits::Writer::kCallStore,
               [] { return absl::ZeroDuration(); });
  const auto& audit = Wait(DiskWaits::Writer::kAuditLog);
  const auto& store = Wait(DiskWaits::Writer::kCallStore);
  watches_.Start();
  watches_.Stop();
  EXPECT_THAT(changes_, ElementsAre(Pair(DurableWrite::kDecision, true)));
  EXPECT_TRUE(audit.has_value() && absl::IsUnavailable(*audit));
  EXPECT_FALSE(store.has_value());
}

TEST_F(HangWatchesTest, ADiskThatRespondsEndsNothing) {
  watches_.Add("audit", "the disk", DurableWrite::kDecision, DiskWaits::Writer::kAuditLog,
               [] { return kWriteHangsAfter; });
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
}

}  // namespace
}  // namespace stampgate
