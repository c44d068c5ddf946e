// Tests the call store on disks that become full or fail. Afterwards, the store must still know each begun attempt, and
// no key may have begun with two bodies.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/disk/test_disk.h"
#include "gateway/store/call_store_testing.h"
#include "gateway/store/sqlite/sqlite_call_store.h"

namespace stampgate {
namespace {

using Begun = CallStore::Begun;

constexpr absl::StatusCode kFull = absl::StatusCode::kResourceExhausted;
constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// Begins attempts, and remembers which submits began.
class Caller {
 public:
  explicit Caller(TestDisk& disk) : store_disk_(disk) {}

  absl::Status Open() {
    store_ = nullptr;
    SqliteCallStoreOptions options;
    options.path = "/calls.db";
    options.disk = &store_disk_;
    options.queue.end_delay = absl::Hours(1);
    options.queue.tidy_interval = absl::Hours(1);
    options.checkpoint_pages = 20;
    options.now = [] { return kNow; };
    options.on_loss = [](const absl::Status& status) { ADD_FAILURE() << status; };
    options.queue.on_fatal = [this](const absl::Status& status) {
      ++fatal_;
      EXPECT_EQ(status.code(), kGone) << status;
    };
    options.queue.observe = [this](const CallStoreState& state) { failing_ = !state.failure.ok(); };
    absl::StatusOr<std::unique_ptr<CallStore>> store = OpenSqliteCallStore(options);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
    return absl::OkStatus();
  }

  void Close() { store_->Close(~uint64_t{0}); }
  CallStore& store() { return *store_; }
  DiskOfTest& store_disk() { return store_disk_; }
  int fatal() const { return fatal_; }
  bool failing() const { return failing_; }
  size_t begun() const { return begun_.size(); }

  // Begins two submits with the same new key, one after the other. If an attempt of the first submit begins, ends this
  // attempt as kNotSent.
  std::vector<absl::Status> Send() {
    std::vector<absl::Status> answers;
    const std::string key = absl::StrCat("key-", ++sent_);
    for (uint8_t body : {1, 2}) {
      const KeyedSubmit submit = MakeSubmit(key, 1, body, uint64_t{1000} * body);
      const absl::StatusOr<Begun> begun = BeginAndWait(*store_, submit);
      answers.push_back(begun.status());
      if (!begun.ok()) continue;
      if (begun->attempt.has_value()) begun_[key] = submit;
      if (begun->attempt.has_value() && body == 1) store_->End(*begun->attempt, NotSent());
    }
    return answers;
  }

  // Expects that each key still belongs to the submit that began, and that no other submit can begin with the same key.
  void ExpectNothingLost() {
    for (const auto& [key, submit] : begun_) {
      // The first body (timestamp 1000) was not sent, so the second may have replaced it.
      if (submit.timestamp_ms == 1000) continue;
      const absl::StatusOr<Begun> begun = BeginAndWait(*store_, MakeSubmit(key, 1, 3, 3000));
      ASSERT_TRUE(begun.ok()) << begun.status();
      ASSERT_TRUE(begun->record.has_value()) << key;
      EXPECT_EQ(begun->record->timestamp_ms, submit.timestamp_ms) << key;
    }
  }

