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

// The system calls that change files, with their own semantics. Tests make them fail.
class FileCalls {
 public:
  virtual ~FileCalls() = default;

  // open() with these flags and mode 0600.
  virtual int Open(const std::string& path, int flags);
  virtual ssize_t Write(int fd, const char* data, size_t size);
  virtual int Truncate(int fd, off_t size);
  // fdatasync()
  virtual int Sync(int fd);
  // posix_fadvise() with POSIX_FADV_DONTNEED, from `offset` to the file's end. Returns -1 and sets errno on an error,
  // like the others.
  virtual int DropPages(int fd, off_t offset);
  virtual int Link(const std::string& from, const std::string& to);
  virtual int Rename(const std::string& from, const std::string& to);
  // fsync() of the folder that contains `path`.
  virtual int SyncFolderOf(const std::string& path);

  static FileCalls& System();
};

// One thread at a time. Bytes for which Append has returned OK are on the disk. Other bytes are not visible through
// this object and, as a rule, not to later readers of the file.
//
// After a failed write or sync the content of the disk is unknown: the system may have dropped pages that it could not
// write, and a second sync would then wrongly succeed. So a sync is never retried for the same bytes. Instead the file
// is cut back to its durable size and synced, and the last durable bytes are read again past the page cache. Only if
// all of that succeeds is anything written again.
//
// Some faults cannot be repaired while the process runs: the file has the wrong length, is gone, or has lost durable
// bytes; or the name of a new file cannot be made durable. After one of these every call fails.
class AuditFile {
 public:
  // Opens the existing file `path`, which no other process may use, and makes sure that reads return what the disk
  // holds: a process whose sync failed leaves pages in the page cache that were never written. `calls` must outlive
  // this. Errors: kUnavailable.
  static absl::StatusOr<std::unique_ptr<AuditFile>> Open(const std::string& path, FileCalls& calls);

  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;
  ~AuditFile();

  // The descriptor to read from. StartAnew changes it.
  int fd() const { return fd_; }

  // The number of durable bytes. Before the first CutTo: the file's size.
  int64_t size() const { return size_; }

  // Truncates the file to its first `size` bytes and makes them durable. Call it before the first Append, even if
  // it removes nothing.
  absl::Status CutTo(int64_t size);

  // Appends `bytes`; they are durable when this returns OK. Errors: kDataLoss if no later call can succeed, else
  // kUnavailable.
  absl::Status Append(absl::string_view bytes);

  // Continues in a new file under the same name that begins with `bytes`; the old file gets the name `old_path`. The
  // swap is atomic: the name always refers either to the old file or to one that begins with `bytes`. Errors: as for
  // Append; after kUnavailable the old file continues.
  absl::Status StartAnew(const std::string& old_path, absl::string_view bytes);

 private:
  AuditFile(std::string path, FileCalls& calls, int fd) : path_(std::move(path)), calls_(calls), fd_(fd) {}

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
  std::string end_;     // the last durable bytes
  bool dirty_ = false;  // the disk may have more bytes than these, or fewer
  absl::Status broken_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_FILE_H_
