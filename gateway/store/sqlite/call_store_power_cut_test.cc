// Tests the call store after power cuts and damage. The store must still know each begun attempt or report a loss, and
// no key may begin with a second body.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/disk/power_cut.h"
#include "base/disk/test_disk.h"
#include "gateway/store/call_store_testing.h"
#include "gateway/store/sqlite/sqlite_call_store.h"

namespace stampgate {
namespace {

using Begun = CallStore::Begun;
using Kind = AttemptEnd::Kind;

constexpr char kPath[] = "/calls.db";
constexpr uint64_t kNoTimestamp = ~uint64_t{0};
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// A fact that the store must not forget: an attempt began, or timestamps were raised. The fact became true when the
// disk had done `step` operations.
struct Promise {
  size_t step = 0;
  KeyedSubmit submit;  // without a key if timestamps were raised
  uint64_t timestamps_ms = 0;
  // The attempt sent nothing, so the key may get another body later.
  bool not_sent = false;
};

struct OpenedStore {
  absl::StatusOr<std::unique_ptr<CallStore>> store = absl::UnavailableError("not opened");
  int losses = 0;
};

class Stores {
 public:
  explicit Stores(bool synchronous_full) : synchronous_full_(synchronous_full) {}

  OpenedStore Open(Disk& disk) const {
    OpenedStore opened;
    SqliteCallStoreOptions options;
    options.path = kPath;
    options.disk = &disk;
    options.queue.end_delay = absl::Hours(1);
    options.queue.tidy_interval = absl::Hours(1);
    options.checkpoint_pages = 30;
    options.synchronous_full = synchronous_full_;
    options.now = [] { return kNow; };
    options.on_loss = [&opened](const absl::Status&) { ++opened.losses; };
    options.queue.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    opened.store = OpenSqliteCallStore(options);
    return opened;
  }

 private:
  const bool synchronous_full_;
};

// Begins attempts with new keys, one after the other, and ends them in different ways.
class Workload {
 public:
  explicit Workload(const Stores& stores) : stores_(stores) {}

  void Run(int sessions, int attempts) {
    for (int session = 0; session < sessions; ++session) {
      OpenedStore opened = stores_.Open(store_disk_);
      ASSERT_TRUE(opened.store.ok()) << opened.store.status();
      for (int i = 0; i < attempts; ++i) {
        Attempt(**opened.store, MakeSubmit(absl::StrCat("key-", next_++), 1, 1, 1000));
        if (i % 10 == 0) Raise(**opened.store);
      }
      image_before_close_ = disk_.image();
      (*opened.store)->Close(kNoTimestamp);
    }
  }

  const TestDisk& disk() const { return disk_; }
  const std::vector<Promise>& promises() const { return promises_; }
  // Returns the content that the disk had before the store was closed, as if the process had died.
  const DiskImage& image_before_close() const { return image_before_close_; }

 private:
  void Attempt(CallStore& store, const KeyedSubmit& submit) {
    const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
    ASSERT_TRUE(begun.ok() && begun->attempt.has_value()) << begun.status();
    promises_.push_back({.step = disk_.steps(), .submit = submit});
    switch (random_() % 5) {
      case 0:
        return store.End(*begun->attempt, Done("activity"));
      case 1:
        return store.End(*begun->attempt, Refused("REASON"));
      case 2: {
        // The key gets a second body, which replaces the first.
        store.End(*begun->attempt, NotSent());
        promises_.back().not_sent = true;
        KeyedSubmit second = submit;
        second.body_sha256.fill(2);
        second.timestamp_ms = 2000;
        const absl::StatusOr<Begun> again = BeginAndWait(store, second);
        ASSERT_TRUE(again.ok() && again->attempt.has_value()) << again.status();
        promises_.push_back({.step = disk_.steps(), .submit = second});
        return;
      }
      default:
        return;
    }
  }

  void Raise(CallStore& store) {
    timestamps_ms_ += 100;
    ASSERT_TRUE(RaiseAndWait(store, timestamps_ms_).ok());
    promises_.push_back({.step = disk_.steps(), .submit = {}, .timestamps_ms = timestamps_ms_});
  }

