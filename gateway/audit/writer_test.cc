#include "gateway/audit/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/civil_time.h"
#include "gateway/audit/closed_files.h"
#include "gateway/audit/testing.h"
#include "gateway/audit/verifier.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Call = FaultyCalls::Call;
using Entry = AuditWriter::Entry;
using Verdict = AuditReport::Verdict;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;

const absl::Time kTime = absl::FromUnixMicros(1767323045678901);

AuditDecision By(const std::string& caller) {
  AuditDecision decision;
  decision.caller = caller;
  return decision;
}

class AuditWriterTest : public ::testing::Test {
 protected:
  AuditWriterTest() : path_(NewFolder() + "audit.log") {}

  absl::Status TryOpen(uint8_t key = 0) {
    writer_ = nullptr;
    AuditWriter::Options options;
    options.file = path_;
    options.version = "0.1.0";
    options.max_file_bytes = max_file_bytes_;
    options.daily_files = daily_files_;
    options.now = [this] { return now_; };
    options.observe_closed = [this](const AuditWriter::ClosedFile& file) { closed_.push_back(file); };
    options.calls = calls_in_use_;
    absl::StatusOr<std::unique_ptr<AuditWriter>> writer = AuditWriter::Open(options, TestAuditKey(key));
    if (!writer.ok()) return writer.status();
    writer_ = *std::move(writer);
    return absl::OkStatus();
  }
  void Open() {
    const absl::Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status;
  }

  // Writes the entry. Returns the number of its record, or 0 after an error.
  uint64_t Write(Entry entry) {
    if (!writer_->Write({&entry}).ok()) return 0;
    return entry.sequence;
  }
  uint64_t Allow() { return Write(Entry{AllowText(kTime, By("payments")), AuditKind::kAllow}); }
  uint64_t End(uint64_t allow) {
    AuditOutcome outcome;
    outcome.code = "OK";
    return Write(Entry{OutcomeText(kTime, allow, outcome), AuditKind::kOutcome, allow});
  }

  AuditReport Verify(std::vector<std::string> files = {}) {
    if (files.empty()) files = {path_};
    return VerifyAudit(files, TestAuditKey(), AuditHead{writer_->head().sequence, MacHex(writer_->head().mac)});
  }
  std::string OldFile(int first) const {
    return absl::StrCat(path_, ".", std::string(20 - absl::StrCat(first).size(), '0'), first);
  }

  const std::string path_;
  int64_t max_file_bytes_ = 1 << 30;
  bool daily_files_ = false;
  absl::Time now_ = kTime;
  FaultyCalls calls_;
  FileCalls* calls_in_use_ = &calls_;
  std::vector<AuditWriter::ClosedFile> closed_;
  std::unique_ptr<AuditWriter> writer_;
};

TEST_F(AuditWriterTest, OpenBeginsANewChain) {
  Open();
  EXPECT_EQ(Allow(), 2);
  EXPECT_EQ(End(2), 3);
  EXPECT_EQ(writer_->open(), 0);
  const std::vector<std::string> lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 3);
  // This line is the same as in chain_test.cc.
  EXPECT_EQ(lines[0],
            R"({"seq":1,"time":"2026-01-02T03:04:05.678901Z","kind":"start","format":2,"version":"0.1.0","closed":0,)"
            R"("mac":"b99890ce3257da971191b14e083459de3aca5ecd77dd930043489dd1003bdddb"})");
  EXPECT_EQ(Member(lines[1], "kind"), "allow");
  EXPECT_EQ(Member(lines[2], "allow"), "2");
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
}

TEST_F(AuditWriterTest, OnlyTheOwnerOfTheFileHasPermissions) {
  Open();
  struct stat file;
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600);
}

