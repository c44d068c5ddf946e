#include "gateway/audit/several_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/audit/closed_files.h"
#include "gateway/audit/file.h"
#include "gateway/audit/record.h"
#include "gateway/audit/testing.h"
#include "gateway/audit/writer.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verdict = AuditReport::Verdict;

const absl::Time kTime = absl::FromUnixMicros(1767323045678901);

TEST(AuditLogsInTest, SeveralFilesWithDifferentNamesAreOneLog) {
  EXPECT_THAT(AuditLogsIn({"audit.log.1", "audit.log"}), IsEmpty());
  EXPECT_THAT(AuditLogsIn({"old/audit.log.1", "audit.log"}), IsEmpty());
}

TEST(AuditLogsInTest, FilesWithTheSameNameAreSeveralLogs) {
  EXPECT_THAT(AuditLogsIn({"a/audit.log", "b/audit.log"}), ElementsAre("a/audit.log", "b/audit.log"));
  EXPECT_THAT(AuditLogsIn({"a.log", "a.log"}), ElementsAre("a.log", "a.log"));
  EXPECT_THAT(AuditLogsIn({"a.log"}), ElementsAre("a.log"));
}

TEST(AuditLogsInTest, AFolderStandsForItsFile) {
  const std::string folder = NewFolder();
  const std::string file = absl::StrCat(folder, "audit.log");
  const std::string without_slash = folder.substr(0, folder.size() - 1);
  EXPECT_THAT(AuditLogsIn({folder}), ElementsAre(file));
  EXPECT_THAT(AuditLogsIn({without_slash, "b.log", "c.log"}), ElementsAre(file, "b.log", "c.log"));
}

// The fixture has the logs of two gateways, each in a folder of its own.
class AuditLogsTest : public ::testing::Test {
 protected:
  struct Gateway {
    std::string folder = NewFolder();
    std::string file = absl::StrCat(folder, "audit.log");
    AuditHead head;
  };

  // Creates the log of a gateway that has started at `start`.
  static Gateway NewLog(absl::Time start, int denials) {
    Gateway gateway;
    AuditWriter::Options options;
    options.file = gateway.file;
    options.version = "0.1.0";
    options.max_file_bytes = 2000;
    options.now = [start] { return start; };
    options.calls = &FileCalls::System();
    const std::unique_ptr<AuditWriter> writer = AuditWriter::Open(options, TestAuditKey()).value();
    for (int i = 0; i < denials; ++i) {
      AuditDecision decision;
      decision.caller = "strangers";
      AuditWriter::Entry entry{DenyText(start + absl::Seconds(i + 1), decision), AuditKind::kDeny};
      EXPECT_TRUE(writer->Write({&entry}).ok());
      EXPECT_TRUE(writer->StartAnewIfDue().ok());
    }
    gateway.head = {writer->head().sequence, MacHex(writer->head().mac)};
    return gateway;
  }

  static AuditLogsReport Verify(const std::vector<std::string>& files) {
    return VerifyAuditLogs(files, TestAuditKey());
  }

  // Creates a copy of all files of the gateway. Returns the path of its current file.
  static std::string CopyOf(const Gateway& gateway) {
    const std::string folder = NewFolder();
    std::filesystem::copy(gateway.folder, folder);
    return absl::StrCat(folder, "audit.log");
  }

  const Gateway a_ = NewLog(kTime, 2);
  const Gateway b_ = NewLog(kTime + absl::Microseconds(1), 42);  // has several files
};

TEST_F(AuditLogsTest, TheReportHasOneLineForEachLog) {
  const AuditLogsReport report = Verify({a_.file, b_.file});
  EXPECT_EQ(report.ExitStatus(), 0);
  EXPECT_EQ(report.Failures(), "");
  ASSERT_EQ(report.logs.size(), 2);
  EXPECT_GT(report.logs[1].report.files.size(), 1);
  EXPECT_EQ(
      report.ToString(),
      absl::StrCat(a_.file, ": ok, 3 records from 2026-01-02T03:04:05.678901Z to 2026-01-02T03:04:07.678901Z, head ",
                   a_.head.ToString(), "\n", b_.file, ": ok, ", b_.head.sequence,
                   " records from 2026-01-02T03:04:05.678902Z to 2026-01-02T03:04:47.678902Z, head ",
                   b_.head.ToString(), "\n"));
}