  const Stores& stores_;
  TestDisk disk_;
  DiskOfTest store_disk_{disk_};
  std::vector<Promise> promises_;
  DiskImage image_before_close_;
  std::mt19937_64 random_{20260401};
  int next_ = 0;
  uint64_t timestamps_ms_ = 1000;
};

struct Verdict {
  std::string problem;       // the last problem that was found
  int forgotten = 0;         // begun keys for which the store returns neither an attempt nor a record
  int losses = 0;            // losses that the store reported
  bool second_body = false;  // a key began with a second body, which is the worst fault
};

// Opens the store after a fault. Checks the last 12 of `promises`, which were made before the fault, and some earlier
// ones.
Verdict Judge(const Stores& stores, TestDisk& disk, const std::vector<Promise>& promises, std::mt19937_64& random) {
  Verdict verdict;
  DiskOfTest store_disk(disk);
  OpenedStore opened = stores.Open(store_disk);
  if (!opened.store.ok()) {
    verdict.problem = absl::StrCat("the store does not open: ", opened.store.status().ToString());
    return verdict;
  }
  verdict.losses = opened.losses;
  CallStore& store = **opened.store;
  uint64_t timestamps_ms = 0;
  for (const Promise& promise : promises) timestamps_ms = std::max(timestamps_ms, promise.timestamps_ms);
  if (store.timestamp_floor_ms() < timestamps_ms) verdict.problem = "the floor of the timestamps is too low";
  for (size_t i = promises.size(); i-- > 0;) {
    const bool recent = promises.size() - i < 12;
    if (promises[i].submit.key.empty() || (!recent && random() % 20 != 0)) continue;
    // If a key has had two bodies, the next promise belongs to the same key, and the check of that promise covers both
    // bodies.
    if (i + 1 < promises.size() && promises[i + 1].submit.key == promises[i].submit.key) continue;
    const KeyedSubmit& was = promises[i].submit;
    KeyedSubmit other = was;
    other.body_sha256.fill(77);
    other.timestamp_ms = 7700;
    KeyedSubmit first = was;
    first.body_sha256.fill(1);
    first.timestamp_ms = 1000;
    for (const KeyedSubmit& submit : {other, first}) {
      if (submit.timestamp_ms == was.timestamp_ms) continue;
      const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
      if (!begun.ok()) {
        verdict.problem = absl::StrCat("the store does not respond: ", begun.status().ToString());
      } else if (begun->attempt.has_value()) {
        // The second body may begin, because the end kNotSent was written.
        if (promises[i].not_sent) break;
        verdict.second_body = true;
        verdict.problem = absl::StrCat(was.key, " begins with a second body");
      } else if (!begun->record.has_value()) {
        ++verdict.forgotten;
        if (opened.losses == 0) verdict.problem = absl::StrCat(was.key, " is unknown, and no loss is reported");
      } else if (begun->record->request_sha256 != was.request_sha256) {
        verdict.problem = absl::StrCat(was.key, " stands for another request");
      } else if (opened.losses == 0 && !promises[i].not_sent && begun->record->timestamp_ms != was.timestamp_ms) {
        verdict.problem = absl::StrCat(was.key, " stands for another body");
      }
    }
  }
  if (opened.losses > 0 || !verdict.problem.empty()) return verdict;
  const absl::StatusOr<Begun> begun = BeginAndWait(store, MakeSubmit("after", 1, 1, 5000));
  if (!begun.ok() || !begun->attempt.has_value()) verdict.problem = "the store accepts no new key";
  return verdict;
}

std::vector<Promise> MadeUntil(const std::vector<Promise>& promises, size_t step) {
  std::vector<Promise> made;
  for (const Promise& promise : promises) {
    if (promise.step <= step) made.push_back(promise);
  }
  return made;
}

struct Result {
  int cuts = 0;
  int forgotten = 0;
  int losses = 0;
  int second_bodies = 0;
  std::vector<std::string> problems;

