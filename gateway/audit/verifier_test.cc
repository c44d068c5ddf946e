#include "gateway/audit/verifier.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/audit/file.h"
#include "gateway/audit/record.h"
#include "gateway/audit/testing.h"
#include "gateway/audit/writer.h"

namespace stampgate {
namespace {

using Verdict = AuditReport::Verdict;

const absl::Time kTime = absl::FromUnixMicros(1767323045678901);

AuditDecision By(const std::string& caller) {
  AuditDecision decision;
  decision.caller = caller;
  return decision;
}

AuditOutcome Of(const std::string& code, const std::string& reason = "") {
  AuditOutcome outcome;
  outcome.code = code;
  outcome.reason = reason;
  return outcome;
}

// The fixture has two files of one log, which the tests write themselves.
class AuditVerifierTest : public ::testing::Test {
 protected:
  AuditVerifierTest() : folder_(NewFolder()), old_(folder_ + "audit.log.1"), new_(folder_ + "audit.log") {
    Add(old_text_, StartText(kTime, "0.1.0", 0));                                            // 1
    Add(old_text_, AllowText(kTime, By("payments")));                                        // 2
    Add(old_text_, DenyText(kTime, By("strangers")));                                        // 3
    Add(old_text_, AllowText(kTime, By("payments")));                                        // 4
    Add(old_text_, OutcomeText(kTime, 2, Of("OK")));                                         // 5
    Add(new_text_, RotateText(kTime, "0.1.0", 1));                                           // 6
    Add(new_text_, StillOpenText(kTime, {4}));                                               // 7
    Add(new_text_, DeniedCountText(kTime, "strangers", 40, kTime));                          // 8
    Add(new_text_, AllowText(kTime, By("payments")));                                        // 9
    Add(new_text_, OutcomeText(kTime + absl::Seconds(1), 4, Of("UNKNOWN", kProcessEnded)));  // 10
    WriteTestFile(old_, old_text_);
    WriteTestFile(new_, new_text_);
  }

  // Each record is its own group.
  void Add(std::string& file, const std::string& text) {
    const bool first = position_.sequence == 0;
    chain_.AppendLine(first ? text : FirstOfGroup(text, MacHex(position_.mac)), &position_, file);
    heads_.push_back(AuditHead{position_.sequence, MacHex(position_.mac)});
  }

  AuditReport Verify(const std::vector<std::string>& files, const std::optional<AuditHead>& head = std::nullopt) {
    return VerifyAudit(files, TestAuditKey(), head);
  }
  AuditReport VerifyFrom(const std::vector<std::string>& files, const AuditHead& from) {
    return VerifyAudit(files, TestAuditKey(), std::nullopt, from);
  }
  AuditReport VerifyBoth(const std::optional<AuditHead>& head = std::nullopt) { return Verify({old_, new_}, head); }