TEST_F(AuditLogsTest, EachLogThatFailsIsNamedAndTheOthersAreVerified) {
  const Gateway torn = NewLog(kTime + absl::Seconds(1), 1);
  const std::string text = ReadTestFile(torn.file);
  WriteTestFile(torn.file, text.substr(0, text.size() - 1));
  const Gateway broken = NewLog(kTime + absl::Seconds(2), 1);
  std::string changed = ReadTestFile(broken.file);
  changed[10] ^= 1;
  WriteTestFile(broken.file, changed);
  const std::string none = NewFolder() + "audit.log";

  const AuditLogsReport report = Verify({torn.file, none, broken.file, a_.file});
  EXPECT_EQ(report.ToString(),
            absl::StrCat(torn.file, ": torn, 1 records from 2026-01-02T03:04:06.678901Z to ",
                         "2026-01-02T03:04:06.678901Z, head ", report.logs[0].report.head.ToString(), "\n", none,
                         ": cannot be checked, no valid record\n", broken.file, ": BROKEN, no valid record\n", a_.file,
                         ": ok, 3 records from 2026-01-02T03:04:05.678901Z to 2026-01-02T03:04:07.678901Z, head ",
                         a_.head.ToString(), "\n"));
  EXPECT_EQ(report.Failures(),
            absl::StrCat("3 of 4 audit logs failed:\n", torn.file, ": torn: ", report.logs[0].report.reason, "\n", none,
                         ": cannot be checked: ", none, ": cannot be opened: No such file or directory\n", broken.file,
                         ": BROKEN: ", report.logs[2].report.reason));

  EXPECT_EQ(report.ExitStatus(), 1);
  EXPECT_EQ(Verify({a_.file, torn.file, none}).ExitStatus(), 2);
  EXPECT_EQ(Verify({a_.file, torn.file}).ExitStatus(), 3);
}

TEST_F(AuditLogsTest, AnIncompleteLogIsMoreSeriousThanATornOne) {
  std::filesystem::remove(NamesOfAuditFile(b_.file, 1).closed);
  const std::string text = ReadTestFile(a_.file);
  WriteTestFile(a_.file, text.substr(0, text.size() - 1));
  EXPECT_EQ(Verify({b_.file, a_.file}).ExitStatus(), 4);
}

TEST_F(AuditLogsTest, ALogThatIsGivenTwiceIsNamed) {
  for (const std::string& again : {a_.file, CopyOf(a_)}) {
    const AuditLogsReport report = Verify({a_.file, b_.file, again});
    EXPECT_EQ(report.logs[2].report.verdict, Verdict::kRepeated);
    EXPECT_EQ(report.Failures(), absl::StrCat("1 of 3 audit logs failed:\n", again, ": REPEATED: has records of ",
                                              a_.file, ": it is the same log or a copy"));
    EXPECT_EQ(report.ExitStatus(), 1);
  }
}

TEST_F(AuditLogsTest, APartOfALogIsRecognizedAsACopy) {
  // The copy has only the newest file.
  const std::string folder = NewFolder();
  std::filesystem::copy_file(b_.file, folder + "audit.log");
  EXPECT_THAT(Verify({b_.file, folder + "audit.log"}).Failures(),
              HasSubstr(absl::StrCat(folder, "audit.log: REPEATED: has records of ", b_.file)));
  // The copy has only the oldest file.
  const std::string old = NewFolder() + "audit.log";
  std::filesystem::copy_file(NamesOfAuditFile(b_.file, 1).closed, old);
  EXPECT_THAT(Verify({old, b_.file}).Failures(), HasSubstr(absl::StrCat(b_.file, ": REPEATED: has records of ", old)));
}

TEST_F(AuditLogsTest, ABrokenCopyIsBroken) {
  const std::string copy = CopyOf(a_);
  std::string changed = ReadTestFile(copy);
  changed[changed.find("\"deny\"")] ^= 1;
  WriteTestFile(copy, changed);
  EXPECT_EQ(Verify({a_.file, copy}).logs[1].report.verdict, Verdict::kBroken);
}

TEST_F(AuditLogsTest, ALogOfAnotherKeyIsBroken) {
  const AuditLogsReport report = VerifyAuditLogs({a_.file, b_.file}, TestAuditKey(1));
  EXPECT_EQ(report.ExitStatus(), 1);
  EXPECT_THAT(report.Failures(), HasSubstr("2 of 2 audit logs failed"));
}

}  // namespace
}  // namespace stampgate