TEST_F(AuditWriterTest, OnlyOneProcessCanOpenTheFile) {
  Open();
  std::unique_ptr<AuditWriter> first = std::move(writer_);
  EXPECT_EQ(TryOpen().code(), absl::StatusCode::kFailedPrecondition);
  first = nullptr;
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(AuditWriterTest, OpenContinuesTheChainAtTheEndOfTheFile) {
  Open();
  ASSERT_EQ(Allow(), 2);
  ASSERT_EQ(End(2), 3);
  Open();
  EXPECT_EQ(writer_->head().sequence, 4);
  EXPECT_EQ(Member(LinesOf(path_)[3], "kind"), "start");
  EXPECT_EQ(Allow(), 5);
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
}

TEST_F(AuditWriterTest, AStartWritesOutcomesForOpenAllows) {
  Open();
  for (int i = 0; i < 4; ++i) Allow();  // records 2 to 5
  End(3);
  Open();
  const std::vector<std::string> unknown = LinesWith(path_, kProcessEnded);
  ASSERT_EQ(unknown.size(), 3);
  EXPECT_EQ(Member(unknown[0], "allow"), "2");
  EXPECT_EQ(Member(unknown[1], "allow"), "4");
  EXPECT_EQ(Member(unknown[2], "allow"), "5");
  EXPECT_EQ(Member(unknown[2], "code"), "UNKNOWN");
  EXPECT_EQ(Member(LinesOf(path_).back(), "closed"), "3");
  EXPECT_EQ(writer_->open(), 0);
  // The next start does not write these outcomes again.
  Open();
  EXPECT_EQ(LinesWith(path_, kProcessEnded).size(), 3);
  const AuditReport report = Verify();
  EXPECT_EQ(report.verdict, Verdict::kWhole);
  EXPECT_EQ(report.unknown_outcomes, 3);
  EXPECT_EQ(report.open_allows, 0);
}

TEST_F(AuditWriterTest, AnOutcomeIsWrittenOnce) {
  Open();
  Allow();
  EXPECT_EQ(End(7), 0);
  EXPECT_EQ(End(1), 0);
  EXPECT_EQ(End(2), 3);
  EXPECT_EQ(End(2), 0);
  Allow();  // 4
  Entry one{"\"time\":\"\",\"kind\":\"outcome\",\"allow\":4", AuditKind::kOutcome, 4};
  Entry two = one;
  ASSERT_TRUE(writer_->Write({&one, &two}).ok());
  EXPECT_EQ(one.sequence, 5);
  EXPECT_EQ(two.sequence, 0);
  EXPECT_EQ(LinesOf(path_).size(), 5);
}

TEST_F(AuditWriterTest, ATornRecordIsRemovedAndReported) {
  Open();
  Allow();
  Allow();
  writer_ = nullptr;
  const std::string whole = ReadTestFile(path_);
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (size_t size = last + 1; size < whole.size(); ++size) {
    WriteTestFile(path_, whole.substr(0, size));
    const absl::Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << size << " " << status;
    const std::vector<std::string> lines = LinesOf(path_);
    ASSERT_EQ(lines.size(), 5);
    EXPECT_EQ(Member(lines[2], "kind"), "torn");
    EXPECT_EQ(Member(lines[2], "bytes"), absl::StrCat(size - last));
    EXPECT_EQ(Member(lines[3], "allow"), "2");
    EXPECT_EQ(Member(lines[4], "kind"), "start");
    EXPECT_EQ(Verify().verdict, Verdict::kWhole);
  }
  // The file contains nothing except a torn first record.
  WriteTestFile(path_, whole.substr(0, 20));
  Open();
  EXPECT_EQ(Member(LinesOf(path_)[0], "kind"), "torn");
  EXPECT_EQ(Member(LinesOf(path_)[0], "seq"), "1");
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
}

TEST_F(AuditWriterTest, ALongLastLineWithoutALineFeedIsATornEnd) {
  Open();
  writer_ = nullptr;
  const std::string whole = ReadTestFile(path_);
  WriteTestFile(path_, whole + std::string(1 << 20, '\0'));
  Open();
  EXPECT_EQ(Member(LinesOf(path_)[1], "bytes"), "1048576");
}

TEST_F(AuditWriterTest, RefusesAChangeBeforeTheLastGroup) {
  Open();
  Allow();
  End(2);
  writer_ = nullptr;
  const std::string whole = ReadTestFile(path_);
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (size_t i = 0; i < last; ++i) {
    for (const char change : {'\x01', '\x20'}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      WriteTestFile(path_, changed);
      const absl::Status status = TryOpen();
      ASSERT_EQ(status.code(), kDataLoss) << i;
      const auto line = 1 + std::count(whole.begin(), whole.begin() + static_cast<int64_t>(i), '\n');
      EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat(path_, ": line ", line, " "))) << status;
      EXPECT_EQ(ReadTestFile(path_), changed);
    }
  }
}

