#include "gateway/audit/log.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/threads/mutex.h"
#include "base/threads/wait_clock.h"
#include "gateway/audit/testing.h"
#include "gateway/audit/verifier.h"

namespace stampgate {
namespace {

using Call = FaultyCalls::Call;
using SteadyTime = std::chrono::steady_clock::time_point;
using Verdict = AuditReport::Verdict;
using ::testing::ElementsAre;

constexpr auto kHang = std::chrono::seconds(60);
constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kResourceExhausted = absl::StatusCode::kResourceExhausted;

AuditDecision Decision(const std::string& caller = "payments") {
  AuditDecision decision;
  decision.caller = caller;
  decision.method = "/stampgate.v1.PolicyService/GetPolicy";
  return decision;
}

AuditOutcome Outcome() {
  AuditOutcome outcome;
  outcome.code = "OK";
  return outcome;
}

// Collects callbacks that run on another thread.
class Answers {
 public:
  AuditLog::OnAllowed Next() {
    return [this](absl::StatusOr<AuditLog::AllowId> answer) {
      const MutexLock lock(mutex_);
      answers_.push_back(std::move(answer));
      changed_.WakeAll();
    };
  }
  std::vector<absl::StatusOr<AuditLog::AllowId>> Wait(size_t count) {
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (answers_.size() < count && !changed_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_GE(answers_.size(), count);
    return answers_;
  }
  size_t count() const {
    const MutexLock lock(mutex_);
    return answers_.size();
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<absl::StatusOr<AuditLog::AllowId>> answers_ ABSL_GUARDED_BY(mutex_);
};

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() : folder_(NewFolder()), path_(folder_ + "audit.log") {}
  ~AuditLogTest() override { calls_.Release(); }

  absl::Status TryOpen() {
    log_ = nullptr;
    absl::StatusOr<std::unique_ptr<AuditLog>> log = AuditLog::Open({
        .file = path_,
        .key = TestAuditKey(),
        .version = "0.1.0",
        .max_file_bytes = max_file_bytes_,
        .daily_files = daily_files_,
        .now = [this] { return absl::FromUnixMicros(now_us_); },
        .observe =
            [this](const absl::Status& status) {
              const MutexLock lock(mutex_);
              observed_.push_back(status.code());
              changed_.WakeAll();
            },
        .observe_rotation =
            [this](const absl::Status& status) {
              const MutexLock lock(mutex_);
              rotations_.push_back(status.code());
              changed_.WakeAll();
            },
        .observe_closed =
            [this](const AuditWriter::ClosedFile&) {
              const MutexLock lock(mutex_);
              ++closed_files_;
            },
        .observe_torn_end = [this](const AuditWriter::TornEnd& end) { torn_ends_.push_back(end); },
        .observe_open =
            [this](const AuditLog::OpenAllows& open) {
              const MutexLock lock(mutex_);
              open_ = open;
            },
        .steady_now = [this] { return SteadyTime(std::chrono::seconds(steady_seconds_)); },
        .retry_interval = absl::Milliseconds(1),
        .calls = &calls_,
    });
    if (!log.ok()) return log.status();
    log_ = *std::move(log);
    return absl::OkStatus();
  }
  void Open() {
    const absl::Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status;
  }

  absl::StatusOr<AuditLog::AllowId> Allow(AuditLog::Kind kind = AuditLog::Kind::kCalls) {
    Answers answers;
    log_->Allow(Decision(), answers.Next(), kind);
    return answers.Wait(1)[0];
  }

  // Polls until the condition holds.
  void WaitFor(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kHang;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::yield();
    }
  }
  void WaitForLine(const std::string& piece) {
    WaitFor([&] { return !LinesWith(path_, piece).empty(); });
  }

  void Advance(absl::Duration duration) { now_us_ += absl::ToInt64Microseconds(duration); }

  std::vector<absl::StatusCode> WaitForObserved(size_t count) {
    const MutexLock lock(mutex_);
    return WaitForCodes(observed_, count);
  }
  std::vector<absl::StatusCode> WaitForRotations(size_t count) {
    const MutexLock lock(mutex_);
    return WaitForCodes(rotations_, count);
  }
  std::vector<absl::StatusCode> WaitForCodes(const std::vector<absl::StatusCode>& codes, size_t count)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (codes.size() < count && !changed_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_GE(codes.size(), count);
    return codes;
  }