  AuditChain chain_ = AuditChain::Create(TestAuditKey()).value();
  AuditPosition position_;
  std::vector<AuditHead> heads_;  // record n is at n - 1
  const std::string folder_;
  const std::string old_;
  const std::string new_;
  std::string old_text_;
  std::string new_text_;
};

TEST_F(AuditVerifierTest, TheReportOfAWholeLogCountsItsRecords) {
  const AuditReport report = VerifyBoth();
  EXPECT_EQ(report.verdict, Verdict::kWhole);
  EXPECT_EQ(report.ExitStatus(), 0);
  EXPECT_EQ(report.ToString(),
            absl::StrCat(old_, ": records 1 to 5\n", new_, ": records 6 to 10\n",
                         "allowed 3, denied 41 (40 only counted), outcomes 2 (1 unknown, because the process ended), "
                         "without outcome 1\n"
                         "from 2026-01-02T03:04:05.678901Z to 2026-01-02T03:04:06.678901Z\n"
                         "head ",
                         heads_.back().ToString(), "\n",
                         "ok: nothing is missing, but only --head shows whether records are missing at the end\n"));
  EXPECT_TRUE(absl::EndsWith(VerifyBoth(heads_.back()).ToString(), "ok: nothing is missing up to the given head\n"));
}

TEST_F(AuditVerifierTest, ALogWithoutItsFirstFileIsIncomplete) {
  for (const auto& head : {std::optional<AuditHead>(), std::optional(heads_.back())}) {
    const AuditReport report = Verify({new_}, head);
    EXPECT_EQ(report.verdict, Verdict::kIncomplete);
    EXPECT_EQ(report.ExitStatus(), 4);
    EXPECT_EQ(report.open_allows, 1);
    EXPECT_TRUE(absl::EndsWith(report.ToString(), "\nINCOMPLETE: records 1 to 5 are missing\n")) << report.ToString();
  }
  // The report names a torn end too.
  WriteTestFile(new_, new_text_.substr(0, new_text_.size() - 1));
  const AuditReport torn = Verify({new_});
  EXPECT_EQ(torn.verdict, Verdict::kIncomplete);
  EXPECT_TRUE(absl::StartsWith(torn.reason, absl::StrCat("records 1 to 5 are missing; ", new_, ": line 5 ")))
      << torn.reason;
}

TEST_F(AuditVerifierTest, ALogWithoutItsFirstFileIsWholeIfFromIsTheRecordBefore) {
  const AuditReport report = VerifyFrom({new_}, heads_[4]);
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.reason;
  EXPECT_TRUE(absl::EndsWith(report.ToString(),
                             "ok: nothing is missing after the given start, but only --head shows whether records are "
                             "missing at the end\n"));
  EXPECT_TRUE(absl::EndsWith(VerifyAudit({new_}, TestAuditKey(), heads_.back(), heads_[4]).ToString(),
                             "ok: nothing is missing after the given start up to the given head\n"));
  // Verification accepts files that still contain archived records.
  for (const AuditHead& from : heads_) EXPECT_EQ(VerifyFrom({old_, new_}, from).verdict, Verdict::kWhole);
  for (size_t i = 5; i < heads_.size(); ++i) EXPECT_EQ(VerifyFrom({new_}, heads_[i]).verdict, Verdict::kWhole);
}

TEST_F(AuditVerifierTest, AFromThatDoesNotMatchTheFilesIsReported) {
  const AuditReport early = VerifyFrom({new_}, heads_[2]);
  EXPECT_EQ(early.ExitStatus(), 4);
  EXPECT_EQ(early.reason, "records 4 to 5 are missing");
  for (size_t i = 4; i < heads_.size(); ++i) {
    AuditHead other = heads_[i];
    other.mac_hex = heads_[0].mac_hex;
    for (const std::vector<std::string>& files : {std::vector{new_}, std::vector{old_, new_}}) {
      const AuditReport report = VerifyFrom(files, other);
      EXPECT_EQ(report.ExitStatus(), 1);
      EXPECT_EQ(report.reason, absl::StrCat("record ", i + 1, " does not have the MAC of the given start"));
    }
  }
  EXPECT_EQ(VerifyFrom({old_}, heads_[7]).reason, "the given start is record 8, but the files end with record 5");
  EXPECT_EQ(VerifyFrom({old_}, heads_[7]).ExitStatus(), 1);
}

TEST_F(AuditVerifierTest, EveryFlippedBitIsDetected) {
  const std::string whole = new_text_;
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;  // a crash may have damaged the last group
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      WriteTestFile(new_, changed);
      const AuditReport report = VerifyBoth();
      ASSERT_EQ(report.verdict, i >= last ? Verdict::kTorn : Verdict::kBroken) << i << " " << bit;
      ASSERT_NE(report.ExitStatus(), 0);
      const auto line = 1 + std::count(whole.begin(), whole.begin() + static_cast<int64_t>(i), '\n');
      ASSERT_TRUE(absl::StartsWith(report.reason, absl::StrCat(new_, ": line ", line, " "))) << i << report.reason;
    }
  }
}

TEST_F(AuditVerifierTest, EveryTruncatedLogIsTornOrRevealedByTheHead) {
  for (size_t size = 0; size < new_text_.size(); ++size) {
    WriteTestFile(new_, new_text_.substr(0, size));
    const AuditReport report = VerifyBoth();
    const bool between = size > 0 && new_text_[size - 1] == '\n';
    // If the first record of the last file has lost only its line feed, this record still proves that the file before
    // it was on the disk. Therefore the verdict is kBroken.
    const bool broken = size == 0 || size == new_text_.find('\n');
    const Verdict expected = broken ? Verdict::kBroken : between ? Verdict::kWhole : Verdict::kTorn;
    ASSERT_EQ(report.verdict, expected) << size;
    ASSERT_EQ(report.ExitStatus(), broken ? 1 : between ? 0 : 3);
    ASSERT_EQ(VerifyBoth(heads_.back()).verdict, Verdict::kBroken);
    ASSERT_EQ(VerifyBoth(heads_.back()).ExitStatus(), 1);
    // The files still contain the record of an earlier head.
    ASSERT_EQ(VerifyBoth(heads_[4]).verdict, expected);
  }
}