TEST_F(AuditWriterTest, RefusesMovedLines) {
  Open();
  Allow();
  End(2);
  Allow();
  writer_ = nullptr;
  const std::vector<std::string> lines = LinesOf(path_);
  for (const std::vector<int>& order : std::vector<std::vector<int>>{
           {0, 2, 3}, {0, 2, 1, 3}, {0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 0, 1, 2, 3}, {0, 1, 1, 2, 3}, {3}}) {
    std::string content;
    for (const int line : order) absl::StrAppend(&content, lines[line], "\n");
    WriteTestFile(path_, content);
    EXPECT_EQ(TryOpen().code(), kDataLoss) << absl::StrJoin(order, " ");
  }
  WriteTestFile(path_, absl::StrCat(lines[0], "\n\n", lines[1], "\n", lines[2], "\n"));
  EXPECT_EQ(TryOpen().code(), kDataLoss);
  for (const char* feed : {"\n", ""}) {
    WriteTestFile(path_, absl::StrCat(lines[0], "\n", std::string(1 << 20, 'x'), feed, lines[1], feed, lines[2], feed));
    EXPECT_EQ(TryOpen().code(), kDataLoss);
  }
  WriteTestFile(path_, absl::StrJoin(lines, "\r\n"));
  EXPECT_EQ(TryOpen().code(), kDataLoss);
}

TEST_F(AuditWriterTest, RefusesAnotherKey) {
  Open();
  EXPECT_EQ(TryOpen(1).code(), kDataLoss);
}

TEST_F(AuditWriterTest, EveryFailureWhileOpeningIsReported) {
  Open();
  Allow();
  writer_ = nullptr;
  const std::string before = ReadTestFile(path_);
  for (const Call call : {Call::kOpen, Call::kWrite, Call::kTruncate, Call::kSync, Call::kDropPages}) {
    for (const int error : {EIO, ENOSPC, EROFS}) {
      for (int nth = 1; nth <= 3; ++nth) {
        WriteTestFile(path_, before);
        calls_.Fail(call, error, nth);
        const absl::Status status = TryOpen();
        calls_.Mend();
        if (status.ok()) continue;  // the operation has no nth call
        EXPECT_EQ(status.code(), kUnavailable) << status;
        EXPECT_TRUE(absl::StrContains(status.message(), path_)) << status;
        ASSERT_TRUE(TryOpen().ok());
        EXPECT_EQ(Verify().verdict, Verdict::kWhole);
      }
    }
  }
}

TEST_F(AuditWriterTest, TheFirstRecordOfAGroupHasTheMacOfTheRecordBefore) {
  Open();
  Entry one{AllowText(kTime, By("payments")), AuditKind::kAllow};
  Entry left_out{OutcomeText(kTime, 77, AuditOutcome()), AuditKind::kOutcome, 77};
  Entry two = one;
  ASSERT_TRUE(writer_->Write({&left_out, &one, &two}).ok());
  ASSERT_EQ(Allow(), 4);
  Open();  // 5 to 7 are outcomes
  const std::vector<std::string> lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 8);
  for (const size_t i : {0, 2, 5, 6, 7}) EXPECT_EQ(Member(lines[i], "previous_mac"), "") << i;
  for (const size_t i : {1, 3, 4}) EXPECT_EQ(Member(lines[i], "previous_mac"), Member(lines[i - 1], "mac")) << i;
}