  void Add(absl::string_view where, const Verdict& verdict) {
    forgotten += verdict.forgotten;
    losses += verdict.losses > 0 ? 1 : 0;
    second_bodies += verdict.second_body ? 1 : 0;
    if (!verdict.problem.empty()) problems.push_back(absl::StrCat(where, ": ", verdict.problem));
  }
};

// Runs the workload once. Simulates a power cut at every `stride`th step, and opens the store after each power cut.
// After every fourth power cut, simulates a second power cut while the opened store works.
Result CutEverywhere(bool synchronous_full, size_t stride) {
  const Stores stores(synchronous_full);
  Workload workload(stores);
  workload.Run(/*sessions=*/4, /*attempts=*/30);
  const std::vector<DiskChange>& history = workload.disk().history();
  PowerCut cut({}, history);
  std::mt19937_64 random(7);
  Result result;
  for (size_t step = 0; step <= history.size(); step += stride) {
    const std::vector<Promise> promises = MadeUntil(workload.promises(), step);
    cut.MoveTo(step);
    const DiskImage image = cut.Cut(random);
    TestDisk disk(image);
    const Verdict verdict = Judge(stores, disk, promises, random);
    result.Add(absl::StrCat("cut at ", step), verdict);
    if (++result.cuts % 4 != 0) continue;
    PowerCut again(image, disk.history());
    again.MoveTo(random() % (disk.steps() + 1));
    TestDisk second_disk(again.Cut(random));
    result.Add(absl::StrCat("second power cut after the one at ", step), Judge(stores, second_disk, promises, random));
  }
  return result;
}

TEST(CallStorePowerCutTest, StoreForgetsNoBegunAttempt) {
  const Result result = CutEverywhere(/*synchronous_full=*/true, /*stride=*/2);
  EXPECT_GE(result.cuts, 500);
  EXPECT_EQ(result.forgotten, 0);
  EXPECT_EQ(result.losses, 0);
  EXPECT_EQ(result.problems, std::vector<std::string>());
}

// Negative control: without a sync at each commit, the test finds forgotten keys. The store detects the loss by its
// mark. Therefore the store begins no attempt for a forgotten key.
TEST(CallStorePowerCutTest, StoreForgetsAttemptsIfCommitsAreNotSynced) {
  const Result result = CutEverywhere(/*synchronous_full=*/false, /*stride=*/5);
  EXPECT_GT(result.forgotten, 10);
  EXPECT_GT(result.losses, 10);
  EXPECT_EQ(result.second_bodies, 0);
}

// Negative control: without the database and its mark, keys begin with a second body, and the test finds that.
TEST(CallStorePowerCutTest, KeysBeginWithASecondBodyWithoutTheDatabaseAndItsMark) {
  const Stores stores(/*synchronous_full=*/true);
  Workload workload(stores);
  workload.Run(/*sessions=*/1, /*attempts=*/5);
  DiskImage image = workload.disk().image();
  for (const char* suffix : {"", "-wal", "-mark"}) image.erase(absl::StrCat(kPath, suffix));
  TestDisk disk(image);
  std::mt19937_64 random(7);
  EXPECT_TRUE(Judge(stores, disk, workload.promises(), random).second_body);
}

// Makes many copies of the files of a store whose process died, flips one bit in each copy, and opens each copy.
Result FlipBits(const std::string& suffix, size_t stride) {
  const Stores stores(/*synchronous_full=*/true);
  Workload workload(stores);
  workload.Run(/*sessions=*/1, /*attempts=*/12);
  const DiskImage& image = workload.image_before_close();
  std::mt19937_64 random(7);
  Result result;
  const std::string name = absl::StrCat(kPath, suffix);
  for (size_t at = 0; at < image.at(name).size(); at += stride) {
    DiskImage damaged = image;
    damaged[name][at] ^= static_cast<char>(1 << random() % 8);
    TestDisk disk(damaged);
    ++result.cuts;
    result.Add(absl::StrCat("bit at ", at), Judge(stores, disk, workload.promises(), random));
  }
  return result;
}

TEST(CallStoreDamageTest, AFlippedBitIsDetectedOrHarmless) {
  const Result result = FlipBits("-wal", /*stride=*/397);
  EXPECT_GE(result.cuts, 200);
  EXPECT_GT(result.losses, 100);
  EXPECT_EQ(result.second_bodies, 0);
  EXPECT_EQ(result.problems, std::vector<std::string>());
}

}  // namespace
}  // namespace stampgate
