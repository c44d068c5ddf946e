#include "gateway/store/sqlite/restored_calls.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/store/call_store_testing.h"
#include "gateway/store/sqlite/sqlite_call_store.h"

namespace stampgate {
namespace {

using Begun = CallStore::Begun;
using Kind = AttemptEnd::Kind;
namespace fs = std::filesystem;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

uint64_t Ms(absl::Time time) { return static_cast<uint64_t>(absl::ToUnixMillis(time)); }

class RestoredCallsTest : public testing::Test {
 protected:
  RestoredCallsTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/restored-XXXXXX");
    folder_ = mkdtemp(folder.data());
    path_ = absl::StrCat(folder_, "/calls.db");
  }
  ~RestoredCallsTest() override { fs::remove_all(folder_); }

  std::unique_ptr<CallStore> Open() {
    SqliteCallStoreOptions options;
    options.path = path_;
    options.now = [this] { return now_; };
    options.queue.tidy_interval = absl::Hours(1);
    options.queue.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    options.on_loss = [this](const absl::Status&) { ++losses_; };
    absl::StatusOr<std::unique_ptr<CallStore>> store = OpenSqliteCallStore(options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  static void AttemptAndEnd(CallStore& store, const KeyedSubmit& submit, AttemptEnd end) {
    const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
    ASSERT_TRUE(begun.ok() && begun->attempt.has_value()) << begun.status();
    store.End(*begun->attempt, std::move(end));
  }

  static KeyRecord Record(CallStore& store, const KeyedSubmit& submit) {
    const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
    EXPECT_TRUE(begun.ok()) << begun.status();
    EXPECT_FALSE(begun->attempt.has_value());
    EXPECT_TRUE(begun->record.has_value());
    return begun->record.value_or(KeyRecord());
  }

  void Copy(const std::string& from, const std::string& to) {
    for (const char* suffix : {"", "-mark", "-timestamps"}) {
      fs::copy_file(from + suffix, to + suffix, fs::copy_options::overwrite_existing);
    }
  }

  absl::Time now_ = kStart;
  int losses_ = 0;
  std::string folder_;
  std::string path_;
};

// The copy includes the marks, so the store cannot detect that the copy is old.
TEST_F(RestoredCallsTest, BeginsNoAttemptThatMayRepeatALostOne) {
  std::unique_ptr<CallStore> store = Open();
  AttemptAndEnd(*store, MakeSubmit("done", 1, 2), Done("a-1"));
  AttemptAndEnd(*store, MakeSubmit("refused", 1, 2), Refused("R"));
  AttemptAndEnd(*store, MakeSubmit("not-sent", 1, 2), NotSent());
  ASSERT_EQ(RaiseAndWait(*store, Ms(kStart)), absl::OkStatus());
  store = nullptr;
  const std::string copy = absl::StrCat(folder_, "/copy");
  Copy(path_, copy);
  store = Open();
  AttemptAndEnd(*store, MakeSubmit("since", 1, 2), Done("a-2"));
  AttemptAndEnd(*store, MakeSubmit("not-sent", 1, 3), Unknown());
  AttemptAndEnd(*store, MakeSubmit("refused", 1, 2), Done("a-3"));
  store = nullptr;
  Copy(copy, path_);
  now_ += absl::Minutes(10);
  ASSERT_EQ(MarkCallsAsRestored(path_, now_), absl::OkStatus());

  for (int round = 0; round < 2; ++round) {
    store = Open();
    EXPECT_EQ(losses_, 0);
    EXPECT_EQ(store->timestamp_floor_ms(), Ms(now_ + absl::Seconds(31)));
    const absl::StatusOr<Begun> since = BeginAndWait(*store, MakeSubmit("since", 1, 9));
    ASSERT_TRUE(since.ok()) << since.status();
    EXPECT_FALSE(since->attempt.has_value() || since->record.has_value());
    EXPECT_EQ(since->unknown_until, absl::Hours(24));
    for (uint8_t body : {2, 9}) {
      EXPECT_EQ(Record(*store, MakeSubmit("done", 1, body)).outcome.kind, Kind::kDone);
      EXPECT_EQ(Record(*store, MakeSubmit("refused", 1, body)).outcome.kind, Kind::kUnknown);
      EXPECT_EQ(Record(*store, MakeSubmit("not-sent", 1, body)).outcome.kind, Kind::kUnknown);
    }
    store = nullptr;
  }
  store = Open();
  for (int half_hours = 0; half_hours < 49; ++half_hours) {
    now_ += absl::Minutes(30);
    TidyNow(*store);
  }
  for (const char* key : {"since", "done", "not-sent"}) AttemptAndEnd(*store, MakeSubmit(key, 1, 9), NotSent());
}

TEST_F(RestoredCallsTest, TimestampsContinueAtTheMarkIfItIsHigherThanTheClock) {
  std::unique_ptr<CallStore> store = Open();
  ASSERT_EQ(RaiseAndWait(*store, Ms(kStart + absl::Hours(1))), absl::OkStatus());
  store = nullptr;
  ASSERT_EQ(MarkCallsAsRestored(path_, now_), absl::OkStatus());
  EXPECT_EQ(Open()->timestamp_floor_ms(), Ms(kStart + absl::Hours(1)));
}

// The copy has no marks, or its marks are unreadable.
TEST_F(RestoredCallsTest, IgnoresMissingAndDamagedMarks) {
  Open();
  for (const bool stays : {false, true}) {
    for (const char* suffix : {"-mark", "-timestamps"}) {
      if (!stays) fs::remove(path_ + suffix);
      if (stays) std::ofstream(path_ + suffix) << std::string(9000, 'x');
    }
    ASSERT_EQ(MarkCallsAsRestored(path_, now_), absl::OkStatus());
    std::unique_ptr<CallStore> store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->timestamp_floor_ms(), Ms(kStart + absl::Seconds(31)));
    EXPECT_EQ(BeginAndWait(*store, MakeSubmit("a", 1, 2))->unknown_until, absl::Hours(24));
    EXPECT_EQ(losses_, 0);
  }
}

TEST_F(RestoredCallsTest, DoesNotChangeAStoreThatIsOpen) {
  const std::unique_ptr<CallStore> store = Open();
  const absl::Status status = MarkCallsAsRestored(path_, now_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  AttemptAndEnd(*store, MakeSubmit("a", 1, 2), NotSent());
}

TEST_F(RestoredCallsTest, DoesNotChangeAFileThatIsNoCallStore) {
  const absl::Status missing = MarkCallsAsRestored(path_, now_);
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_FALSE(fs::exists(path_));
  std::ofstream(path_) << "not a database, and longer than the header of one would be ..............................";
  const absl::Status other = MarkCallsAsRestored(path_, now_);
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);  // no lock file exists
}

}  // namespace
}  // namespace stampgate