TEST_F(AuditVerifierTest, ATruncatedClosedFileIsBrokenAndNotTorn) {
  for (size_t size = 0; size < old_text_.size(); ++size) {
    WriteTestFile(old_, old_text_.substr(0, size));
    ASSERT_EQ(VerifyBoth().verdict, Verdict::kBroken) << size;
  }
}

TEST_F(AuditVerifierTest, ADamagedClosedFileIsBrokenAndNotTorn) {
  const size_t last = old_text_.rfind('\n', old_text_.size() - 2) + 1;
  for (size_t i = last; i < old_text_.size(); ++i) {
    std::string changed = old_text_;
    changed[i] ^= 1;
    WriteTestFile(old_, changed);
    ASSERT_EQ(VerifyBoth().verdict, Verdict::kBroken) << i;
    ASSERT_EQ(Verify({old_}).verdict, Verdict::kTorn) << i;
  }
}

TEST_F(AuditVerifierTest, AGapBetweenFilesIsDetected) {
  for (const std::vector<std::string>& files :
       std::vector<std::vector<std::string>>{{new_, old_}, {old_, old_}, {old_, new_, new_}}) {
    const AuditReport report = Verify(files);
    EXPECT_EQ(report.verdict, Verdict::kBroken);
    EXPECT_TRUE(absl::StrContains(report.reason, "line 1 continues record")) << report.reason;
  }
}

TEST_F(AuditVerifierTest, AnotherLogOfTheSameKeyIsRejected) {
  // Verifies another log, which has the same number of records but other content.
  AuditPosition position;
  std::string other;
  for (int i = 0; i < 5; ++i) chain_.AppendLine(StartText(kTime, "0.2.0", 0), &position, other);
  WriteTestFile(old_, other);
  const AuditReport report = VerifyBoth();
  EXPECT_EQ(report.verdict, Verdict::kBroken);
  EXPECT_TRUE(absl::StrContains(report.reason, "which has another MAC")) << report.reason;
  EXPECT_EQ(Verify({old_}, heads_[3]).verdict, Verdict::kBroken);
  EXPECT_TRUE(absl::StrContains(Verify({old_}, heads_[3]).reason, "does not have the MAC of the given head"));
}

TEST_F(AuditVerifierTest, TheFirstRecordOfAFileMustBeRecord1OrRotate) {
  const size_t second = old_text_.find('\n') + 1;
  WriteTestFile(old_, old_text_.substr(second));
  EXPECT_EQ(Verify({old_}).verdict, Verdict::kBroken);
}

TEST_F(AuditVerifierTest, EveryRecordOfTheLogIsAcceptedAsTheHead) {
  for (const AuditHead& head : heads_) EXPECT_EQ(VerifyBoth(head).verdict, Verdict::kWhole) << head.sequence;
  AuditHead later = heads_.back();
  ++later.sequence;
  EXPECT_TRUE(absl::EndsWith(VerifyBoth(later).reason, "end with record 10: records 11 to 11 are missing"));
  EXPECT_TRUE(absl::StrContains(Verify({new_}, heads_[0]).reason, "older than these files"));
  EXPECT_EQ(Verify({new_}, heads_[0]).ExitStatus(), 1);
}

TEST_F(AuditVerifierTest, WithAnotherKeyNoRecordIsValid) {
  const AuditReport report = VerifyAudit({old_, new_}, TestAuditKey(1), std::nullopt);
  EXPECT_EQ(report.verdict, Verdict::kBroken);
  EXPECT_EQ(report.reason, absl::StrCat(old_, ": line 1 was changed, or was written with another key"));
  EXPECT_EQ(report.allows, 0);
}

