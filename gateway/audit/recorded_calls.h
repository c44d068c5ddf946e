// System calls that record the folder of an audit log, and the folders that a power cut can leave.
#ifndef STAMPGATE_GATEWAY_AUDIT_RECORDED_CALLS_H_
#define STAMPGATE_GATEWAY_AUDIT_RECORDED_CALLS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/audit/file.h"
#include "gateway/audit/testing.h"

namespace stampgate {

// The files of a folder, as processes see them and on the disk.
struct RecordedFolder {
  struct File {
    std::string written;  // the content that processes see
    std::string durable;  // the content at the last sync
    std::string longest;  // the longest content since then: `written`, or its content before a truncation
  };

  // A name that a file got or lost after the last sync of the folder. A rename makes two changes.
  struct Change {
    int call = 0;  // the number of the call that made the change
    std::string path;
    std::optional<size_t> file;  // an index of `files`; empty if the name was removed
  };

  // Returns whether the disk lacks a part of a file's content.
  bool HasUnsyncedFile() const;

  // Writes the files to the real folder, as processes see them. Removes all other files of `folder`, except lock files.
  void WriteTo(const std::string& folder) const;

  // Reports a failure of the test if the real folder has other files, except lock files.
  void ExpectIn(const std::string& folder) const;

  std::vector<File> files;
  std::map<std::string, size_t> names;    // for each path, an index of `files`
  std::map<std::string, size_t> durable;  // `names` at the last sync of the folder
  std::vector<Change> changes;
};

// Which changes of names a power cut can keep, if the folder was not synced since.
enum class KeptChanges {
  kFirst,  // the changes of the first calls, up to any call: as the usual journaling file systems do
  kAny,    // any set of changes, and even one half of a rename. But a name that a rename replaces never disappears
};

// Returns the folders that a power cut can leave: one for each possible set of names. In each of them, the content of
// the unsynced files is random, see the function of the same name in testing.h.
std::vector<RecordedFolder> AfterPowerCut(const RecordedFolder& folder, KeptChanges kept, Random& random);

// Makes the calls, except syncs, in the real folder, and records them. Fails the test if a call removes the last name
// of a file that is not the unfinished new file of a rotation.
class RecordedCalls : public FileCalls {
 public:
  // Begins with the files of `folder`. `after_call` runs after each call and may be empty.
  explicit RecordedCalls(RecordedFolder folder, std::function<void()> after_call = nullptr)
      : folder_(std::move(folder)), after_call_(std::move(after_call)) {}

  // Makes `count` calls of any kind fail with ENOSPC, beginning with the `nth` call from now (1 is the next call). A
  // failing write writes the first half of its bytes. Other failing calls do nothing.
  void FillDisk(int nth, int count);
  // Makes room: later calls succeed.
  void MakeRoom() { failing_ = {0, 0}; }

  // Makes `count` syncs of the folder succeed without any effect, beginning with the `nth` sync of the folder from now.
  void SkipFolderSyncs(int nth, int count) { skipped_ = {folder_syncs_ + nth, folder_syncs_ + nth + count}; }

  // Returns the number of failed calls.
  int failures() const { return failures_; }

  const RecordedFolder& folder() const { return folder_; }

  int Open(const std::string& path, int flags) override;
  ssize_t Write(int fd, const char* data, size_t size) override;
  int Truncate(int fd, off_t size) override;
  int Sync(int fd) override;
  int DropPages(int fd, off_t offset) override;
  int Link(const std::string& from, const std::string& to) override;
  int Rename(const std::string& from, const std::string& to) override;
  int Unlink(const std::string& path) override;
  int SyncFolderOf(const std::string& path) override;

 private:
  // Returns whether the call, which now begins, must fail. If it must, sets errno.
  bool Fails();
  // Runs after_call_. Returns `result`, and keeps errno.
  template <typename Result>
  Result Done(Result result);
  void Name(const std::string& path, std::optional<size_t> file);
  RecordedFolder::File& FileOf(int fd) { return folder_.files[opened_.at(fd)]; }

  RecordedFolder folder_;
  const std::function<void()> after_call_;
  std::map<int, size_t> opened_;          // for each file descriptor, an index of the folder's files
  std::pair<int, int> failing_ = {0, 0};  // the numbers of the first failing call and of the first one after it
  int calls_ = 0;
  int failures_ = 0;
  int folder_syncs_ = 0;
  std::pair<int, int> skipped_ = {0, 0};  // as `failing_`, for syncs of the folder
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_RECORDED_CALLS_H_