// Tests with a file of format 1, which an older program wrote.
class AuditFileOfFormat1Test : public AuditWriterTest {
 protected:
  void Add(const std::string& members) { chain_.AppendLine(members, &position_, text_); }

  void SetUp() override {
    Add(R"("time":"2026-01-02T03:04:05.678901Z","kind":"start","format":1,"version":"0.1.0","closed":0)");
    Add(AllowText(kTime, By("payments")));
    Add(AllowText(kTime, By("payments")));
    WriteTestFile(path_, text_);
  }

  AuditChain chain_ = AuditChain::Create(TestAuditKey()).value();
  AuditPosition position_;
  std::string text_;
};

TEST_F(AuditFileOfFormat1Test, OpenContinuesAFileOfFormat1) {
  Open();
  EXPECT_EQ(Member(LinesOf(path_).back(), "closed"), "2");
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
  // The records that the gateway appends to this file mark the beginnings of groups.
  Allow();
  writer_ = nullptr;
  WriteTestFile(path_, ReadTestFile(path_) + "nonsense\nand more\n");
  Open();
  EXPECT_EQ(Member(LinesWith(path_, "\"torn\"").at(0), "bytes"), "18");
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
}

TEST_F(AuditFileOfFormat1Test, OnlyALastLineWithoutALineFeedIsATornEnd) {
  for (size_t i = 0; i < text_.size() - 1; ++i) {
    std::string changed = text_;
    changed[i] ^= 1;
    WriteTestFile(path_, changed);
    ASSERT_EQ(TryOpen().code(), kDataLoss) << i;
  }
  WriteTestFile(path_, text_ + "nonsense\n");
  EXPECT_EQ(TryOpen().code(), kDataLoss);
  WriteTestFile(path_, text_ + "nonsense");
  Open();
  EXPECT_EQ(Member(LinesOf(path_)[3], "bytes"), "8");
}

TEST_F(AuditFileOfFormat1Test, AChangeBeforeAGroupOfFormat2IsRefused) {
  Open();
  writer_ = nullptr;
  const std::string whole = ReadTestFile(path_);
  for (size_t i = 0; i < text_.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    WriteTestFile(path_, changed);
    ASSERT_EQ(TryOpen().code(), kDataLoss) << i;
  }
}

TEST_F(AuditWriterTest, ARecordOfANewerProgramIsNotRemoved) {
  Open();
  AuditPosition position = writer_->head();
  writer_ = nullptr;
  AuditChain chain = AuditChain::Create(TestAuditKey()).value();
  std::string text = ReadTestFile(path_);
  chain.AppendLine(R"("time":"2026-01-02T03:04:05.678901Z","kind":"newer")", &position, text);
  WriteTestFile(path_, text);
  const absl::Status status = TryOpen();
  EXPECT_EQ(status.code(), kDataLoss);
  EXPECT_TRUE(absl::StrContains(status.message(), "a newer stampgate has possibly written it")) << status;
  EXPECT_EQ(ReadTestFile(path_), text);
}

TEST_F(AuditWriterTest, AFailedGroupChangesNothing) {
  Open();
  EXPECT_EQ(Allow(), 2);
  const AuditPosition head = writer_->head();
  calls_.Fail(Call::kSync, EIO, 1, 1);
  EXPECT_EQ(Allow(), 0);
  calls_.Fail(Call::kWrite, ENOSPC, 1, 1);
  EXPECT_EQ(End(2), 0);
  EXPECT_EQ(writer_->head(), head);
  EXPECT_EQ(writer_->open(), 1);
  EXPECT_EQ(End(2), 3);
  EXPECT_EQ(Allow(), 4);
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
  EXPECT_EQ(Verify().allows, 2);
}

