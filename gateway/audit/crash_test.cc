// Tests the audit file after power cuts, and after changes by an attacker who does not have the key.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gateway/audit/testing.h"
#include "gateway/audit/verifier.h"
#include "gateway/audit/writer.h"

namespace stampgate {
namespace {

using Entry = AuditWriter::Entry;
using Verdict = AuditReport::Verdict;

#ifdef STAMPGATE_SANITIZED
constexpr int kSeeds = 200;
#else
constexpr int kSeeds = 1000;
#endif

const absl::Time kTime = absl::FromUnixMicros(1767323045678901);

// Replaces the system calls that sync a file by functions that do nothing, because the tests compute the content of the
// disk.
class NoDisk : public FileCalls {
 public:
  int Sync(int) override { return 0; }
  int DropPages(int, off_t) override { return 0; }
  int SyncFolderOf(const std::string&) override { return 0; }
};

class AuditCrashTest : public ::testing::Test {
 protected:
  AuditCrashTest() : folder_(NewFolder()), path_(folder_ + "audit.log") {}

  // Begins a new log.
  void Begin(uint64_t seed) {
    random_.seed(seed);
    writer_ = nullptr;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (!absl::EndsWith(entry.path().string(), ".lock")) WriteTestFile(entry.path(), "");
      if (entry.path() != path_ && !absl::EndsWith(entry.path().string(), ".lock")) std::filesystem::remove(entry);
    }
    open_.clear();
  }

  absl::Status TryOpen() {
    writer_ = nullptr;
    torn_ends_.clear();
    AuditWriter::Options options;
    options.file = path_;
    options.version = "0.1.0";
    options.max_file_bytes = max_file_bytes_;
    options.now = [] { return kTime; };
    options.observe_torn_end = [this](const AuditWriter::TornEnd& end) { torn_ends_.push_back(end); };
    options.calls = &calls_;
    absl::StatusOr<std::unique_ptr<AuditWriter>> writer = AuditWriter::Open(options, TestAuditKey());
    if (!writer.ok()) return writer.status();
    writer_ = *std::move(writer);
    open_.clear();
    return absl::OkStatus();
  }

  void WriteGroup() {
    std::vector<Entry> entries;
    for (size_t i = 1 + Below(random_, Below(random_, 3) == 0 ? 60 : 4); i > 0; --i) {
      AuditDecision decision;
      decision.caller = std::string(1 + Below(random_, 200), 'c');
      const size_t what = Below(random_, 3);
      if (what == 0) entries.push_back({DenyText(kTime, decision), AuditKind::kDeny});
      if (what == 1 || open_.empty()) entries.push_back({AllowText(kTime, decision), AuditKind::kAllow});
      if (what == 2 && !open_.empty()) {
        entries.push_back({OutcomeText(kTime, open_.back(), AuditOutcome()), AuditKind::kOutcome, open_.back()});
        open_.pop_back();
      }
    }
    std::vector<Entry*> group;
    for (Entry& entry : entries) group.push_back(&entry);
    ASSERT_TRUE(writer_->Write(group).ok());
    for (const Entry& entry : entries) {
      if (entry.kind == AuditKind::kAllow) open_.push_back(entry.sequence);
    }
  }

  AuditReport Verify() { return VerifyAuditLog(path_, TestAuditKey(), std::nullopt); }

