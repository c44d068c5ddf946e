// Tests rotations of the audit log after power cuts, after deaths of the process, and on a full disk.
//
// A rotation changes names of the folder. The tests record the folder after each call, compute the folders that a power
// cut at this moment can leave, and continue the audit log in each of them. KeptChanges::kAny makes the fewest
// assumptions about the file system, and the audit log promises that it loses nothing even there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/audit/closed_files.h"
#include "gateway/audit/recorded_calls.h"
#include "gateway/audit/testing.h"
#include "gateway/audit/verifier.h"
#include "gateway/audit/writer.h"

namespace stampgate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Entry = AuditWriter::Entry;
using Verdict = AuditReport::Verdict;

const absl::Time kTime = absl::FromUnixMicros(1767323045678901);

// What others know of the audit log, and what it therefore must never lose.
struct Promises {
  std::optional<AuditHead> head;            // the last record that the writer has reported as durable
  std::map<std::string, AuditHead> closed;  // the last record of each reported closed file
  // The content of each file when it got the name of a closed file: a shipper has possibly copied it.
  std::map<std::string, std::string> copies;
};

struct Moment {
  RecordedFolder folder;
  Promises promises;
  absl::Time time;
  bool may_be_torn = false;  // the current file possibly has a torn end

  // Returns a text that differs for all moments from which the audit log continues differently.
  std::string Key() const {
    std::string key = absl::StrCat(promises.head ? promises.head->ToString() : "", promises.closed.size(), may_be_torn);
    const auto add = [&key, this](const std::map<std::string, size_t>& names) {
      for (const auto& [name, file] : names) absl::StrAppend(&key, "|", name, file, folder.files[file].written);
    };
    add(folder.names);
    for (const RecordedFolder::Change& change : folder.changes) absl::StrAppend(&key, "|", change.path);
    add(folder.durable);
    return key;
  }
};

enum class Rotations { kBySize, kByDay };

class RotationCrashTest : public ::testing::TestWithParam<Rotations> {
 protected:
  RotationCrashTest() : folder_(NewFolder()), path_(folder_ + "audit.log") {}

  // Begins with the folder of `moment`.
  void Begin(const Moment& moment) {
    writer_ = nullptr;
    open_.clear();
    history_.clear();
    promises_ = moment.promises;
    now_ = moment.time;
    may_be_torn_ = moment.may_be_torn;
    moment.folder.WriteTo(folder_);
    calls_ = std::make_unique<RecordedCalls>(moment.folder, [this] { Note(); });
    Note();
  }

  // Begins a new audit log. The history begins after its first group of records.
  void BeginNew() {
    RecordedFolder folder;
    folder.files.emplace_back();
    folder.names = {{path_, 0}};
    folder.durable = folder.names;
    Begin({folder, {}, kTime});
    ASSERT_TRUE(Open().ok());
    history_.clear();
    Note();
  }

  absl::Status Open() {
    writer_ = nullptr;
    open_.clear();
    AuditWriter::Options options;
    options.file = path_;
    options.version = "0.1.0";
    options.max_file_bytes = GetParam() == Rotations::kBySize ? 100 : 1 << 30;
    options.daily_files = GetParam() == Rotations::kByDay;
    options.now = [this] { return now_; };
    options.observe_closed = [this](const AuditWriter::ClosedFile& file) { NoteClosed(file); };
    options.calls = calls_.get();
    absl::StatusOr<std::unique_ptr<AuditWriter>> writer = AuditWriter::Open(options, TestAuditKey());
    if (!writer.ok()) return writer.status();
    writer_ = *std::move(writer);
    Promise();
    return absl::OkStatus();
  }

  // Writes the outcome of the earlier group's allow, and an allow, which stays open.
  absl::Status Write() {
    std::vector<Entry> entries;
    for (const uint64_t allow : open_) {
      entries.push_back({OutcomeText(now_, allow, AuditOutcome()), AuditKind::kOutcome, allow});
    }
    AuditDecision decision;
    decision.caller = "payments";
    entries.push_back({AllowText(now_, decision), AuditKind::kAllow});
    std::vector<Entry*> group;
    for (Entry& entry : entries) group.push_back(&entry);
    const absl::Status status = writer_->Write(group);
    if (!status.ok()) return status;
    open_ = {entries.back().sequence};
    Promise();
    return status;
  }

  // Starts a new file after the end of the day.
  absl::Status Rotate() {
    now_ += absl::Hours(24);
    const absl::Status status = writer_->StartAnewIfDue();
    if (!absl::IsDataLoss(status)) Promise();
    return status;
  }

  // Writes records before and after a rotation. Afterwards, nothing may be missing.
  void WriteAndRotate() {
    ASSERT_TRUE(Write().ok());
    const absl::Status rotated = Rotate();
    ASSERT_TRUE(rotated.ok()) << rotated;
    ASSERT_TRUE(Write().ok());
    ExpectWhole();
  }

