#include "gateway/store/queued_call_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/store/call_store_testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

// Decides that every attempt may begin, and then writes with the result `*written`.
class FakeBackend final : public CallBackend {
 public:
  explicit FakeBackend(std::shared_ptr<absl::Status> written) : written_(std::move(written)) {}

  uint64_t timestamp_floor_ms() const override { return 0; }
  std::optional<TimestampLease> lease() const override { return std::nullopt; }
  int64_t keys() const override { return 0; }
  absl::Status Store(const std::vector<const CallStep*>& steps, OnDecided on_decided,
                     std::vector<Answer>* answers) override {
    CallStore::Begun begun;
    begun.attempt = 1;
    answers->assign(steps.size(), begun);
    on_decided(*answers);
    if (!written_->ok()) answers->assign(steps.size(), *written_);
    return *written_;
  }
  absl::StatusOr<bool> Tidy() override { return false; }
  absl::Status Settle() override { return absl::OkStatus(); }
  absl::Status RaiseTimestamps(uint64_t) override { return absl::OkStatus(); }
  absl::Status Close(uint64_t) override { return absl::OkStatus(); }

 private:
  const std::shared_ptr<absl::Status> written_;
};

TEST(QueuedCallStoreTest, ReportsNoDecisionWhileItsLastWriteHasFailed) {
  const auto written = std::make_shared<absl::Status>();
  const std::unique_ptr<CallStore> store = MakeQueuedCallStore({}, std::make_unique<FakeBackend>(written));
  const auto begin = [&] {
    std::vector<std::string> reports;
    std::promise<void> done;
    store->Begin(
        MakeSubmit("a", 1, 2), [&] { reports.emplace_back("decided"); },
        [&](const absl::StatusOr<CallStore::Begun>& begun) {
          reports.emplace_back(begun.ok() ? "begun" : "not begun");
          done.set_value();
        });
    done.get_future().wait();
    return reports;
  };
  EXPECT_THAT(begin(), ElementsAre("decided", "begun"));
  *written = absl::ResourceExhaustedError("the disk is full");
  EXPECT_THAT(begin(), ElementsAre("decided", "not begun"));
  EXPECT_THAT(begin(), ElementsAre("not begun"));
  *written = absl::OkStatus();
  EXPECT_THAT(begin(), ElementsAre("begun"));
  EXPECT_THAT(begin(), ElementsAre("decided", "begun"));
}

}  // namespace
}  // namespace stampgate