  const std::string folder_;
  const std::string path_;
  NoDisk calls_;
  Random random_;
  int64_t max_file_bytes_ = 1 << 30;
  std::unique_ptr<AuditWriter> writer_;
  std::vector<uint64_t> open_;
  std::vector<AuditWriter::TornEnd> torn_ends_;
};

TEST_F(AuditCrashTest, AStartRemovesAndReportsOnlyATornEnd) {
  int torn_starts = 0;
  int torn_lines = 0;  // how many of the torn_starts found a torn end that contains a line feed
  max_file_bytes_ = 20000;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Begin(seed);
    ASSERT_TRUE(TryOpen().ok());
    std::string former = "nothing of ours";
    size_t marks = 0;
    size_t mark_end = 0;  // the offset at which the torn record of the last start ends; 0 if that start wrote none
    bool cut_again = false;
    std::string written;
    size_t durable = 0;
    for (int round = 0; round < 3; ++round) {
      if (!cut_again) {
        for (size_t groups = Below(random_, 4); groups > 0; --groups) {
          WriteGroup();
          ASSERT_TRUE(writer_->StartAnewIfDue().ok());
        }
        durable = ReadTestFile(path_).size();
        WriteGroup();
        written = ReadTestFile(path_);
      }
      writer_ = nullptr;
      const std::string disk = AfterPowerCut(written, durable, former, random_);
      WriteTestFile(path_, disk);
      former = written;

      // The number of bytes before the first difference between `disk` and `written`.
      const size_t same = static_cast<size_t>(
          std::mismatch(disk.begin(), disk.end(), written.begin(), written.end()).first - disk.begin());
      const size_t whole = same == 0 ? 0 : disk.rfind('\n', same - 1) + 1;
      ASSERT_GE(whole, durable);
      const auto torn = static_cast<int64_t>(disk.size() - whole);
      const std::vector<std::string> kept = absl::StrSplit(disk.substr(0, whole - 1), '\n');

      const AuditReport before = Verify();
      ASSERT_EQ(before.verdict, torn > 0 ? Verdict::kTorn : Verdict::kWhole) << before.ToString();
      const absl::Status opened = TryOpen();
      ASSERT_TRUE(opened.ok()) << opened;
      const std::string content = ReadTestFile(path_);
      ASSERT_EQ(content.substr(0, whole), disk.substr(0, whole));
      const std::string next = content.substr(whole, content.find('\n', whole) - whole);
      ASSERT_EQ(Member(next, "kind") == "torn", torn > 0) << next;
      ASSERT_EQ(torn_ends_.size(), torn > 0 ? 1 : 0);
      // The power cut has removed the torn record of the previous start.
      if (cut_again && whole < mark_end) --marks;
      mark_end = torn > 0 ? whole + next.size() + 1 : 0;
      if (torn > 0) {
        ++marks;
        ++torn_starts;
        if (absl::StrContains(disk.substr(whole), '\n')) ++torn_lines;
        EXPECT_EQ(Member(next, "bytes"), absl::StrCat(torn));
        EXPECT_EQ(torn_ends_[0].bytes, torn);
        EXPECT_EQ(absl::StrCat(torn_ends_[0].after), Member(kept.back(), "seq"));
      }
      const AuditReport after = Verify();
      ASSERT_EQ(after.verdict, Verdict::kWhole) << after.ToString();
      ASSERT_EQ(after.open_allows, 0);
      // Sometimes a second power cut also tears the group that the start has written.
      cut_again = Below(random_, 4) == 0;
      durable = whole;
      written = content;
    }
    size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (!absl::EndsWith(entry.path().string(), ".lock")) found += LinesWith(entry.path(), "\"kind\":\"torn\"").size();
    }
    EXPECT_EQ(found, marks);
  }
  EXPECT_GT(torn_starts, kSeeds * 3 / 2);
  EXPECT_GT(torn_lines, kSeeds * 7 / 10);
}

// Changes lines as an attacker could. The first changed line is always before the last group.
class Tampering {
 public:
  Tampering(std::vector<std::string> lines, size_t earlier, Random& random)
      : lines_(std::move(lines)), earlier_(earlier), random_(random) {}

