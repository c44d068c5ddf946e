#include "base/secret/settled_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace stampgate {
namespace {

std::chrono::nanoseconds ToNanoseconds(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool IsOther(const FileState& a, const FileState& b) { return a.device != b.device || a.inode != b.inode; }

// Whether only other attributes have changed, such as the mode.
bool HasSameBytes(const FileState& a, const FileState& b) { return a.size == b.size && a.modified == b.modified; }

}  // namespace

std::optional<FileState> FileStateOf(const std::string& path) {
  // A link can change between the two calls, and its former target can be deleted.
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    std::error_code error;
    const std::string target = std::filesystem::canonical(path, error).string();
    struct stat file;
    if (error || stat(target.c_str(), &file) != 0) continue;
    return FileState{
        target, file.st_dev, file.st_ino, file.st_size, ToNanoseconds(file.st_mtim), ToNanoseconds(file.st_ctim)};
  }
  return std::nullopt;
}

SettledFile::SettledFile(std::string path, First first, StateOf state_of)
    : path_(std::move(path)), first_(first), state_of_(std::move(state_of)) {}

SettledFile::Verdict SettledFile::Look(Time now, bool asked) {
  std::optional<FileState> state = state_of_(path_);
  if (!looked_ || state != seen_) {
    since_ = now;
    asked_ = false;
    is_replaced_ = state && seen_ && (IsOther(*state, *seen_) || (is_replaced_ && HasSameBytes(*state, *seen_)));
  }
  looked_ = true;
  seen_ = std::move(state);
  asked_ = asked_ || asked;
  const Time::duration age = now - since_;
  is_still_ = age >= kStill;
  // A write in the same tick of the file system's clock as a reading leaves no trace in the state. So a file that was
  // taken before it was still is read once more when it is still. Somebody who asks can know more than the state shows.
  if (taken_.has_value() && *taken_ == seen_) return {true, asked || (is_still_ && !was_still_), {}, false};
  const bool as_found = first_ == First::kAsFound && !taken_.has_value();
  const bool linked = seen_ && former_ && seen_->target != former_->target;
  if (as_found || linked) return {true, true, {}, false};
  if (!is_still_) return {false, false, kStill - age, false};
  if (HasShrunk() && !is_replaced_ && !asked_ && age < kShrunk) return {false, false, kShrunk - age, true};
  return {true, true, {}, false};
}

bool SettledFile::Take() {
  if (!IsAsSeen()) return false;
  was_still_ = is_still_;
  taken_ = seen_;
  if (seen_) former_ = seen_;
  return true;
}

bool SettledFile::HasShrunk() const { return seen_ && former_ && seen_->size < former_->size - former_->size / 10; }

}  // namespace stampgate
