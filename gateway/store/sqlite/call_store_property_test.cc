// Compares the store with a simple model in memory, over random sequences of attempts, ends, restarts and crashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
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
using Kind = AttemptEnd::Kind;

constexpr absl::Duration kRetention = absl::Hours(24);

// The model of a key: the ends of all of its attempts.
struct ModelKey {
  KeyedSubmit submit;
  absl::Duration taken;  // when the key's submit was stored, by the model's clock
  std::map<int, std::optional<AttemptEnd>> attempts;

  bool nothing_was_sent() const {
    for (const auto& [id, end] : attempts) {
      if (!end || end->kind != Kind::kNotSent) return false;
    }
    return true;
  }

  AttemptEnd outcome(const std::vector<int>& order_of_ends) const {
    AttemptEnd outcome = NotSent();
    bool unknown = false;
    for (const auto& [id, end] : attempts) unknown |= !end || end->kind == Kind::kUnknown;
    for (int id : order_of_ends) {
      const auto found = attempts.find(id);
      if (found == attempts.end() || !found->second) continue;
      const Kind kind = found->second->kind;
      if (outcome.kind != Kind::kDone && (kind == Kind::kDone || kind == Kind::kRefused)) outcome = *found->second;
    }
    return unknown && outcome.kind != Kind::kDone ? Unknown() : outcome;
  }
};

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) { Start({}); }

  void Step() {
    switch (random_() % 40) {
      case 0:
        return Restart();
      case 1:
        return Crash();
      case 2:
      case 3:
        return Pass();
      default:
        return random_() % 5 < 3 ? Begin() : End();
    }
  }

  int attempts() const { return attempts_; }
  int records() const { return records_; }
  int changed_bodies() const { return changed_bodies_; }

 private:
  void Start(const DiskImage& image) {
    disk_ = std::make_unique<TestDisk>(image);
    OpenStore();
  }

  void OpenStore() {
    store_disk_ = std::make_unique<DiskOfTest>(*disk_);
    SqliteCallStoreOptions options;
    options.path = "/calls.db";
    options.disk = store_disk_.get();
    options.key_retention = kRetention;
    options.queue.end_delay =
        absl::Hours(1);  // so that the store writes ends only with the next attempt, as in the model
    options.queue.tidy_interval = absl::Hours(1);
    options.checkpoint_pages = 20;
    options.now = [this] { return now_; };
    options.on_loss = [](const absl::Status& status) { ADD_FAILURE() << status; };
    options.queue.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    absl::StatusOr<std::unique_ptr<CallStore>> store = OpenSqliteCallStore(options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    open_.clear();
  }

  // Closes the store, which writes queued ends, and opens it again.
  void Restart() {
    store_->Close(~uint64_t{0});
    WritePending();
    store_ = nullptr;
    OpenStore();
  }

  // Simulates the death of the process: attempts that are open, or whose ends are queued, stay open forever.
  void Crash() {
    const DiskImage image = disk_->image();
    store_ = nullptr;
    pending_.clear();
    Start(image);
  }

  void Pass() {
    const absl::Duration step = absl::Minutes(static_cast<int>(random_() % 240) - 60);
    TidyNow(*store_);
    WritePending();
    now_ += step;
    age_ += std::clamp(step, absl::ZeroDuration(), absl::Hours(1));
    TidyNow(*store_);
  }

  void WritePending() {
    for (const auto& [id, end] : pending_) {
      for (auto& [key, model] : keys_) {
        const auto found = model.attempts.find(id);
        if (found == model.attempts.end()) continue;
        found->second = end;
        ends_.push_back(id);
      }
    }
    pending_.clear();
  }

  void Begin() {
    const std::string key = absl::StrCat("key-", random_() % 12);
    const auto request = static_cast<uint8_t>(1 + random_() % 8 / 7);
    const auto body = static_cast<uint8_t>(random_() % 3);
    const KeyedSubmit submit = MakeSubmit(key, request, body, 1000 + random_() % 8 / 7);
    WritePending();
    const absl::StatusOr<Begun> begun = BeginAndWait(*store_, submit);
    TidyNow(*store_);  // so that the store writes later ends only with the next attempt
    ASSERT_TRUE(begun.ok()) << begun.status();
    ASSERT_EQ(begun->unknown_until, absl::ZeroDuration());
    ModelKey* model = Known(key);
    if (model != nullptr && !IsSame(submit, model->submit) &&
        !(submit.request_sha256 == model->submit.request_sha256 && model->nothing_was_sent())) {
      ++records_;
      ASSERT_FALSE(begun->attempt.has_value()) << key;
      ASSERT_TRUE(begun->record.has_value()) << key;
      ExpectIs(*begun->record, *model);
      return;
    }
    ASSERT_TRUE(begun->attempt.has_value()) << key;
    ASSERT_FALSE(begun->record.has_value()) << key;
    if (model == nullptr || !IsSame(submit, model->submit)) {
      changed_bodies_ += model != nullptr ? 1 : 0;
      keys_[key] = {.submit = submit, .taken = age_, .attempts = {}};
    }
    keys_[key].attempts[++attempts_] = std::nullopt;
    open_[attempts_] = *begun->attempt;
  }

  void End() {
    if (open_.empty()) return;
    const auto chosen = std::next(open_.begin(), static_cast<int>(random_() % open_.size()));
    AttemptEnd end = NotSent();
    switch (random_() % 8) {
      case 0:
        end = Unknown();
        break;
      case 1:
        end = Refused(absl::StrCat("REASON_", random_() % 100));
        break;
      case 2:
        end = Done(absl::StrCat("activity-", random_() % 100));
        break;
      default:
        break;
    }
    store_->End(chosen->second, end);
    pending_.push_back({chosen->first, end});
    open_.erase(chosen);
  }

  ModelKey* Known(const std::string& key) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return nullptr;
    if (age_ - found->second.taken <= kRetention) return &found->second;
    keys_.erase(found);
    return nullptr;
  }

  static bool IsSame(const KeyedSubmit& a, const KeyedSubmit& b) {
    return a.request_sha256 == b.request_sha256 && a.body_sha256 == b.body_sha256 && a.timestamp_ms == b.timestamp_ms;
  }

  void ExpectIs(const KeyRecord& record, const ModelKey& model) {
    const AttemptEnd outcome = model.outcome(ends_);
    EXPECT_EQ(record.request_sha256, model.submit.request_sha256);
    EXPECT_EQ(record.body_sha256, model.submit.body_sha256);
    EXPECT_EQ(record.timestamp_ms, model.submit.timestamp_ms);
    EXPECT_EQ(record.outcome.kind, outcome.kind);
    EXPECT_EQ(record.outcome.reason, outcome.reason);
    EXPECT_EQ(record.outcome.activity_id, outcome.activity_id);
  }

  std::mt19937_64 random_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  absl::Duration age_;
  std::unique_ptr<TestDisk> disk_;
  std::unique_ptr<DiskOfTest> store_disk_;
  std::unique_ptr<CallStore> store_;
  std::map<std::string, ModelKey> keys_;
  int attempts_ = 0;                                 // number of attempts so far
  std::map<int, CallStore::AttemptId> open_;         // attempts of this process that have not ended
  std::vector<std::pair<int, AttemptEnd>> pending_;  // ends that the store has not written yet
  std::vector<int> ends_;                            // attempts, in the order of their ends
  int records_ = 0;
  int changed_bodies_ = 0;
};

TEST(CallStorePropertyTest, MatchesTheModel) {
  int attempts = 0;
  int records = 0;
  int changed_bodies = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomRun run(seed);
    for (int step = 0; step < 300; ++step) {
      run.Step();
      if (testing::Test::HasFailure()) return;
    }
    attempts += run.attempts();
    records += run.records();
    changed_bodies += run.changed_bodies();
  }
  EXPECT_GT(attempts, 1000);
  EXPECT_GT(records, 1000);
  EXPECT_GT(changed_bodies, 100);
}

}  // namespace
}  // namespace stampgate