TEST_F(AuditVerifierTest, UnreadableFilesAreReported) {
  EXPECT_EQ(Verify({}).verdict, Verdict::kUnreadable);
  EXPECT_EQ(Verify({old_, folder_ + "missing"}).verdict, Verdict::kUnreadable);
  EXPECT_EQ(Verify({folder_}).verdict, Verdict::kUnreadable);
  EXPECT_EQ(Verify({folder_}).ExitStatus(), 2);
  EXPECT_EQ(VerifyAudit({old_}, SecretBytes::Create(16).value(), std::nullopt).verdict, Verdict::kUnreadable);
}

// The fixture has a log of many files, which AuditWriter writes.
class AuditLogVerifierTest : public ::testing::Test {
 protected:
  AuditLogVerifierTest() : folder_(NewFolder()), file_(folder_ + "audit.log") {
    AuditWriter::Options options;
    options.file = file_;
    options.version = "0.1.0";
    options.max_file_bytes = 700;
    options.now = [] { return kTime; };
    options.calls = &FileCalls::System();
    writer_ = AuditWriter::Open(options, TestAuditKey()).value();
  }

  void Write(int records) {
    for (int i = 0; i < records; ++i) {
      AuditWriter::Entry entry{DenyText(kTime, By("strangers")), AuditKind::kDeny};
      ASSERT_TRUE(writer_->Write({&entry}).ok());
      ASSERT_TRUE(writer_->StartAnewIfDue().ok());
    }
  }
  AuditHead Head() const { return {writer_->head().sequence, MacHex(writer_->head().mac)}; }

  // Returns the closed files sorted by name, which is their order in the chain.
  std::vector<std::string> ClosedFiles() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "audit.log" && name.find("lock") == name.npos) files.push_back(folder_ + name);
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  AuditReport Verify(const std::optional<AuditHead>& head = std::nullopt) {
    return VerifyAuditLog(file_, TestAuditKey(), head);
  }

  const std::string folder_;
  const std::string file_;
  std::unique_ptr<AuditWriter> writer_;
};

TEST_F(AuditLogVerifierTest, ALogWithoutClosedFilesHasOneFile) {
  Write(1);
  ASSERT_TRUE(ClosedFiles().empty());
  const AuditReport report = Verify(Head());
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.reason;
  ASSERT_EQ(report.files.size(), 1);
  EXPECT_EQ(report.files[0].path, file_);
}

TEST_F(AuditLogVerifierTest, ClosedFilesAreFoundInTheOrderOfTheChain) {
  Write(60);  // so that some files begin with a number of several digits
  std::vector<std::string> files = ClosedFiles();
  ASSERT_GE(files.size(), 10);
  // Files with other names in the same folder are ignored.
  for (const char* name : {"audit.log.1", "audit.log.00000000000000000001.gz", "audit.log.0000000000000000000x",
                           "audit.logs", "audit.log.", "other.log.00000000000000000001"}) {
    WriteTestFile(folder_ + name, "nothing of ours\n");
  }
  files.push_back(file_);
  const AuditReport report = Verify(Head());
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.reason;
  EXPECT_EQ(report.denials, 60);
  ASSERT_EQ(report.files.size(), files.size());
  for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(report.files[i].path, files[i]);
  EXPECT_EQ(VerifyAudit(files, TestAuditKey(), Head()).verdict, Verdict::kWhole);
}

TEST_F(AuditLogVerifierTest, FindsClosedFilesInTheSameFolder) {
  Write(20);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const AuditReport report = VerifyAuditLog("audit.log", TestAuditKey(), Head());
  std::filesystem::current_path(before);
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.reason;
  EXPECT_EQ(report.denials, 20);
}

// A copy of the closed files, without the current file.
class ShippedFilesTest : public AuditLogVerifierTest {
 protected:
  ShippedFilesTest() : copy_(NewFolder()) {
    Write(60);
    for (const std::string& file : ClosedFiles()) {
      files_.push_back(copy_ + std::filesystem::path(file).filename().string());
      std::filesystem::copy_file(file, files_.back());
    }
  }

  AuditReport VerifyCopy(const std::optional<AuditHead>& head = std::nullopt) const {
    return VerifyAuditLog(copy_ + "audit.log", TestAuditKey(), head, std::nullopt, AuditFiles::kClosed);
  }
  // The number of the first record of a file.
  std::string FirstOf(size_t file) const { return Member(LinesOf(files_[file])[0], "seq"); }
  std::string LastOf(size_t file) const { return Member(LinesOf(files_[file]).back(), "seq"); }
  AuditHead HeadOf(size_t file) const {
    return {std::stoull(LastOf(file)), Member(LinesOf(files_[file]).back(), "mac")};
  }