  std::vector<absl::StatusCode> observed() {
    const MutexLock lock(mutex_);
    return observed_;
  }
  std::vector<absl::StatusCode> rotations() {
    const MutexLock lock(mutex_);
    return rotations_;
  }

  AuditLog::OpenAllows open() {
    const MutexLock lock(mutex_);
    return open_;
  }

  // All files of the log, oldest first.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    DIR* folder = opendir(folder_.c_str());
    while (const dirent* entry = readdir(folder)) {
      if (absl::StartsWith(entry->d_name, "audit.log.0")) files.push_back(folder_ + entry->d_name);
    }
    closedir(folder);
    std::sort(files.begin(), files.end());
    files.push_back(path_);
    return files;
  }
  AuditReport Verify(const std::optional<AuditHead>& head = std::nullopt) const {
    return VerifyAudit(Files(), TestAuditKey(), head);
  }

  const std::string folder_;
  const std::string path_;
  int64_t max_file_bytes_ = 1 << 30;
  bool daily_files_ = false;
  std::atomic<int64_t> now_us_ = 1767323045678901;
  Mutex mutex_;
  Condition changed_;
  int closed_files_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::StatusCode> observed_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::StatusCode> rotations_ ABSL_GUARDED_BY(mutex_);
  std::vector<AuditWriter::TornEnd> torn_ends_;
  AuditLog::OpenAllows open_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> steady_seconds_ = 0;
  FaultyCalls calls_;
  std::unique_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, AnAllowIsDurableBeforeItsCallback) {
  Open();
  calls_.HoldSync();
  Answers answers;
  log_->Allow(Decision(), answers.Next());
  calls_.WaitUntilHeld();
  EXPECT_EQ(answers.count(), 0);
  EXPECT_EQ(log_->head().sequence, 1);
  calls_.Release();
  EXPECT_EQ(answers.Wait(1)[0].value(), 2);
  EXPECT_EQ(log_->head().sequence, 2);
  EXPECT_EQ(Member(LinesOf(path_)[1], "kind"), "allow");
}

TEST_F(AuditLogTest, WritesAllMembersOfAllowAndOutcome) {
  Open();
  AuditDecision decision = Decision();
  decision.organization_id = "org-1";
  decision.key = "main";
  decision.body_sha256 = "ab";
  decision.policy_version = "v7";
  Answers answers;
  log_->Allow(decision, answers.Next());
  Advance(absl::Milliseconds(3));
  AuditOutcome outcome{"OK", "", "act-1", "ACTIVITY_STATUS_COMPLETED", "sha256:ab", absl::Milliseconds(2)};
  log_->End(answers.Wait(1)[0].value(), outcome);
  log_->Close();
  const std::vector<std::string> lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 4);
  EXPECT_TRUE(absl::StartsWith(
      lines[1], R"({"seq":2,"time":"2026-01-02T03:04:05.678901Z","kind":"allow","caller":"payments",)"
                R"("method":"/stampgate.v1.PolicyService/GetPolicy","organization_id":"org-1","key":"main",)"
                R"("body_sha256":"ab","policy_version":"v7","previous_mac":")"));
  EXPECT_TRUE(absl::StartsWith(
      lines[2], R"({"seq":3,"time":"2026-01-02T03:04:05.681901Z","kind":"outcome","allow":2,"code":"OK",)"
                R"("activity_id":"act-1","activity_status":"ACTIVITY_STATUS_COMPLETED","fingerprint":"sha256:ab",)"
                R"("duration_us":2000,"previous_mac":")"));
  EXPECT_EQ(Member(lines[3], "kind"), "stop");
}

TEST_F(AuditLogTest, RecordsThatArriveTogetherShareASync) {
  Open();
  const int syncs = calls_.calls(Call::kSync);
  calls_.HoldSync();
  Answers answers;
  log_->Allow(Decision(), answers.Next());
  calls_.WaitUntilHeld();
  for (int i = 0; i < 1000; ++i) log_->Allow(Decision(), answers.Next());
  calls_.Release();
  answers.Wait(1001);
  EXPECT_EQ(calls_.calls(Call::kSync), syncs + 2);
  EXPECT_EQ(calls_.calls(Call::kWrite), 3);  // including the start record
  EXPECT_EQ(Verify().allows, 1001);
}

TEST_F(AuditLogTest, RefusesAllowsAtOnceWhileTheDiskHangs) {
  Open();
  EXPECT_EQ(log_->WriteUnderWay(), absl::ZeroDuration());
  calls_.HoldSync();
  Answers waiting;
  log_->Allow(Decision(), waiting.Next());
  calls_.WaitUntilHeld();
  steady_seconds_ += static_cast<int>(absl::ToInt64Seconds(kWriteHangsAfter));
  EXPECT_EQ(log_->WriteUnderWay(), kWriteHangsAfter);
  log_->Allow(Decision(), waiting.Next());
  EXPECT_EQ(waiting.count(), 0);
  steady_seconds_ += 1;
  EXPECT_EQ(Allow().status(), absl::UnavailableError("the audit log's disk does not answer"));
  EXPECT_EQ(Allow(AuditLog::Kind::kReads).status().code(), kUnavailable);
  calls_.Release();
  for (const auto& answer : waiting.Wait(2)) EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(Allow().ok());
  log_->Close();
  EXPECT_EQ(Verify().allows, 3);
}

TEST_F(AuditLogTest, RefusesAllowsThatCannotBeWritten) {
  Open();
  uint64_t allowed = 0;
  for (const Call call : {Call::kWrite, Call::kSync, Call::kTruncate}) {
    for (const int error : {ENOSPC, EIO, EROFS, EDQUOT}) {
      calls_.Fail(call == Call::kTruncate ? Call::kWrite : call, error);
      if (call == Call::kTruncate) calls_.Fail(call, error);
      for (int i = 0; i < 3; ++i) {
        const absl::Status status = Allow().status();
        EXPECT_EQ(status.code(), kUnavailable);
        EXPECT_TRUE(absl::StrContains(status.message(), "the audit log cannot be written")) << status;
      }
      calls_.Mend();
      const absl::StatusOr<AuditLog::AllowId> id = Allow();
      ASSERT_TRUE(id.ok()) << id.status();
      ++allowed;
      EXPECT_EQ(Verify(log_->head()).verdict, Verdict::kWhole);
      EXPECT_EQ(Verify().allows, allowed);
      log_->End(*id, Outcome());
    }
  }
  log_->Close();
  EXPECT_EQ(Verify().outcomes, allowed);
}

TEST_F(AuditLogTest, TheFileHasExactlyTheAcknowledgedAllows) {
  std::mt19937 random(3);
  constexpr Call kCalls[] = {Call::kWrite, Call::kSync, Call::kTruncate, Call::kLink, Call::kRename, Call::kOpen};
  constexpr int kErrors[] = {EIO, ENOSPC, EROFS, EINTR};
  max_file_bytes_ = 3000;
  Open();
  std::set<uint64_t> allowed;
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    calls_.Mend();
    if (random() % 2 == 0) {
      calls_.Fail(kCalls[random() % 6], kErrors[random() % 4], 1 + static_cast<int>(random() % 3),
                  1 + static_cast<int>(random() % 3));
    }
    calls_.WriteAtMost(random() % 3 == 0 ? 100 : 1 << 20);
    const absl::StatusOr<AuditLog::AllowId> id = Allow();
    if (!id.ok()) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(allowed.insert(*id).second);
    if (random() % 4 != 0) log_->End(*id, Outcome());
    if (random() % 50 == 0) {
      calls_.Mend();
      Open();
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(allowed.size(), 100);
  calls_.Mend();
  Open();
  const AuditReport report = Verify(log_->head());
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.ToString();
  EXPECT_GT(report.files.size(), 5);
  EXPECT_EQ(report.open_allows, 0);
  std::set<uint64_t> written;
  for (const std::string& file : Files()) {
    for (const std::string& line : LinesWith(file, "\"kind\":\"allow\""))
      written.insert(std::stoull(Member(line, "seq")));
  }
  EXPECT_EQ(written, allowed);
}

TEST_F(AuditLogTest, BoundsWaitingAllowsOnASlowDisk) {
  Open();
  calls_.HoldSync();
  Answers answers;
  for (size_t i = 0; i < AuditLog::kMaxWaitingAllows; ++i) log_->Allow(Decision(), answers.Next());
  EXPECT_EQ(answers.count(), 0);
  Answers refused;
  log_->Allow(Decision(), refused.Next());
  ASSERT_EQ(refused.count(), 1);
  EXPECT_EQ(refused.Wait(1)[0].status().code(), kResourceExhausted);
  calls_.Release();
  for (const auto& answer : answers.Wait(AuditLog::kMaxWaitingAllows)) EXPECT_TRUE(answer.ok());
  EXPECT_TRUE(Allow().ok());
}

TEST_F(AuditLogTest, AllowsWithoutAnOutcomeAreBounded) {
  Open();
  Answers answers;
  for (size_t i = 0; i < AuditLog::kMaxOpenAllows; ++i) {
    log_->Allow(Decision(), answers.Next());
    if (i % 1000 == 0) answers.Wait(i + 1);
  }
  const uint64_t first = answers.Wait(AuditLog::kMaxOpenAllows)[0].value();
  EXPECT_EQ(Allow().status().code(), kResourceExhausted);
  // An allow still counts as open while its outcome is only queued.
  calls_.Fail(Call::kWrite, ENOSPC);
  log_->End(first, Outcome());
  EXPECT_EQ(Allow().status().code(), kResourceExhausted);
  calls_.Mend();
  WaitForLine(absl::StrCat("\"allow\":", first, ","));
  WaitFor([this] { return Allow().ok(); });
  EXPECT_EQ(Allow().status().code(), kResourceExhausted);
}

TEST_F(AuditLogTest, OpenReadsAndOpenCallsHaveSeparateLimits) {
  constexpr AuditLog::Kind kReads = AuditLog::Kind::kReads;
  Open();
  Mutex mutex;
  std::vector<uint64_t> reads;
  const auto count = [&] {
    const MutexLock lock(mutex);
    return reads.size();
  };
  for (size_t i = 0; i < AuditLog::kMaxOpenReads; ++i) {
    log_->Allow(
        Decision(),
        [&](absl::StatusOr<AuditLog::AllowId> id) {
          const MutexLock lock(mutex);
          reads.push_back(id.value());
        },
        kReads);
    if ((i + 1) % AuditLog::kMaxWaitingAllows == 0) WaitFor([&] { return count() == i + 1; });
  }
  EXPECT_EQ(Allow(kReads).status().code(), kResourceExhausted);
  const uint64_t call = Allow().value();
  log_->End(call, Outcome());
  // The first outcome of a read makes room for one further read.
  log_->End(reads[0], Outcome());
  log_->End(reads[0], Outcome());
  WaitFor([&] { return Allow(kReads).ok(); });
  EXPECT_EQ(Allow(kReads).status().code(), kResourceExhausted);
  // Conversely, calls do not use up the limit of reads.
  Answers answers;
  for (size_t i = 0; i < AuditLog::kMaxOpenAllows; ++i) {
    log_->Allow(Decision(), answers.Next());
    if (i % 4000 == 0) answers.Wait(i + 1);
  }
  answers.Wait(AuditLog::kMaxOpenAllows);
  EXPECT_EQ(Allow().status().code(), kResourceExhausted);
  log_->End(reads[1], Outcome());
  WaitFor([&] { return Allow(kReads).ok(); });
  EXPECT_EQ(Allow().status().code(), kResourceExhausted);
}

TEST_F(AuditLogTest, QueuedReadsDoNotUseUpTheLimitOfQueuedCalls) {
  constexpr AuditLog::Kind kReads = AuditLog::Kind::kReads;
  Open();
  calls_.HoldSync();
  Answers reads;
  for (size_t i = 0; i < AuditLog::kMaxWaitingAllows; ++i) log_->Allow(Decision(), reads.Next(), kReads);
  EXPECT_EQ(reads.count(), 0);
  EXPECT_EQ(Allow(kReads).status().code(), kResourceExhausted);
  Answers calls;
  log_->Allow(Decision(), calls.Next());
  EXPECT_EQ(calls.count(), 0);
  calls_.Release();
  EXPECT_TRUE(calls.Wait(1)[0].ok());
  for (const auto& answer : reads.Wait(AuditLog::kMaxWaitingAllows)) EXPECT_TRUE(answer.ok());
}

TEST_F(AuditLogTest, TheNextStartWritesUnknownForAReadWithoutAnOutcome) {
  Open();
  const uint64_t id = Allow(AuditLog::Kind::kReads).value();
  Open();
  const std::vector<std::string> unknown = LinesWith(path_, kProcessEnded);
  ASSERT_EQ(unknown.size(), 1);
  EXPECT_EQ(Member(unknown[0], "allow"), absl::StrCat(id));
}

TEST_F(AuditLogTest, OutcomesStayQueuedUntilTheDiskWorksAgain) {
  Open();
  const uint64_t one = Allow().value();
  const uint64_t two = Allow().value();
  calls_.Fail(Call::kWrite, ENOSPC);
  log_->End(one, Outcome());
  WaitForObserved(1);
  log_->End(two, Outcome());
  EXPECT_EQ(Allow().status().code(), kUnavailable);
  EXPECT_EQ(Verify().outcomes, 0);
  calls_.Mend();
  // The log writes the outcomes without a further call.
  WaitForLine(absl::StrCat("\"allow\":", two, ","));
  EXPECT_EQ(Verify().outcomes, 2);
  EXPECT_EQ(Verify().open_allows, 0);
}

TEST_F(AuditLogTest, TheNextStartWritesUnknownForALostOutcome) {
  Open();
  const uint64_t id = Allow().value();
  calls_.Fail(Call::kWrite, EIO);
  log_->End(id, Outcome());
  log_->Close();
  calls_.Mend();
  Open();
  const std::vector<std::string> unknown = LinesWith(path_, kProcessEnded);
  ASSERT_EQ(unknown.size(), 1);
  EXPECT_EQ(Member(unknown[0], "allow"), absl::StrCat(id));
  EXPECT_EQ(Member(LinesOf(path_).back(), "closed"), "1");
}

TEST_F(AuditLogTest, TheObserverGetsTheAllowsWithoutAnOutcome) {
  const auto at = [](int seconds) { return SteadyTime(std::chrono::seconds(seconds)); };
  Open();
  EXPECT_EQ(open().calls, 0);
  steady_seconds_ = 10;
  const uint64_t one = Allow().value();
  // The observer runs before the callback of Allow.
  EXPECT_EQ(open().calls, 1);
  steady_seconds_ = 20;
  const uint64_t two = Allow().value();
  steady_seconds_ = 5;  // an old read does not make the oldest call older
  const uint64_t read = Allow(AuditLog::Kind::kReads).value();
  EXPECT_EQ(open().calls, 2);
  EXPECT_EQ(open().reads, 1);
  EXPECT_EQ(open().oldest_call, at(10));
  // Until an outcome is durable, its allow stays open.
  calls_.Fail(Call::kWrite, ENOSPC);
  log_->End(one, Outcome());
  EXPECT_FALSE(Allow().ok());
  EXPECT_EQ(open().calls, 2);
  EXPECT_EQ(open().oldest_call, at(10));
  calls_.Mend();
  WaitFor([&] { return open().calls == 1; });
  EXPECT_EQ(open().oldest_call, at(20));
  log_->End(two, Outcome());
  WaitFor([&] { return open().calls == 0; });
  EXPECT_EQ(open().oldest_call, std::nullopt);
  EXPECT_EQ(open().reads, 1);
  log_->End(read, Outcome());
  log_->End(read, Outcome());
  log_->Close();
  EXPECT_EQ(open().reads, 0);
  // After the next Open there are no open allows, because Open has written the missing outcomes.
  Open();
  ASSERT_TRUE(Allow().ok());
  Open();
  EXPECT_EQ(open().calls, 0);
}

TEST_F(AuditLogTest, OpenReportsATornEnd) {
  Open();
  ASSERT_TRUE(Allow().ok());
  log_->Close();  // record 3
  EXPECT_TRUE(torn_ends_.empty());
  WriteTestFile(path_, ReadTestFile(path_) + "torn\nend");
  // Open reports the torn end before it removes this end, even if Open cannot write a record afterwards.
  calls_.Fail(Call::kWrite, ENOSPC);
  EXPECT_EQ(TryOpen().code(), kUnavailable);
  ASSERT_EQ(torn_ends_.size(), 1);
  EXPECT_EQ(torn_ends_[0].after, 3);
  EXPECT_EQ(torn_ends_[0].bytes, 8);
}

TEST_F(AuditLogTest, TheObserverGetsEachChangeOfStateOnce) {
  Open();
  EXPECT_TRUE(Allow().ok());
  calls_.Fail(Call::kWrite, ENOSPC);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Allow().ok());
  calls_.Fail(Call::kWrite, EIO);
  EXPECT_FALSE(Allow().ok());
  calls_.Mend();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Allow().ok());
  log_->Close();
  EXPECT_THAT(observed(), ElementsAre(kUnavailable, absl::StatusCode::kOk));
}

TEST_F(AuditLogTest, AllowFailsForGoodIfTheFileIsRemoved) {
  Open();
  EXPECT_TRUE(Allow().ok());
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_EQ(Allow().status().code(), kUnavailable);
  EXPECT_EQ(Allow().status().code(), kUnavailable);
  log_->Close();
  EXPECT_THAT(observed(), ElementsAre(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(Exists(path_));
}

TEST_F(AuditLogTest, AFailedRotationIsReportedAndAllowsStillSucceed) {
  max_file_bytes_ = 1600;
  calls_.Fail(Call::kLink, EPERM);
  Open();
  for (int i = 0; i < 20; ++i) log_->End(Allow().value(), Outcome());
  EXPECT_THAT(WaitForRotations(1), ElementsAre(kUnavailable));
  EXPECT_EQ(Files().size(), 1);
  calls_.Mend();
  while (Files().size() == 1) ASSERT_TRUE(Allow().ok());
  EXPECT_THAT(WaitForRotations(2), ElementsAre(kUnavailable, absl::StatusCode::kOk));
  log_->Close();
  EXPECT_THAT(observed(), ElementsAre());
}

TEST_F(AuditLogTest, AFailedWriteIsReportedAlthoughARotationHasFailedBefore) {
  max_file_bytes_ = 1600;
  calls_.Fail(Call::kLink, EPERM);
  Open();
  for (int i = 0; i < 20; ++i) log_->End(Allow().value(), Outcome());
  EXPECT_THAT(WaitForRotations(1), ElementsAre(kUnavailable));
  calls_.Fail(Call::kWrite, ENOSPC);
  EXPECT_FALSE(Allow().ok());
  EXPECT_THAT(WaitForObserved(1), ElementsAre(kUnavailable));
  calls_.Mend();
  calls_.Fail(Call::kLink, EPERM);
  EXPECT_TRUE(Allow().ok());
  EXPECT_THAT(WaitForObserved(2), ElementsAre(kUnavailable, absl::StatusCode::kOk));
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_FALSE(Allow().ok());
  log_->Close();
  EXPECT_THAT(observed(), ElementsAre(kUnavailable, absl::StatusCode::kOk, absl::StatusCode::kDataLoss));
  EXPECT_THAT(rotations(), ElementsAre(kUnavailable));
}

TEST_F(AuditLogTest, ARotationThatMakesAllLaterWritesFailIsReportedAsAFailedWrite) {
  max_file_bytes_ = 1600;
  Open();
  calls_.Fail(Call::kSyncFolder, EIO, 2);
  for (int i = 0; i < 20; ++i) {
    if (absl::StatusOr<AuditLog::AllowId> id = Allow(); id.ok()) log_->End(*id, Outcome());
  }
  EXPECT_THAT(WaitForObserved(1), ElementsAre(absl::StatusCode::kDataLoss));
  EXPECT_EQ(Allow().status().code(), kUnavailable);
  log_->Close();
  EXPECT_THAT(observed(), ElementsAre(absl::StatusCode::kDataLoss));
  EXPECT_THAT(rotations(), ElementsAre());
}

TEST_F(AuditLogTest, ANewDayHasANewFileEvenWithoutCalls) {
  daily_files_ = true;
  Open();
  const auto closed_files = [this] {
    const MutexLock lock(mutex_);
    return closed_files_;
  };
  for (int day = 1; day <= 3; ++day) {
    Advance(absl::Hours(24));
    WaitFor([&] { return closed_files() == day; });
  }
  // Here the audit log does not wake between the new day and the call.
  Advance(absl::Hours(24));
  ASSERT_TRUE(Allow().ok());
  const std::vector<std::string> lines = LinesOf(path_);
  EXPECT_EQ(Member(lines[0], "kind"), "rotate");
  EXPECT_EQ(Member(lines[1], "kind"), "allow");
  EXPECT_EQ(Files().size(), 5);
  log_->Close();
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
  EXPECT_THAT(rotations(), ElementsAre());
}

TEST_F(AuditLogTest, DenialsBeyondTheLimitOfACallerAreCounted) {
  Open();
  for (int i = 0; i < 56; ++i) log_->Deny(Decision("strangers"));
  log_->Deny(Decision("payments"));
  WaitForLine("\"kind\":\"deny\",\"caller\":\"payments\"");
  EXPECT_EQ(Verify().denials, 7);
  EXPECT_EQ(Verify().counted_denials, 0);
  Advance(absl::Minutes(1));
  // The log writes the count without a further call.
  WaitForLine("denied_count");
  const std::string line = LinesWith(path_, "denied_count")[0];
  EXPECT_EQ(Member(line, "caller"), "strangers");
  EXPECT_EQ(Member(line, "count"), "50");
  EXPECT_EQ(Member(line, "since"), "2026-01-02T03:04:05.678901Z");
  log_->Deny(Decision("strangers"));
  log_->Close();
  EXPECT_EQ(Verify().denials, 8);
  EXPECT_EQ(Verify().counted_denials, 50);
}

TEST_F(AuditLogTest, CloseWritesTheCountsOfDenials) {
  Open();
  for (int i = 0; i < 13; ++i) log_->Deny(Decision("strangers"));
  log_->Close();
  EXPECT_EQ(Verify().denials, 6);
  EXPECT_EQ(Verify().counted_denials, 7);
  EXPECT_EQ(Member(LinesOf(path_).back(), "kind"), "stop");
}

// Returns a denial with the longest possible values.
AuditDecision LongDecision(const std::string& caller) {
  AuditDecision decision;
  for (std::string* value :
       {&decision.method, &decision.prepared_method, &decision.path, &decision.activity_type, &decision.organization_id,
        &decision.subscription, &decision.key, &decision.body_sha256, &decision.policy_version, &decision.reason}) {
    *value = std::string(5000, '"');  // JSON needs two bytes for each quote
  }
  decision.client_stamped = true;
  decision.caller = caller;
  return decision;
}

TEST_F(AuditLogTest, ADenialRecordIsNeverLongerThanItsLimit) {
  Open();
  log_->Deny(LongDecision(absl::StrCat("(", std::string(5000, '"'), ")")));
  for (int i = 0; i < 20; ++i) log_->Deny(LongDecision(std::string(5000, '"')));
  log_->Close();
  size_t longest = 0;
  for (const std::string& line : LinesOf(path_)) longest = std::max(longest, line.size() + 1);
  EXPECT_GT(longest, kAuditDenialBytes / 2);
  EXPECT_LE(longest, kAuditDenialBytes);
}

// Simulates denials of 300 unknown certificates and of one caller: 23 calls a second with the longest possible values.
TEST_F(AuditLogTest, DenialsOfADayStayWithinTheirLimitOfBytes) {
  Open();
  uint64_t strangers = 0;
  uint64_t callers = 0;
  int honest = 0;
  AuditDecision decision = LongDecision("");
  for (int second = 0; second < 24 * 60 * 60; ++second) {
    for (int i = 0; i < 20; ++i, ++strangers) {
      decision.caller = absl::StrCat("(dns:", (second + i * 15) % 300, ")");
      log_->Deny(decision);
    }
    decision.caller = "greedy";
    for (int i = 0; i < 3; ++i, ++callers) log_->Deny(decision);
    if (second % 600 == 0) {
      ASSERT_TRUE(Allow().ok());  // waits for the queue, so that it does not overflow
      log_->Deny(Decision("payments"));
      ++honest;
    }
    Advance(absl::Seconds(1));
  }
  log_->Close();
  uint64_t bytes_of_strangers = 0;
  uint64_t bytes_of_callers = 0;
  int honest_lines = 0;
  for (const std::string& line : LinesOf(path_)) {
    const std::string caller = Member(line, "caller");
    if (absl::StartsWith(caller, "(")) bytes_of_strangers += line.size() + 1;
    if (caller == "greedy") bytes_of_callers += line.size() + 1;
    if (caller == "payments" && Member(line, "kind") == "deny") ++honest_lines;
  }
  EXPECT_EQ(honest_lines, honest);
  EXPECT_LT(bytes_of_strangers, 48u << 20);
  EXPECT_LT(bytes_of_callers, 16u << 20);
  // With a record for each denial, the denials would have filled fifty times as many bytes.
  EXPECT_GT((strangers + callers) * kAuditDenialBytes / 2, 50 * (bytes_of_strangers + bytes_of_callers));
  const AuditReport report = Verify();
  EXPECT_EQ(report.denials + report.counted_denials, strangers + callers + honest);
}

TEST_F(AuditLogTest, EveryDenialIsWrittenOrCountedAlthoughTheDiskIsFull) {
  Open();
  calls_.Fail(Call::kWrite, ENOSPC);
  uint64_t denied = 0;
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 120; ++i, ++denied) log_->Deny(Decision(absl::StrCat("caller", denied % 1000)));
    for (int i = 0; i < 120; ++i, ++denied) log_->Deny(Decision("flood"));
    EXPECT_FALSE(Allow().ok());
    Advance(absl::Seconds(1));
  }
  calls_.Mend();
  log_->Close();
  const AuditReport report = Verify();
  // Each caller could get six records, but kMaxWaitingDenials limits the queue for all callers together.
  EXPECT_EQ(report.denials, AuditLog::kMaxWaitingDenials);
  EXPECT_EQ(report.denials + report.counted_denials, denied);
}

TEST_F(AuditLogTest, CloseWritesQueuedRecords) {
  Open();
  calls_.HoldSync();
  Answers answers;
  log_->Allow(Decision(), answers.Next());
  calls_.WaitUntilHeld();
  log_->Allow(Decision(), answers.Next());
  log_->Deny(Decision());
  std::thread closer([this] { log_->Close(); });
  calls_.Release();
  closer.join();
  for (const auto& answer : answers.Wait(2)) EXPECT_TRUE(answer.ok());
  EXPECT_EQ(Verify().denials, 1);
  const std::string content = ReadTestFile(path_);
  EXPECT_EQ(Allow().status().code(), kUnavailable);
  log_->Deny(Decision());
  log_->End(2, Outcome());
  log_->Close();
  EXPECT_EQ(ReadTestFile(path_), content);
  // Close has unlocked the file.
  Open();
}

TEST_F(AuditLogTest, CallbacksMayCallTheLog) {
  Open();
  std::promise<uint64_t> second;
  log_->Allow(Decision(), [&](absl::StatusOr<AuditLog::AllowId> one) {
    log_->End(one.value(), Outcome());
    log_->Deny(Decision());
    EXPECT_EQ(log_->head().sequence, *one);
    log_->Allow(Decision(), [&](absl::StatusOr<AuditLog::AllowId> two) { second.set_value(two.value()); });
  });
  std::future<uint64_t> answer = second.get_future();
  ASSERT_EQ(answer.wait_for(kHang), std::future_status::ready);
  EXPECT_EQ(answer.get(), 5);
  EXPECT_EQ(Verify().outcomes, 1);
}

TEST_F(AuditLogTest, HeadEqualsTheLastRecordInTheFile) {
  Open();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Allow().ok());
    const std::string last = LinesOf(path_).back();
    EXPECT_EQ(log_->head().ToString(), absl::StrCat(Member(last, "seq"), ":", Member(last, "mac")));
  }
}