 private:
  DiskOfTest store_disk_;
  std::atomic<int> fatal_ = 0;
  std::atomic<bool> failing_ = false;
  int sent_ = 0;
  std::map<std::string, KeyedSubmit> begun_;
  std::unique_ptr<CallStore> store_;
};

// For each n, the disk becomes full at the nth write of a run. If n is odd, writes that do not make a file larger still
// succeed.
TEST(CallStoreOnAFullDiskTest, RefusesSubmitsForgetsNoneAndAcceptsThemAfterwards) {
  int refused = 0;
  int failures = 0;
  for (int n = 1; n <= 250; ++n) {
    SCOPED_TRACE(absl::StrCat("disk full at write ", n));
    TestDisk disk;
    Caller caller(disk);
    ASSERT_EQ(caller.Open(), absl::OkStatus());
    disk.FillAtWrite(n, /*everywhere=*/n % 2 == 0);
    for (int i = 0; i < 20; ++i) {
      for (const absl::Status& answer : caller.Send()) {
        if (answer.ok()) continue;
        EXPECT_EQ(answer.code(), kFull) << answer;
        ++refused;
      }
    }
    failures += disk.failures();
    caller.ExpectNothingLost();
    disk.MakeRoom();
    for (const absl::Status& answer : caller.Send()) EXPECT_EQ(answer, absl::OkStatus());
    TidyNow(caller.store());
    EXPECT_FALSE(caller.failing());
    caller.ExpectNothingLost();
    ASSERT_EQ(caller.Open(), absl::OkStatus());
    caller.ExpectNothingLost();
    EXPECT_EQ(caller.fatal(), 0);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(failures, 500);
}

TEST(CallStoreOnAFullDiskTest, TimestampsCanBeRaisedWithinTheExistingFile) {
  TestDisk disk;
  Caller caller(disk);
  ASSERT_EQ(caller.Open(), absl::OkStatus());
  disk.FillAtWrite(1, /*everywhere=*/false);
  for (uint64_t ms = 1; ms <= 10; ++ms) EXPECT_EQ(RaiseAndWait(caller.store(), ms * 1000), absl::OkStatus());
  ASSERT_EQ(caller.Open(), absl::OkStatus());
  EXPECT_EQ(caller.store().timestamp_floor_ms(), 10'000u);
}

TEST(CallStoreOnAFullDiskTest, TimestampsCannotBeRaisedUntilThereIsSpace) {
  TestDisk disk;
  Caller caller(disk);
  ASSERT_EQ(caller.Open(), absl::OkStatus());
  ASSERT_EQ(RaiseAndWait(caller.store(), 1000), absl::OkStatus());
  disk.FillAtWrite(1, /*everywhere=*/true);
  EXPECT_EQ(RaiseAndWait(caller.store(), 2000).code(), kFull);
  EXPECT_EQ(RaiseAndWait(caller.store(), 3000).code(), kFull);
  disk.MakeRoom();
  EXPECT_EQ(RaiseAndWait(caller.store(), 4000), absl::OkStatus());
  EXPECT_EQ(caller.fatal(), 0);
}

// For each n, makes the nth write or sync of a run fail. The next store opens the files with the content that they had
// in the page cache.
void FailEach(int last, void (*fail)(TestDisk& disk, int n)) {
  int failed = 0;
  for (int n = 1; n <= last; ++n) {
    SCOPED_TRACE(absl::StrCat("failure ", n));
    TestDisk disk;
    Caller caller(disk);
    ASSERT_EQ(caller.Open(), absl::OkStatus());
    fail(disk, n);
    bool gone = false;
    for (int i = 0; i < 12; ++i) {
      for (const absl::Status& answer : caller.Send()) {
        gone |= !answer.ok();
        EXPECT_EQ(answer.code(), gone ? kGone : absl::StatusCode::kOk) << answer;
      }
    }
    if (gone) {
      EXPECT_EQ(RaiseAndWait(caller.store(), 5000).code(), kGone);
    }
    caller.Close();
    EXPECT_EQ(caller.fatal(), disk.failures());
    failed += disk.failures();
    disk.Restart();
    ASSERT_EQ(caller.Open(), absl::OkStatus());
    caller.ExpectNothingLost();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failed, last / 2);
}

TEST(CallStoreOnADiskThatFailsTest, BeginsNothingAfterAFailedSync) {
  FailEach(60, [](TestDisk& disk, int n) { disk.FailSync(n, static_cast<uint64_t>(n)); });
}

TEST(CallStoreOnADiskThatFailsTest, BeginsNothingAfterAFailedWrite) {
  FailEach(150, [](TestDisk& disk, int n) { disk.FailWrite(n); });
}

TEST(CallStoreOnADiskThatFailsTest, AFailedSyncOfTimestampsReportsOneFatalError) {
  TestDisk disk;
  Caller caller(disk);
  ASSERT_EQ(caller.Open(), absl::OkStatus());
  disk.FailSync(1);
  EXPECT_EQ(RaiseAndWait(caller.store(), 5000).code(), kGone);
  EXPECT_EQ(BeginAndWait(caller.store(), MakeSubmit("a", 1, 1)).status().code(), kGone);
  caller.Close();
  EXPECT_EQ(caller.fatal(), 1);
}

// An earlier process can have left file content that is only in the page cache.
TEST(CallStoreOnADiskThatFailsTest, SettlesEachFileBeforeReadingIt) {
  TestDisk disk;
  Caller caller(disk);
  ASSERT_EQ(caller.Open(), absl::OkStatus());
  const std::set<std::string> settled = caller.store_disk().settled();
  for (const auto& [name, content] : disk.image()) EXPECT_TRUE(settled.contains(name)) << name;
  EXPECT_EQ(settled.size(), 4u);
}

TEST(CallStoreOnADiskThatFailsTest, DoesNotOpenIfSettlingAFileFails) {
  for (const char* suffix : {"", "-wal", "-mark", "-timestamps"}) {
    TestDisk disk;
    Caller caller(disk);
    ASSERT_EQ(caller.Open(), absl::OkStatus());
    caller.store_disk().DoNotSettle(absl::StrCat("/calls.db", suffix));
    EXPECT_EQ(caller.Open().code(), kGone) << suffix;
  }
}

}  // namespace
}  // namespace stampgate