  const std::string copy_;
  std::vector<std::string> files_;
};

TEST_F(ShippedFilesTest, AreWholeWithoutTheCurrentFile) {
  const size_t last = files_.size() - 1;
  EXPECT_EQ(VerifyCopy().verdict, Verdict::kWhole) << VerifyCopy().reason;
  EXPECT_EQ(VerifyCopy(HeadOf(last)).verdict, Verdict::kWhole);
  EXPECT_EQ(absl::StrCat(VerifyCopy().head.sequence), LastOf(last));
  // A current file is not read.
  WriteTestFile(copy_ + "audit.log", "nothing of ours");
  EXPECT_EQ(VerifyCopy().verdict, Verdict::kWhole);
  EXPECT_EQ(VerifyAuditLog(file_, TestAuditKey(), Head(), std::nullopt, AuditFiles::kClosed).verdict, Verdict::kBroken)
      << "the head is in the current file";
}

TEST_F(ShippedFilesTest, AMissingFileIsReportedWithItsRecords) {
  const size_t last = files_.size() - 1;
  const auto remove = [&](size_t file) {
    const std::string content = ReadTestFile(files_[file]);
    std::filesystem::remove(files_[file]);
    return content;
  };
  const std::string middle = remove(3);
  AuditReport report = VerifyCopy();
  EXPECT_EQ(report.verdict, Verdict::kBroken);
  EXPECT_TRUE(absl::StrContains(report.reason, absl::StrCat("records ", std::stoull(LastOf(2)) + 1, " to ",
                                                            std::stoull(FirstOf(4)) - 1, " are missing")))
      << report.reason;
  WriteTestFile(files_[3], middle);

  const std::string first = remove(0);
  report = VerifyCopy();
  EXPECT_EQ(report.verdict, Verdict::kIncomplete);
  EXPECT_EQ(report.reason, absl::StrCat("records 1 to ", std::stoull(FirstOf(1)) - 1, " are missing"));
  WriteTestFile(files_[0], first);

  // Only the head shows that the last file is missing.
  const AuditHead head = HeadOf(last);
  remove(last);
  EXPECT_EQ(VerifyCopy().verdict, Verdict::kWhole);
  report = VerifyCopy(head);
  EXPECT_EQ(report.verdict, Verdict::kBroken);
  EXPECT_TRUE(absl::StrContains(report.reason, absl::StrCat(" to ", head.sequence, " are missing"))) << report.reason;
}

TEST_F(ShippedFilesTest, AChangedOrShortenedFileIsReported) {
  const std::string content = ReadTestFile(files_[5]);
  std::string changed = content;
  changed[changed.find("strangers")] = 'S';
  const std::string shortened = content.substr(0, content.rfind('\n', content.size() - 2) + 1);
  for (const std::string& other : {changed, shortened, content + "\n", content.substr(0, content.size() - 9)}) {
    WriteTestFile(files_[5], other);
    EXPECT_EQ(VerifyCopy().verdict, Verdict::kBroken);
  }
  WriteTestFile(files_[5], content);
  EXPECT_EQ(VerifyCopy().verdict, Verdict::kWhole);
  WriteTestFile(files_.back(), ReadTestFile(files_.back()) + "{\"seq\":");
  EXPECT_EQ(VerifyCopy().verdict, Verdict::kBroken) << "a closed file has no torn end";
}

TEST_F(ShippedFilesTest, AFolderWithoutFilesOfTheLogCannotBeChecked) {
  const std::string folder = NewFolder();
  for (const std::string& file : {folder + "audit.log", folder + "none/audit.log", copy_ + "other.log"}) {
    EXPECT_EQ(VerifyAuditLog(file, TestAuditKey(), std::nullopt, std::nullopt, AuditFiles::kClosed).verdict,
              Verdict::kUnreadable);
  }
}

TEST_F(AuditLogVerifierTest, AMissingOrChangedClosedFileIsReported) {
  Write(30);
  const std::vector<std::string> files = ClosedFiles();
  for (size_t i = 1; i < files.size(); ++i) {
    std::filesystem::rename(files[i], files[i] + ".away");
    EXPECT_EQ(Verify().ExitStatus(), 1) << i;
    std::filesystem::rename(files[i] + ".away", files[i]);
    const std::string content = ReadTestFile(files[i]);
    WriteTestFile(files[i], content.substr(0, content.size() - 1));
    EXPECT_EQ(Verify().ExitStatus(), 1) << i;
    WriteTestFile(files[i], content);
  }
}

