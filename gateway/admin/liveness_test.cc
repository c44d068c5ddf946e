#include "gateway/admin/liveness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "base/threads/mutex.h"

namespace stampgate {
namespace {

constexpr std::chrono::seconds kHang(60);

// A check that counts its runs. The test sets the result of the check.
class Checks {
 public:
  absl::Status Run() {
    MutexLock lock(mutex_);
    ++count_;
    changed_.WakeAll();
    return status_;
  }
  void Say(absl::Status status) {
    MutexLock lock(mutex_);
    status_ = std::move(status);
  }
  // Waits until two checks have ended. The second of them began after this call.
  void WaitForTwo() {
    MutexLock lock(mutex_);
    const int before = count_;
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (count_ < before + 2 && !changed_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_GE(count_, before + 2);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(LivenessTest, AnswersWith503BeforeStart) {
  const Liveness liveness;
  EXPECT_EQ(liveness.Answer().http_status, 503);
  EXPECT_EQ(liveness.Answer().body, "the gateway is starting\n");
}

TEST(LivenessTest, StartRunsTheFirstCheck) {
  Liveness good;
  good.Start([] { return absl::OkStatus(); }, absl::Hours(1));
  EXPECT_EQ(good.Answer().http_status, 200);
  Liveness bad;
  bad.Start([] { return absl::UnavailableError("no answer"); }, absl::Hours(1));
  EXPECT_EQ(bad.Answer().http_status, 503);
  EXPECT_EQ(bad.Answer().body, "no answer\n");
}

TEST(LivenessTest, RepeatsTheCheck) {
  Checks checks;
  Liveness liveness;
  liveness.Start([&] { return checks.Run(); }, absl::Milliseconds(1));
  EXPECT_EQ(liveness.Answer().http_status, 200);
  checks.Say(absl::UnavailableError("stuck"));
  checks.WaitForTwo();
  EXPECT_EQ(liveness.Answer().body, "stuck\n");
  checks.Say(absl::OkStatus());
  checks.WaitForTwo();
  EXPECT_EQ(liveness.Answer().http_status, 200);
}

TEST(LivenessTest, AnswersWith503IfACheckDoesNotEnd) {
  Liveness::Clock::time_point now{};
  Liveness liveness([&now] { return now; });
  liveness.Start([] { return absl::OkStatus(); }, absl::Hours(1));
  now += Liveness::kMaxSilence;
  EXPECT_EQ(liveness.Answer().http_status, 200);
  now += std::chrono::milliseconds(1);
  EXPECT_EQ(liveness.Answer().http_status, 503);
  EXPECT_EQ(liveness.Answer().body, "the check of the gRPC port has not ended in time\n");
}

TEST(LivenessTest, AnswersWith200DuringADrain) {
  Liveness liveness;
  liveness.Start([] { return absl::UnavailableError("closed"); }, absl::Milliseconds(1));
  liveness.Drain();
  EXPECT_EQ(liveness.Answer().http_status, 200);
  EXPECT_EQ(liveness.Answer().body, "draining\n");
}

}  // namespace
}  // namespace stampgate