  void ExpectWhole() {
    calls_->folder().ExpectIn(folder_);
    EXPECT_EQ(FaultIn({calls_->folder(), promises_, now_}), "");
    EXPECT_EQ(Verify(AuditFiles::kAll, promises_.head).open_allows, open_.size());
    EXPECT_TRUE(FindClosingAuditFiles(path_).value().empty());
    const std::vector<std::string> closed = FindClosedAuditFiles(path_).value();
    EXPECT_EQ(Verify(AuditFiles::kClosed, std::nullopt).head.sequence + 1, FirstOfCurrentFile());
    EXPECT_EQ(closed.size(), promises_.copies.size());
    // Each reported head is the last record of its file.
    for (const auto& [file, head] : promises_.closed) {
      EXPECT_TRUE(absl::StrContains(LinesOf(file).back(), head.mac_hex)) << file;
    }
  }

  // Returns a fault of the real folder, before the audit log continues there; "" if there is none.
  std::string FaultIn(const Moment& moment) {
    if (!Exists(path_)) return "the current file is missing";
    const std::vector<std::string> closed_files = FindClosedAuditFiles(path_).value();
    for (const std::string& file : closed_files) {
      const auto copy = moment.promises.copies.find(file);
      if (copy == moment.promises.copies.end()) return absl::StrCat(file, " has a new name");
      if (std::filesystem::equivalent(file, path_)) return absl::StrCat(file, " is also the current file");
      if (ReadTestFile(file) != copy->second) return absl::StrCat(file, " has changed");
    }
    const AuditReport all = Verify(AuditFiles::kAll, moment.promises.head);
    const bool torn = moment.may_be_torn && all.verdict == Verdict::kTorn;
    if (all.verdict != Verdict::kWhole && !torn) return all.ToString();
    std::optional<AuditHead> head;
    if (!moment.promises.closed.empty()) head = moment.promises.closed.rbegin()->second;
    if (!head && closed_files.empty()) return "";
    const AuditReport closed = Verify(AuditFiles::kClosed, head);
    return closed.verdict == Verdict::kWhole ? "" : closed.ToString();
  }

  // Returns all moments that can follow this one if there is no further call: power cuts and the death of the process.
  std::vector<Moment> After(const Moment& moment, KeptChanges kept) {
    std::vector<Moment> all = {moment};
    for (RecordedFolder& folder : AfterPowerCut(moment.folder, kept, random_)) {
      all.push_back(moment);
      all.back().folder = std::move(folder);
    }
    for (Moment& one : all) one.may_be_torn = moment.may_be_torn || moment.folder.HasUnsyncedFile();
    return all;
  }

  // Continues the audit log after each moment of `history`. If `again` is true, does so too after each moment of each
  // start.
  void ContinueAfter(const std::vector<Moment>& history, bool again) {
    for (const Moment& moment : history) {
      for (const Moment& after : After(moment, KeptChanges::kAny)) {
        if (!seen_.insert(after.Key()).second) continue;
        Begin(after);
        ASSERT_EQ(FaultIn(after), "");
        const absl::Status opened = Open();
        ASSERT_TRUE(opened.ok()) << opened;
        const std::vector<Moment> start = history_;
        WriteAndRotate();
        if (again) ContinueAfter(start, false);
        if (HasFailure()) return;
      }
    }
  }

  // Returns the faults of the folders that can be left after each moment of the history.
  std::vector<std::string> Faults(KeptChanges kept) {
    std::vector<std::string> faults;
    for (const Moment& moment : history_) {
      for (const Moment& after : After(moment, kept)) {
        after.folder.WriteTo(folder_);
        const std::string fault = FaultIn(after);
        if (!fault.empty()) faults.push_back(fault);
      }
    }
    return faults;
  }

  const std::string folder_;
  const std::string path_;
  Random random_{7};
  absl::Time now_;
  std::unique_ptr<RecordedCalls> calls_;
  std::unique_ptr<AuditWriter> writer_;
  std::vector<uint64_t> open_;  // the allow without an outcome
  Promises promises_;
  bool may_be_torn_ = false;
  std::vector<Moment> history_;
  std::set<std::string> seen_;

 private:
  // Notes what is durable now.
  void Promise() {
    may_be_torn_ = false;
    promises_.head = AuditHead{writer_->head().sequence, MacHex(writer_->head().mac)};
    Note();
  }

  void NoteClosed(const AuditWriter::ClosedFile& file) {
    const auto [found, added] = promises_.closed.emplace(file.path, file.head);
    EXPECT_TRUE(added || found->second.ToString() == file.head.ToString()) << file.path << " got another head";
    Note();
  }

