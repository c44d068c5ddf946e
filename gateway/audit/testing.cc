#include "gateway/audit/testing.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace stampgate {
namespace {

constexpr auto kHang = std::chrono::seconds(60);

}  // namespace

SecretBytes TestAuditKey(uint8_t first) {
  SecretBytes key = SecretBytes::Create(32).value();
  for (size_t i = 0; i < key.size(); ++i) key.data()[i] = static_cast<uint8_t>(first + i);
  return key;
}

std::string NewFolder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/audit-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << "cannot create a folder: " << folder;
  return folder + "/";
}

void WriteTestFile(const std::string& path, absl::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(file) << path;
}

std::string ReadTestFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool Exists(const std::string& path) {
  struct stat file;
  return lstat(path.c_str(), &file) == 0;
}

std::vector<std::string> LinesOf(const std::string& path) { return LinesWith(path, ""); }

std::vector<std::string> LinesWith(const std::string& path, absl::string_view piece) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(ReadTestFile(path), '\n')) {
    if (!line.empty() && absl::StrContains(line, piece)) lines.emplace_back(line);
  }
  return lines;
}

std::string Member(absl::string_view line, absl::string_view name) {
  const std::string before = absl::StrCat("\"", name, "\":");
  const size_t begin = line.find(before);
  if (begin == absl::string_view::npos) return "";
  absl::string_view value = line.substr(begin + before.size());
  if (value[0] != '"') return std::string(value.substr(0, value.find_first_of(",}")));
  value.remove_prefix(1);
  return std::string(value.substr(0, value.find('"')));
}

size_t Below(Random& random, size_t bound) { return static_cast<size_t>(random() % bound); }

std::string AfterPowerCut(const std::string& written, size_t durable, const std::string& former, Random& random) {
  const size_t block = Below(random, 2) == 0 ? 512 : 4096;
  const size_t added = written.size() - durable;
  std::string disk = written;
  // The file gets the old size, the new size, or any size between them.
  const size_t grown = Below(random, 3);
  if (grown == 0) disk.resize(durable + Below(random, added + 1));
  if (grown == 1 && Below(random, 4) == 0) disk.resize(durable);
  const size_t keep_in_10 = Below(random, 11);
  for (size_t begin = durable; begin < disk.size();) {
    const size_t end = std::min(disk.size(), (begin / block + 1) * block);
    if (Below(random, 10) >= keep_in_10) {
      const size_t from = Below(random, 2) == 0 ? begin : begin + Below(random, end - begin);
      switch (Below(random, 3)) {
        case 0:
          std::fill(disk.begin() + static_cast<int64_t>(from), disk.begin() + static_cast<int64_t>(end), '\0');
          break;
        case 1:
          for (size_t i = from; i < end; ++i) disk[i] = static_cast<char>(random());
          break;
        default: {
          const size_t shift = Below(random, former.size());
          for (size_t i = from; i < end; ++i) disk[i] = former[(shift + i) % former.size()];
        }
      }
    }
    begin = end;
  }
  return disk;
}

void FaultyCalls::Fail(Call call, int error, int nth, int count) {
  const MutexLock lock(mutex_);
  plans_[call] = Plan{nth - 1, count, error};
}

void FaultyCalls::Mend() {
  const MutexLock lock(mutex_);
  plans_.clear();
}

void FaultyCalls::WriteAtMost(size_t bytes) {
  const MutexLock lock(mutex_);
  most_ = bytes;
}

void FaultyCalls::HoldSync() {
  const MutexLock lock(mutex_);
  hold_ = true;
}

void FaultyCalls::WaitUntilHeld() {
  const MutexLock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + kHang;
  while (!held_ && !changed_.WaitUntil(mutex_, deadline)) {
  }
  EXPECT_TRUE(held_);
}

void FaultyCalls::Release() {
  const MutexLock lock(mutex_);
  hold_ = false;
  changed_.WakeAll();
}

int FaultyCalls::calls(Call call) const {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

bool FaultyCalls::Fails(Call call) {
  const MutexLock lock(mutex_);
  ++calls_[call];
  const auto plan = plans_.find(call);
  if (plan == plans_.end()) return false;
  if (plan->second.good > 0) {
    --plan->second.good;
    return false;
  }
  if (plan->second.bad == 0) return false;
  --plan->second.bad;
  errno = plan->second.error;
  return true;
}

int FaultyCalls::Open(const std::string& path, int flags) {
  return Fails(Call::kOpen) ? -1 : FileCalls::Open(path, flags);
}

ssize_t FaultyCalls::Write(int fd, const char* data, size_t size) {
  if (Fails(Call::kWrite)) {
    const int error = errno;
    if (error != EINTR && FileCalls::Write(fd, data, size / 2) < 0)
      ADD_FAILURE() << "cannot write the first half of a write that must fail";
    errno = error;
    return -1;
  }
  size_t most;
  {
    const MutexLock lock(mutex_);
    most = most_;
  }
  return FileCalls::Write(fd, data, std::min(size, most));
}

int FaultyCalls::Truncate(int fd, off_t size) { return Fails(Call::kTruncate) ? -1 : FileCalls::Truncate(fd, size); }

int FaultyCalls::Sync(int fd) {
  {
    const MutexLock lock(mutex_);
    if (hold_) {
      held_ = true;
      changed_.WakeAll();
      const auto deadline = std::chrono::steady_clock::now() + kHang;
      while (hold_ && !changed_.WaitUntil(mutex_, deadline)) {
      }
      EXPECT_FALSE(hold_);
      held_ = false;
    }
  }
  return Fails(Call::kSync) ? -1 : FileCalls::Sync(fd);
}

int FaultyCalls::DropPages(int fd, off_t offset) {
  return Fails(Call::kDropPages) ? -1 : FileCalls::DropPages(fd, offset);
}

int FaultyCalls::Link(const std::string& from, const std::string& to) {
  return Fails(Call::kLink) ? -1 : FileCalls::Link(from, to);
}

int FaultyCalls::Rename(const std::string& from, const std::string& to) {
  return Fails(Call::kRename) ? -1 : FileCalls::Rename(from, to);
}

int FaultyCalls::Unlink(const std::string& path) { return Fails(Call::kUnlink) ? -1 : FileCalls::Unlink(path); }

int FaultyCalls::SyncFolderOf(const std::string& path) {
  return Fails(Call::kSyncFolder) ? -1 : FileCalls::SyncFolderOf(path);
}

}  // namespace stampgate
