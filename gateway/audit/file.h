// An append-only file whose durable content is always known.
#ifndef STAMPGATE_GATEWAY_AUDIT_FILE_H_
#define STAMPGATE_GATEWAY_AUDIT_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// The system calls that change files. Each function behaves like the system call with the same purpose. Tests override
// the functions to simulate errors.
class FileCalls {
 public:
  virtual ~FileCalls() = default;

  // Calls open() with `flags` and mode 0600.
  virtual int Open(const std::string& path, int flags);
  virtual ssize_t Write(int fd, const char* data, size_t size);
  virtual int Truncate(int fd, off_t size);
  // Calls fdatasync().
  virtual int Sync(int fd);
  // Calls posix_fadvise() with POSIX_FADV_DONTNEED, from `offset` to the file's end. Unlike posix_fadvise(), DropPages
  // returns -1 and sets errno after an error.
  virtual int DropPages(int fd, off_t offset);
  virtual int Link(const std::string& from, const std::string& to);
  virtual int Rename(const std::string& from, const std::string& to);
  virtual int Unlink(const std::string& path);
  // Calls fsync() for the folder that contains `path`.
  virtual int SyncFolderOf(const std::string& path);

  static FileCalls& System();
};

// An append-only file. Only one thread may use it at a time. Bytes for which Append has returned OK are on the disk. If
// Append fails, its bytes are normally not in the file afterwards, and size() never includes them.
//
// After a failed write or sync, the content of the disk is unknown: the system has possibly dropped pages that it could
// not write, and a second sync would then wrongly succeed. Therefore AuditFile never retries a sync for the same bytes.
// Instead, AuditFile truncates the file to its durable size, syncs the file, and reads the last durable bytes again
// from the disk, not from the page cache. AuditFile writes again only if all of these steps succeed.
//
// AuditFile cannot repair some faults: the file has the wrong length, was removed or renamed, or has lost durable
// bytes; or the name of a new file cannot be synced. After such a fault, Append and StartAnew always fail.
class AuditFile {
 public:
  // Opens the existing file `path`, which no other process may use. Drops the file's pages from the page cache, so that
  // reads return the content of the disk: after a failed sync of an earlier process, the page cache can contain data
  // that the disk does not have. `calls` must outlive this object. Errors: kUnavailable.
  static absl::StatusOr<std::unique_ptr<AuditFile>> Open(const std::string& path, FileCalls& calls);

  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;
  ~AuditFile();

  // Returns the file descriptor, for reading. StartAnew replaces this descriptor.
  int fd() const { return fd_; }

  // Returns the number of durable bytes. Before the first CutTo, returns the file's size.
  int64_t size() const { return size_; }

  // Truncates the file to its first `size` bytes and syncs the file. CutTo must be called before the first Append, even
  // if there is nothing to remove.
  absl::Status CutTo(int64_t size);

  // Appends `bytes` to the file and syncs the file. Errors: kDataLoss if all later calls will fail too, otherwise
  // kUnavailable.
  absl::Status Append(absl::string_view bytes);

  // Creates a new file that begins with `bytes`, and gives it the name of the current file; the current file gets the
  // name `old_path`. Later appends go to the new file. Even after a crash, a file with the name of the current file
  // exists: either the old file, or the new file with all of `bytes`. Errors: those of Append; after kUnavailable,
  // later appends go to the old file, which possibly has both names.
  absl::Status StartAnew(const std::string& old_path, absl::string_view bytes);

  // Gives a file that StartAnew has replaced another name. Does not replace a file that has this name. When Rename
  // returns OK, the name is on the disk. After a crash or an error, the file has one of the names or both, and Rename
  // can be called again. Errors: kUnavailable.
  static absl::Status Rename(const std::string& from, const std::string& to, FileCalls& calls);

  // Returns whether `path` is a name of this file.
  bool Is(const std::string& path) const;

 private:
  AuditFile(std::string path, FileCalls& calls, int fd) : path_(std::move(path)), calls_(calls), fd_(fd) {}

  absl::Status Prepare();
  absl::Status WriteAll(int fd, absl::string_view bytes);
  absl::Status Check();
  absl::Status Repair();
  absl::StatusOr<std::string> ReadEnd(int64_t size) const;
  absl::Status GiveUp(absl::Status why);
  void Remember(absl::string_view bytes);

  const std::string path_;
  FileCalls& calls_;
  int fd_;
  int64_t size_ = 0;
  std::string end_;     // the last durable bytes, one page at most
  bool dirty_ = false;  // a write has begun or failed, so the file may differ from its durable content
  absl::Status broken_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_FILE_H_
