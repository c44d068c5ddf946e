#include "gateway/config/settled_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace stampgate {
namespace {

std::chrono::nanoseconds ToNanoseconds(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

SettledFile::SettledFile(std::string path) : path_(std::move(path)), seen_(Read()), settled_(seen_) {}

std::chrono::nanoseconds SettledFile::Look(Time now) {
  std::optional<State> state = Read();
  if (state != seen_) since_ = now;
  seen_ = std::move(state);
  if (!seen_ || seen_ == settled_) return std::chrono::nanoseconds::zero();
  const bool other_target = settled_ && seen_->target != settled_->target;
  if (!other_target && now - since_ < kStill) return kStill - (now - since_);
  settled_ = seen_;
  return std::chrono::nanoseconds::zero();
}

bool SettledFile::IsAsSeen() const { return Read() == seen_; }

std::optional<SettledFile::State> SettledFile::Read() const {
  std::error_code error;
  const std::string target = std::filesystem::canonical(path_, error).string();
  struct stat file;
  if (error || stat(target.c_str(), &file) != 0) return std::nullopt;
  return State{
      target, file.st_dev, file.st_ino, file.st_size, ToNanoseconds(file.st_mtim), ToNanoseconds(file.st_ctim)};
}

}  // namespace stampgate