  // Makes a random change. Returns the number of the first wrong line, counted from 0, and a description of the change.
  std::pair<size_t, std::string> Do() {
    const size_t at = Below(random_, earlier_);
    switch (Below(random_, 5)) {
      case 0: {
        std::string& line = lines_[at];
        const size_t byte = Below(random_, line.size());
        line[byte] = static_cast<char>(line[byte] ^ (1 + Below(random_, 255)));
        return {at, absl::StrCat("a changed byte ", byte)};
      }
      case 1: {
        lines_.erase(lines_.begin() + static_cast<int64_t>(at));
        return {at, "a removed line"};
      }
      case 2: {
        const size_t other = at + 1 + Below(random_, lines_.size() - at - 1);
        std::swap(lines_[at], lines_[other]);
        return {at, absl::StrCat("a line swapped with line ", other)};
      }
      case 3: {
        const std::string foreign[] = {lines_[Below(random_, lines_.size())], "\n", "{}\n", std::string(40000, 'x')};
        std::string line = foreign[Below(random_, 4)];
        if (line == lines_[at]) line = "\n";
        lines_.insert(lines_.begin() + static_cast<int64_t>(at), line);
        return {at, "an inserted line"};
      }
      default: {
        const size_t to = at + 1 + Below(random_, earlier_ - at);
        for (size_t i = at; i < to; ++i) lines_[i].assign(lines_[i].size(), '\0');
        return {at, absl::StrCat("zeros up to line ", to)};
      }
    }
  }

  std::string Content() const { return absl::StrJoin(lines_, ""); }

 private:
  std::vector<std::string> lines_;  // with their line feeds
  const size_t earlier_;            // number of lines before the last group
  Random& random_;
};

TEST_F(AuditCrashTest, AChangeBeforeTheLastGroupIsRefused) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Begin(seed);
    ASSERT_TRUE(TryOpen().ok());
    size_t durable = 0;
    for (size_t groups = 1 + Below(random_, 5); groups > 0; --groups) {
      durable = ReadTestFile(path_).size();
      WriteGroup();
    }
    // In some runs, one more group follows, which a crash has torn.
    std::string torn;
    if (Below(random_, 2) == 0) {
      const size_t synced = ReadTestFile(path_).size();
      WriteGroup();
      torn = AfterPowerCut(ReadTestFile(path_), synced, "nothing of ours", random_).substr(synced);
      WriteTestFile(path_, ReadTestFile(path_).substr(0, synced));
    }
    writer_ = nullptr;
    const std::string content = ReadTestFile(path_);
    std::vector<std::string> lines;
    size_t earlier = 0;
    for (size_t begin = 0; begin < content.size();) {
      const size_t end = content.find('\n', begin) + 1;
      lines.push_back(content.substr(begin, end - begin));
      if (begin < durable) ++earlier;
      begin = end;
    }
    Tampering tampering(lines, earlier, random_);
    const auto [line, what] = tampering.Do();
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": at line ", line, " ", what));
    const std::string tampered = tampering.Content() + torn;
    WriteTestFile(path_, tampered);
    const absl::Status opened = TryOpen();
    EXPECT_EQ(opened.code(), absl::StatusCode::kDataLoss) << opened;
    EXPECT_TRUE(absl::StrContains(opened.message(), absl::StrCat("audit.log: line ", line + 1, " "))) << opened;
    EXPECT_TRUE(torn_ends_.empty());
    EXPECT_EQ(ReadTestFile(path_), tampered);
    EXPECT_EQ(Verify().verdict, Verdict::kBroken);
  }
}

TEST_F(AuditCrashTest, WithoutALaterGroupAChangeLooksLikeATornEnd) {
  // The counterpart of the previous test: no later group proves that the last group was on the disk.
  int opened = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Begin(seed);
    ASSERT_TRUE(TryOpen().ok());
    const size_t durable = ReadTestFile(path_).size();
    WriteGroup();
    writer_ = nullptr;
    std::string content = ReadTestFile(path_);
    content[durable + Below(random_, content.size() - durable)] ^= 1;
    WriteTestFile(path_, content);
    if (TryOpen().ok() && torn_ends_.size() == 1) ++opened;
  }
  EXPECT_EQ(opened, 100);
}

}  // namespace
}  // namespace stampgate