TEST_F(AuditWriterTest, AFileThatIsTooLargeIsFollowedByANewFile) {
  max_file_bytes_ = 1000;
  Open();
  std::vector<std::string> files;
  const uint64_t kept_open = Allow();
  for (int i = 0; i < 100; ++i) {
    End(Allow());
    const uint64_t first = writer_->head().sequence + 1;
    const bool large = ReadTestFile(path_).size() > 1000;
    const std::string old_file = OldFile(std::stoi(Member(LinesOf(path_)[0], "seq")));
    ASSERT_TRUE(writer_->StartAnewIfDue().ok());
    EXPECT_EQ(Exists(old_file), large);
    if (!large) continue;
    files.push_back(old_file);
    const std::vector<std::string> lines = LinesOf(path_);
    EXPECT_EQ(Member(lines[0], "kind"), "rotate");
    EXPECT_EQ(Member(lines[0], "seq"), absl::StrCat(first));
    EXPECT_EQ(Member(lines[0], "previous_mac"), Member(LinesOf(files.back()).back(), "mac"));
    EXPECT_TRUE(absl::StrContains(lines[1], absl::StrCat("\"allows\":[", kept_open, "]"))) << lines[1];
  }
  EXPECT_GT(files.size(), 10);
  files.push_back(path_);
  AuditReport report = Verify(files);
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.ToString();
  EXPECT_EQ(report.allows, 101);
  EXPECT_EQ(report.outcomes, 100);
  EXPECT_EQ(report.open_allows, 1);
  // Each file can be checked by itself, because its first records list the open allows.
  EXPECT_EQ(Verify().verdict, Verdict::kIncomplete);
  EXPECT_EQ(Verify().open_allows, 1);
  // The current file names an open allow of an earlier file. So the next start writes the outcome of this allow.
  Open();
  EXPECT_EQ(Member(LinesWith(path_, kProcessEnded).at(0), "allow"), absl::StrCat(kept_open));
  EXPECT_EQ(Verify(files).open_allows, 0);
}

TEST_F(AuditWriterTest, ANewFileListsManyOpenAllows) {
  max_file_bytes_ = 1000;
  Open();
  constexpr size_t kMany = 2500;
  std::vector<Entry> entries(kMany, Entry{AllowText(kTime, By("payments")), AuditKind::kAllow});
  std::vector<Entry*> group;
  for (Entry& entry : entries) group.push_back(&entry);
  ASSERT_TRUE(writer_->Write(group).ok());
  ASSERT_TRUE(writer_->StartAnewIfDue().ok());
  EXPECT_EQ(LinesOf(path_).size(), 4);
  EXPECT_EQ(Member(LinesOf(path_)[0], "open"), "2500");
  EXPECT_EQ(Verify().open_allows, kMany);
  max_file_bytes_ = 1 << 30;
  Open();
  EXPECT_EQ(Member(LinesOf(path_).back(), "closed"), "2500");
}

TEST_F(AuditWriterTest, AProcessThatDiesDuringARotationLeavesNoGap) {
  // The process dies in the middle of a rotation: the old file has its second name, but the new file has not replaced
  // it yet.
  max_file_bytes_ = 100;
  Open();
  Allow();
  calls_.Fail(Call::kRename, EIO);
  EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable);
  calls_.Mend();
  EXPECT_FALSE(Exists(OldFile(1))) << "it would change later";
  WriteTestFile(path_ + ".next", "half of it");
  Open();
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
  ASSERT_TRUE(writer_->StartAnewIfDue().ok());
  EXPECT_EQ(Verify({OldFile(1), path_}).verdict, Verdict::kWhole);
}