TEST_F(AuditLogTest, RecordsOfManyThreadsFormOneChain) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 250;
  max_file_bytes_ = 64 << 10;
  Open();
  std::atomic<bool> done = false;
  std::thread looker([&] {
    uint64_t last = 0;
    while (!done) {
      const AuditHead head = log_->head();
      EXPECT_GE(head.sequence, last);
      EXPECT_EQ(head.mac_hex.size(), 64);
      last = head.sequence;
      Advance(absl::Milliseconds(1));
    }
  });
  Mutex mutex;
  std::set<uint64_t> ids;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Answers answers;
      for (int i = 0; i < kCalls; ++i) {
        log_->Deny(Decision(absl::StrCat("caller", t)));
        log_->Allow(Decision(), [&, next = answers.Next()](absl::StatusOr<AuditLog::AllowId> id) mutable {
          ASSERT_TRUE(id.ok()) << id.status();
          {
            const MutexLock lock(mutex);
            EXPECT_TRUE(ids.insert(*id).second);
          }
          log_->End(*id, Outcome());
          next(id);
        });
        if (i % 16 == 0) answers.Wait(static_cast<size_t>(i) + 1);
      }
      answers.Wait(kCalls);
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  looker.join();
  log_->Close();
  const AuditReport report = Verify(log_->head());
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.ToString();
  EXPECT_EQ(report.allows, kThreads * kCalls);
  EXPECT_EQ(report.outcomes, kThreads * kCalls);
  EXPECT_EQ(report.denials + report.counted_denials, kThreads * kCalls);
  EXPECT_GT(report.files.size(), 5);
  EXPECT_LT(calls_.calls(Call::kSync), 2 * kThreads * kCalls);
}

TEST_F(AuditLogTest, OpenRefusesAFileThatIsNotAnAuditLog) {
  WriteTestFile(path_, "not a record\n");
  const absl::Status status = TryOpen();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), absl::StrCat("audit file ", path_, ": line 1 is not an audit record"));
  EXPECT_EQ(ReadTestFile(path_), "not a record\n");
}

}  // namespace
}  // namespace stampgate