TEST_F(AuditLogVerifierTest, TheReportNamesTheRecordsOfMovedFiles) {
  Write(30);
  const std::vector<std::string> files = ClosedFiles();
  ASSERT_GE(files.size(), 4);
  const std::vector<AuditReport::File> whole = Verify(Head()).files;
  const auto range = [&](size_t first, size_t last) {
    return absl::StrCat("records ", whole[first].first_sequence, " to ", whole[last].last_sequence, " are missing");
  };
  const auto away = [&](size_t i) { std::filesystem::rename(files[i], files[i] + ".away"); };
  const auto back = [&](size_t i) { std::filesystem::rename(files[i] + ".away", files[i]); };

  away(0);
  away(1);
  EXPECT_EQ(Verify(Head()).ExitStatus(), 4);
  EXPECT_EQ(Verify(Head()).reason, range(0, 1));
  // Like an operator who archives files, stores the head of the last archived file.
  const AuditHead archived = VerifyAudit({files[0] + ".away", files[1] + ".away"}, TestAuditKey(), std::nullopt).head;
  EXPECT_EQ(VerifyAuditLog(file_, TestAuditKey(), Head(), archived).ExitStatus(), 0);
  back(0);
  EXPECT_EQ(Verify(Head()).ExitStatus(), 1);
  EXPECT_TRUE(absl::EndsWith(Verify(Head()).reason, range(1, 1))) << Verify(Head()).reason;
  // A `from` at the end of the first file does not permit that the second file is missing.
  EXPECT_EQ(VerifyAuditLog(file_, TestAuditKey(), Head(), AuditHead(Verify().head)).ExitStatus(), 1);
  back(1);

  // If the current file is missing, records are missing at the end of the log. Here, the newest closed file is renamed
  // to the name of the current file.
  const AuditHead head = Head();
  std::filesystem::rename(files.back(), file_);
  EXPECT_EQ(Verify(head).ExitStatus(), 1);
  EXPECT_TRUE(absl::EndsWith(Verify(head).reason, absl::StrCat("records ", whole.back().first_sequence, " to ",
                                                               head.sequence, " are missing")))
      << Verify(head).reason;
}

TEST_F(AuditLogVerifierTest, UnreadableFilesAreReported) {
  Write(30);
  EXPECT_EQ(VerifyAuditLog(folder_ + "missing", TestAuditKey(), std::nullopt).ExitStatus(), 2);
  EXPECT_EQ(VerifyAuditLog(folder_ + "no/audit.log", TestAuditKey(), std::nullopt).ExitStatus(), 2);
  const std::string closed = ClosedFiles()[1];
  std::filesystem::remove(closed);
  std::filesystem::create_symlink("nowhere", closed);
  const AuditReport report = Verify();
  EXPECT_EQ(report.ExitStatus(), 2);
  EXPECT_EQ(report.reason, absl::StrCat(closed, ": cannot be opened: No such file or directory"));
}

// During a rotation, the old file has both names for a moment.
TEST_F(AuditLogVerifierTest, AFileWithBothNamesIsCheckedOnce) {
  Write(30);
  std::filesystem::create_hard_link(file_, folder_ + "audit.log.00000000000000001000");
  const AuditReport report = Verify(Head());
  EXPECT_EQ(report.verdict, Verdict::kWhole) << report.reason;
  EXPECT_EQ(report.denials, 30);
}

TEST_F(AuditLogVerifierTest, ALogIsWholeOrTornDuringRotations) {
  Write(1);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    Write(600);
    done = true;
  });
  int rounds = 0;
  do {
    const AuditReport report = Verify();
    EXPECT_TRUE(report.verdict == Verdict::kWhole || report.verdict == Verdict::kTorn) << report.reason;
    EXPECT_EQ(report.files.empty() ? 0 : report.files[0].first_sequence, 1);
    ++rounds;
  } while (!done);
  writer.join();
  EXPECT_EQ(Verify(Head()).denials, 601) << rounds;
}

}  // namespace
}  // namespace stampgate