TEST_F(AuditWriterTest, AFailedRotationLeavesTheCurrentFileInUse) {
  max_file_bytes_ = 1600;
  Open();
  while (ReadTestFile(path_).size() <= 1600) End(Allow());
  calls_.Fail(Call::kLink, EPERM);
  EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable);
  const int links = calls_.calls(Call::kLink);
  // Until the file has grown, StartAnewIfDue only returns the same error again.
  EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable);
  EXPECT_EQ(calls_.calls(Call::kLink), links);
  End(Allow());
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
  calls_.Mend();
  EXPECT_TRUE(writer_->StartAnewIfDue().ok());
  EXPECT_EQ(LinesOf(path_).size(), 1);
}

TEST_F(AuditWriterTest, OpenRefusesAMissingFileIfClosedFilesExist) {
  max_file_bytes_ = 100;
  Open();
  Allow();
  ASSERT_TRUE(writer_->StartAnewIfDue().ok());
  writer_ = nullptr;
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_EQ(TryOpen().code(), kDataLoss);
  EXPECT_EQ(TryOpen().code(), kDataLoss);
  // A file with another name is not a closed file.
  ASSERT_EQ(rename(OldFile(1).c_str(), (path_ + ".1").c_str()), 0);
  EXPECT_TRUE(TryOpen().ok());
}

// Version 0.1.0 gave a file its name as a closed file before it replaced the file.
TEST_F(AuditWriterTest, ACurrentFileLosesTheNameOfAClosedFile) {
  Open();
  Allow();
  ASSERT_EQ(link(path_.c_str(), OldFile(1).c_str()), 0);
  Open();
  EXPECT_FALSE(Exists(OldFile(1)));
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
}

TEST_F(AuditWriterTest, ANameThatAnotherFileHasStopsTheRotation) {
  max_file_bytes_ = 100;
  Open();
  Allow();
  WriteTestFile(OldFile(1), "precious");
  EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable);
  EXPECT_EQ(ReadTestFile(OldFile(1)), "precious");
  Allow();
  EXPECT_EQ(Verify().verdict, Verdict::kWhole);
}

// Calls that end the process before one of them.
class DyingCalls : public FileCalls {
 public:
  int left = 1 << 30;  // how many calls are made before the process ends

  int Open(const std::string& path, int flags) override { return Live(), FileCalls::Open(path, flags); }
  ssize_t Write(int fd, const char* data, size_t size) override { return Live(), FileCalls::Write(fd, data, size); }
  int Sync(int fd) override { return Live(), FileCalls::Sync(fd); }
  int Link(const std::string& from, const std::string& to) override { return Live(), FileCalls::Link(from, to); }
  int Rename(const std::string& from, const std::string& to) override { return Live(), FileCalls::Rename(from, to); }
  int Unlink(const std::string& path) override { return Live(), FileCalls::Unlink(path); }
  int SyncFolderOf(const std::string& path) override { return Live(), FileCalls::SyncFolderOf(path); }

 private:
  void Live() {
    if (left-- == 0) _exit(0);
  }
};

class DailyAuditFilesTest : public AuditWriterTest {
 protected:
  DailyAuditFilesTest() { daily_files_ = true; }

  std::string Day(int first, const std::string& date) const { return absl::StrCat(OldFile(first), ".", date); }
  std::vector<std::string> Closed() const { return FindClosedAuditFiles(path_).value(); }
  AuditReport VerifyLog(AuditFiles files = AuditFiles::kAll) const {
    return VerifyAuditLog(path_, TestAuditKey(), std::nullopt, std::nullopt, files);
  }
  void StartAnewIfDue() {
    const absl::Status status = writer_->StartAnewIfDue();
    ASSERT_TRUE(status.ok()) << status;
  }
};

