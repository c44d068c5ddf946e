// The last whole content of a file that other programs change.
#ifndef STAMPGATE_BASE_SECRET_WATCHED_FILE_H_
#define STAMPGATE_BASE_SECRET_WATCHED_FILE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret/settled_file.h"

namespace stampgate {

// Reads the file only when it is whole (see SettledFile) and has changed. `T` is what the file contains. Not
// thread-safe.
template <typename T>
class WatchedFile {
 public:
  using Content = absl::StatusOr<T>;
  // Returns the content, or the reason why the file cannot be used. After errors other than kInvalidArgument, which
  // another reading can cure, WatchedFile reads the file again at each Look.
  using Reader = std::function<Content(const std::string& path)>;

  WatchedFile(SettledFile file, Reader read) : file_(std::move(file)), read_(std::move(read)) {}

  // Examines the file, and reads it if it may and must be read. `now` and `asked` are those of SettledFile::Look.
  void Look(SettledFile::Time now, bool asked) {
    verdict_ = file_.Look(now, asked);
    const bool is_missing = content_ == nullptr || (!content_->ok() && !absl::IsInvalidArgument(content_->status()));
    if (!verdict_.is_new && !(verdict_.is_whole && is_missing)) return;
    auto content = std::make_shared<const Content>(read_(file_.path()));
    if (file_.Take()) {
      content_ = std::move(content);
    } else {
      verdict_ = {.wait = SettledFile::kStill};
    }
  }

  // See SettledFile. Frees the content.
  void BeginAgain() {
    file_.BeginAgain();
    Free();
  }

  // Returns the last whole content, which is never that of a half-written file. Returns null if the file has not been
  // whole yet, and after Free.
  const std::shared_ptr<const Content>& content() const { return content_; }

  // Frees the content, for example because no second copy of a secret may exist. The next Look reads it again if the
  // file is whole.
  void Free() { content_ = nullptr; }

  // What the last Look has found.
  bool is_whole() const { return verdict_.is_whole; }
  bool shrank() const { return verdict_.shrank; }
  // The time until the file may be read unless it changes again; zero if it is whole.
  std::chrono::nanoseconds wait() const { return verdict_.wait; }

  const SettledFile& file() const { return file_; }

 private:
  SettledFile file_;
  Reader read_;
  SettledFile::Verdict verdict_;
  std::shared_ptr<const Content> content_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_WATCHED_FILE_H_