  void Note() {
    const RecordedFolder& folder = calls_->folder();
    for (const auto& [name, file] : folder.names) {
      if (!IsClosed(name)) continue;
      EXPECT_NE(file, folder.names.at(path_)) << name << " is also the current file";
      const auto [copy, added] = promises_.copies.emplace(name, folder.files[file].written);
      EXPECT_TRUE(added || copy->second == folder.files[file].written) << name << " has changed";
    }
    history_.push_back({folder, promises_, now_, may_be_torn_});
  }

  bool IsClosed(const std::string& name) const {
    return absl::StartsWith(name, path_ + ".") &&
           absl::ascii_isdigit(static_cast<unsigned char>(name[path_.size() + 1]));
  }

  AuditReport Verify(AuditFiles files, const std::optional<AuditHead>& head) const {
    return VerifyAuditLog(path_, TestAuditKey(), head, std::nullopt, files);
  }

  uint64_t FirstOfCurrentFile() const { return Verify(AuditFiles::kAll, std::nullopt).files.back().first_sequence; }
};

INSTANTIATE_TEST_SUITE_P(Both, RotationCrashTest, ::testing::Values(Rotations::kBySize, Rotations::kByDay),
                         [](const auto& info) { return info.param == Rotations::kBySize ? "BySize" : "ByDay"; });

TEST_P(RotationCrashTest, TwoPowerCutsLoseAndChangeNothing) {
  BeginNew();
  WriteAndRotate();
  WriteAndRotate();
  const std::vector<Moment> history = std::move(history_);
  ContinueAfter(history, true);
  EXPECT_GT(seen_.size(), 300);
}

// A rotation syncs the folder three times. The test leaves out some of the syncs.
TEST_P(RotationCrashTest, EachSyncOfTheFolderIsNecessary) {
  struct Case {
    int first;
    int count;
    std::string fault_if_first;  // what a power cut that keeps the first changes can cause; "" if nothing
    std::string fault_if_any;
  };
  const Case cases[] = {
      {1, 0, "", ""},
      {1, 1, "", "is older than these files"},
      {2, 1, "", "is also the current file"},
      {3, 1, "has no closed files", "are missing"},
      {1, 3, "are missing", "are missing"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(absl::StrCat("without ", one.count, " syncs from sync ", one.first));
    BeginNew();
    calls_->SkipFolderSyncs(one.first, one.count);
    WriteAndRotate();
    const auto expect = [this](KeptChanges kept, const std::string& fault) {
      const std::vector<std::string> faults = Faults(kept);
      if (fault.empty()) {
        EXPECT_THAT(faults, IsEmpty());
      } else {
        EXPECT_THAT(faults, Contains(HasSubstr(fault)));
      }
    };
    expect(KeptChanges::kFirst, one.fault_if_first);
    expect(KeptChanges::kAny, one.fault_if_any);
  }
}

// The disk is full for one call, for some, or until the test makes room. Also begins before the rotation, so that a
// failed append comes before it.
TEST_P(RotationCrashTest, AFullDiskDelaysARotationOrEndsAllWriting) {
  int delayed = 0;
  int ended = 0;
  bool failed = true;
  for (int nth = 1; failed; ++nth) {
    for (const int count : {1, 2, 1000}) {
      SCOPED_TRACE(absl::StrCat("call ", nth, ", ", count, " failures"));
      BeginNew();
      calls_->FillDisk(nth, count);
      const absl::Status written = Write();
      const absl::Status rotated = Rotate();
      const absl::Status after = Write();
      failed = calls_->failures() > 0;
      calls_->MakeRoom();
      EXPECT_FALSE(absl::IsDataLoss(written)) << written;
      if (absl::IsDataLoss(rotated)) {
        // Nobody knows whether the disk has the new file, so the gateway stamps nothing until it starts again.
        ++ended;
        EXPECT_TRUE(absl::IsDataLoss(after)) << after;
        EXPECT_TRUE(absl::IsDataLoss(Write()));
        ASSERT_TRUE(Open().ok());
      } else if (!rotated.ok()) {
        ++delayed;
        EXPECT_TRUE(absl::IsUnavailable(rotated)) << rotated;
        EXPECT_TRUE(after.ok() || count > 1) << after;
        ASSERT_TRUE(Write().ok());
      }
      WriteAndRotate();
      ASSERT_FALSE(HasFailure());
      for (const Moment& moment : std::vector<Moment>(history_)) {
        if (Below(random_, 16) > 0) continue;
        const std::vector<Moment> all = After(moment, KeptChanges::kAny);
        const Moment& one = all[Below(random_, all.size())];
        Begin(one);
        ASSERT_EQ(FaultIn(one), "");
        ASSERT_TRUE(Open().ok());
        WriteAndRotate();
      }
    }
  }
  EXPECT_GT(delayed, 20);
  EXPECT_GT(ended, 0);
}

}  // namespace
}  // namespace stampgate