TEST_F(DailyAuditFilesTest, ADayHasItsOwnFile) {
  now_ = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 23, 59, 59), absl::UTCTimeZone());
  Open();
  const uint64_t allow = Allow();
  StartAnewIfDue();
  EXPECT_THAT(Closed(), IsEmpty());
  now_ += absl::Seconds(1);
  const AuditPosition end = writer_->head();
  StartAnewIfDue();
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02")));
  ASSERT_EQ(closed_.size(), 1);
  EXPECT_EQ(closed_[0].path, Day(1, "2026-01-02"));
  EXPECT_EQ(closed_[0].head.ToString(), absl::StrCat(end.sequence, ":", MacHex(end.mac)));
  End(allow);
  StartAnewIfDue();
  EXPECT_EQ(Closed().size(), 1);
  EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
  EXPECT_EQ(VerifyLog().open_allows, 0);
}

TEST_F(DailyAuditFilesTest, DaysWithoutAnyProcessHaveNoFile) {
  Open();
  now_ += absl::Hours(24 * 30);
  Open();
  StartAnewIfDue();
  StartAnewIfDue();
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02")));
  EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
}

TEST_F(DailyAuditFilesTest, ALargeDayHasSeveralFiles) {
  max_file_bytes_ = 1000;
  Open();
  while (Closed().size() < 2) {
    Allow();
    StartAnewIfDue();
  }
  now_ += absl::Hours(24);
  StartAnewIfDue();
  EXPECT_EQ(Closed().size(), 3);
  for (const std::string& file : Closed()) EXPECT_TRUE(absl::EndsWith(file, ".2026-01-02")) << file;
  EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
}

TEST_F(DailyAuditFilesTest, ASmallStepBackAtMidnightMakesNoFile) {
  Open();
  now_ = absl::FromCivil(absl::CivilDay(2026, 1, 3), absl::UTCTimeZone());
  StartAnewIfDue();
  now_ -= absl::Minutes(59);
  Allow();
  StartAnewIfDue();
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02")));
}

TEST_F(DailyAuditFilesTest, AWrongClockMakesOneFileAndChangesNoEarlierOne) {
  Open();
  const absl::Time right = now_;
  now_ += absl::Hours(24 * 365);
  for (int i = 0; i < 3; ++i) {
    StartAnewIfDue();
    Allow();
  }
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02")));
  const std::string first = ReadTestFile(Closed()[0]);
  now_ = right;
  for (int i = 0; i < 3; ++i) {
    StartAnewIfDue();
    Allow();
  }
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02"), Day(2, "2027-01-02")));
  now_ += absl::Hours(24);
  StartAnewIfDue();
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02"), Day(2, "2027-01-02"), Day(6, "2026-01-02")));
  EXPECT_EQ(ReadTestFile(Closed()[0]), first);
  EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
}

TEST_F(DailyAuditFilesTest, AFileWithoutItsNameIsVerifiedAndGetsTheNameLater) {
  Open();
  Allow();
  now_ += absl::Hours(24);
  calls_.Fail(Call::kLink, EDQUOT, 2);
  EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable);
  EXPECT_THAT(Closed(), IsEmpty());
  EXPECT_THAT(closed_, IsEmpty());
  EXPECT_EQ(Member(LinesOf(path_)[0], "kind"), "rotate");
  EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
  EXPECT_EQ(VerifyLog().records, writer_->head().sequence);
  calls_.Mend();
  now_ += absl::Seconds(59);
  EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable) << "it waits for a minute";
  now_ += absl::Seconds(1);
  StartAnewIfDue();
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02")));
  EXPECT_EQ(closed_.size(), 1);
  EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
}

