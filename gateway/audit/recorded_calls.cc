#include "gateway/audit/recorded_calls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

using Names = std::map<std::string, size_t>;

bool IsLock(const std::string& path) { return absl::EndsWith(path, ".lock"); }

void Apply(const RecordedFolder::Change& change, Names& names) {
  if (change.file) {
    names[change.path] = *change.file;
  } else {
    names.erase(change.path);
  }
}

// Returns all names that the folder can have after a power cut.
std::set<Names> NamesAfterPowerCut(const RecordedFolder& folder, KeptChanges kept) {
  const std::vector<RecordedFolder::Change>& changes = folder.changes;
  std::set<Names> all = {folder.durable};
  if (kept == KeptChanges::kFirst) {
    Names names = folder.durable;
    for (size_t i = 0; i < changes.size(); ++i) {
      Apply(changes[i], names);
      if (i + 1 == changes.size() || changes[i + 1].call != changes[i].call) all.insert(names);
    }
    return all;
  }
  for (const RecordedFolder::Change& change : changes) {
    const std::set<Names> without = all;
    for (Names names : without) {
      Apply(change, names);
      all.insert(std::move(names));
    }
  }
  return all;
}

std::string ContentAfterPowerCut(const RecordedFolder::File& file, const std::string& former, Random& random) {
  const std::string& kept = Below(random, 2) == 0 ? file.written : file.longest;
  if (absl::StartsWith(file.durable, kept)) return kept;
  return AfterPowerCut(kept, file.durable.size(), former, random);
}

}  // namespace

bool RecordedFolder::HasUnsyncedFile() const {
  return std::any_of(files.begin(), files.end(),
                     [](const File& file) { return file.written != file.durable || file.longest != file.durable; });
}

void RecordedFolder::WriteTo(const std::string& folder) const {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!IsLock(entry.path())) std::filesystem::remove(entry);
  }
  std::map<size_t, std::string> paths;
  for (const auto& [path, file] : names) {
    const auto [first, added] = paths.emplace(file, path);
    if (added) {
      WriteTestFile(path, files[file].written);
    } else {
      EXPECT_EQ(link(first->second.c_str(), path.c_str()), 0) << path;
    }
  }
}

void RecordedFolder::ExpectIn(const std::string& folder) const {
  std::map<std::string, std::string> recorded;
  for (const auto& [path, file] : names) recorded[path] = files[file].written;
  std::map<std::string, std::string> real;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!IsLock(entry.path())) real[entry.path()] = ReadTestFile(entry.path());
  }
  EXPECT_TRUE(real == recorded) << "a change of the folder was not recorded";
}

std::vector<RecordedFolder> AfterPowerCut(const RecordedFolder& folder, KeptChanges kept, Random& random) {
  std::string former;
  for (const RecordedFolder::File& file : folder.files) absl::StrAppend(&former, file.written);
  if (former.empty()) former = "nothing of ours";
  std::vector<RecordedFolder> left;
  for (const Names& names : NamesAfterPowerCut(folder, kept)) {
    RecordedFolder& one = left.emplace_back();
    for (const RecordedFolder::File& file : folder.files) {
      const std::string content = ContentAfterPowerCut(file, former, random);
      one.files.push_back({content, content, content});
    }
    one.names = names;
    one.durable = names;
  }
  return left;
}

void RecordedCalls::FillDisk(int nth, int count) { failing_ = {calls_ + nth, calls_ + nth + count}; }

bool RecordedCalls::Fails() {
  ++calls_;
  if (calls_ < failing_.first || calls_ >= failing_.second) return false;
  ++failures_;
  errno = ENOSPC;
  return true;
}

template <typename Result>
Result RecordedCalls::Done(Result result) {
  const int error = errno;
  if (after_call_) after_call_();
  errno = error;
  return result;
}

void RecordedCalls::Name(const std::string& path, std::optional<size_t> file) {
  const auto found = folder_.names.find(path);
  const std::optional<size_t> before = found == folder_.names.end() ? std::nullopt : std::optional(found->second);
  const RecordedFolder::Change change{calls_, path, file};
  Apply(change, folder_.names);
  folder_.changes.push_back(change);
  if (!before || absl::EndsWith(path, ".next")) return;
  const bool named = std::any_of(folder_.names.begin(), folder_.names.end(),
                                 [&before](const auto& name) { return name.second == *before; });
  EXPECT_TRUE(named) << path << " was the last name of a file";
}

int RecordedCalls::Open(const std::string& path, int flags) {
  if (Fails()) return Done(-1);
  const int fd = FileCalls::Open(path, flags);
  if (fd < 0) return Done(fd);
  if (!folder_.names.contains(path)) {
    folder_.files.emplace_back();
    Name(path, folder_.files.size() - 1);
  }
  opened_[fd] = folder_.names.at(path);
  return Done(fd);
}

ssize_t RecordedCalls::Write(int fd, const char* data, size_t size) {
  const bool fails = Fails();
  const size_t part = fails ? size / 2 : size;
  EXPECT_EQ(FileCalls::Write(fd, data, part), static_cast<ssize_t>(part));
  RecordedFolder::File& file = FileOf(fd);
  EXPECT_EQ(file.written.size(), file.longest.size()) << "bytes were appended before a truncation was synced";
  file.written.append(data, part);
  file.longest = file.written;
  if (fails) errno = ENOSPC;
  return Done<ssize_t>(fails ? -1 : static_cast<ssize_t>(size));
}

int RecordedCalls::Truncate(int fd, off_t size) {
  if (Fails()) return Done(-1);
  FileOf(fd).written.resize(static_cast<size_t>(size));
  return Done(FileCalls::Truncate(fd, size));
}

int RecordedCalls::Sync(int fd) {
  if (Fails()) return Done(-1);
  RecordedFolder::File& file = FileOf(fd);
  file.durable = file.written;
  file.longest = file.written;
  return Done(0);
}

int RecordedCalls::DropPages(int, off_t) { return Done(Fails() ? -1 : 0); }

int RecordedCalls::Link(const std::string& from, const std::string& to) {
  if (Fails() || FileCalls::Link(from, to) != 0) return Done(-1);
  Name(to, folder_.names.at(from));
  return Done(0);
}

int RecordedCalls::Rename(const std::string& from, const std::string& to) {
  if (Fails() || FileCalls::Rename(from, to) != 0) return Done(-1);
  Name(to, folder_.names.at(from));
  Name(from, std::nullopt);
  return Done(0);
}

int RecordedCalls::Unlink(const std::string& path) {
  if (Fails() || FileCalls::Unlink(path) != 0) return Done(-1);
  Name(path, std::nullopt);
  return Done(0);
}

int RecordedCalls::SyncFolderOf(const std::string&) {
  if (Fails()) return Done(-1);
  ++folder_syncs_;
  if (folder_syncs_ >= skipped_.first && folder_syncs_ < skipped_.second) return Done(0);
  folder_.durable = folder_.names;
  folder_.changes.clear();
  return Done(0);
}

}  // namespace stampgate