TEST_F(DailyAuditFilesTest, AFileKeepsBothNamesUntilTheFolderIsSynced) {
  Open();
  for (const Call call : {Call::kSyncFolder, Call::kUnlink}) {
    now_ += absl::Hours(24);
    closed_.clear();
    calls_.Fail(call, EIO, call == Call::kSyncFolder ? 3 : 2, 1);
    EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable);
    const std::vector<AuditFileNames> both = FindClosingAuditFiles(path_).value();
    ASSERT_EQ(both.size(), 1);
    EXPECT_TRUE(Exists(both[0].closed));
    EXPECT_THAT(closed_, IsEmpty()) << "a power cut can still remove its name";
    EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
    now_ += absl::Minutes(1);
    StartAnewIfDue();
    EXPECT_THAT(FindClosingAuditFiles(path_).value(), IsEmpty());
    EXPECT_EQ(closed_.size(), 1);
    EXPECT_EQ(VerifyLog().verdict, Verdict::kWhole);
  }
}

TEST_F(DailyAuditFilesTest, AStartSyncsTheFolderBeforeItCompletesARotation) {
  Open();
  now_ += absl::Hours(24);
  calls_.Fail(Call::kLink, EIO, 2);
  EXPECT_EQ(writer_->StartAnewIfDue().code(), kUnavailable);
  calls_.Mend();
  calls_.Fail(Call::kSyncFolder, EIO, 1, 1);
  EXPECT_EQ(TryOpen().code(), kUnavailable);
  EXPECT_THAT(Closed(), IsEmpty());
  Open();
  EXPECT_THAT(Closed(), ElementsAre(Day(1, "2026-01-02")));
}

// The process ends before each of the system calls of a rotation.
TEST_F(DailyAuditFilesTest, AProcessThatDiesInARotationLeavesAWholeLogAndOnlyFinishedFiles) {
  int deaths = 0;
  int unnamed = 0;  // how often the process ended before a replaced file had its name
  for (bool died = true; died; ++deaths) {
    closed_.clear();
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path_).parent_path())) {
      std::filesystem::remove(entry);
    }
    now_ = kTime;
    DyingCalls dying;
    calls_in_use_ = &dying;
    const pid_t child = fork();
    if (child == 0) {
      if (!TryOpen().ok() || Allow() == 0) _exit(2);
      now_ += absl::Hours(24);
      dying.left = deaths;
      _exit(writer_->StartAnewIfDue().ok() ? 1 : 3);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
    died = WEXITSTATUS(status) == 0;
    calls_in_use_ = &calls_;
    SCOPED_TRACE(absl::StrCat("after ", deaths, " calls"));

    const AuditReport left = VerifyLog();
    EXPECT_EQ(left.verdict, Verdict::kWhole) << left.ToString();
    EXPECT_EQ(left.allows, 1);
    std::vector<std::string> shipped;  // what a shipper copies now
    for (const std::string& file : Closed()) shipped.push_back(ReadTestFile(file));
    if (Closed().empty() && Member(LinesOf(path_)[0], "kind") == "rotate") ++unnamed;

    Open();
    now_ += absl::Hours(24);
    StartAnewIfDue();
    Allow();
    const AuditReport later = VerifyLog();
    EXPECT_EQ(later.verdict, Verdict::kWhole) << later.ToString();
    EXPECT_EQ(later.allows, 2);
    EXPECT_EQ(VerifyLog(AuditFiles::kClosed).verdict, Verdict::kWhole);
    EXPECT_FALSE(Closed().empty());
    for (size_t i = 0; i < shipped.size(); ++i) EXPECT_EQ(ReadTestFile(Closed()[i]), shipped[i]);
    EXPECT_THAT(FindClosingAuditFiles(path_).value(), IsEmpty());
    writer_ = nullptr;
  }
  EXPECT_EQ(deaths, 12);
  EXPECT_GT(unnamed, 0);
}

TEST_F(AuditWriterTest, OpenRefusesFoldersAndLinks) {
  ASSERT_EQ(symlink("/dev/null", path_.c_str()), 0);
  EXPECT_EQ(TryOpen().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_FALSE(TryOpen().ok());
  ASSERT_EQ(rmdir(path_.c_str()), 0);
}

}  // namespace
}  // namespace stampgate
