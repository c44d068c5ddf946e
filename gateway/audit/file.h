// A file that grows at its end, and of which is known what is on the disk.
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

// The system calls that change files, under their own names and rules. A test makes them fail.
class FileCalls {
 public:
  virtual ~FileCalls() = default;

  // open() with these flags and mode 0600.
  virtual int Open(const std::string& path, int flags);
  virtual ssize_t Write(int fd, const char* data, size_t size);
  virtual int Truncate(int fd, off_t size);
  // fdatasync()
  virtual int Sync(int fd);
  // posix_fadvise() with POSIX_FADV_DONTNEED, from `offset` to the file's end. Returns as the others do.
  virtual int DropPages(int fd, off_t offset);
  virtual int Link(const std::string& from, const std::string& to);
  virtual int Rename(const std::string& from, const std::string& to);
  // fsync() of the folder that `path` is in.
  virtual int SyncFolderOf(const std::string& path);

  static FileCalls& System();
};

// One thread at a time. Whatever Append has returned OK for is on the disk; the rest is not
// there for users of this object, and neither, as a rule, for later readers of the file.
//
// After a failed write or sync nobody knows what the disk has: the system may have dropped what it could not write, and
// a second sync would then say that all is well. So no sync is tried again for the same bytes. The file is cut back to
// its durable size, that is synced, and the last durable bytes are read again past the system's memory; only when all
// of this worked is anything written again.
//
// Some things cannot be mended while the process runs: the file is not as long as it must be, is gone, or has lost
// durable bytes; or a new file's name cannot be put on the disk. From then on every call fails.
class AuditFile {
 public:
  // Opens the file `path`, which is there and of which nobody else makes use, and sees to it that what is read from it
  // is what the disk holds: a process whose sync failed leaves pages in the system's memory that were never written.
  // `calls` outlives this. Errors: kUnavailable.
  static absl::StatusOr<std::unique_ptr<AuditFile>> Open(const std::string& path, FileCalls& calls);

  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;
  ~AuditFile();

  // To read from. Changes with StartAnew.
  int fd() const { return fd_; }

  // What is durable, in bytes. Before the first CutTo: the file's size.
  int64_t size() const { return size_; }

  // Cuts the file off behind its first `size` bytes and sees to it that they are durable. To be called before anything
  // is appended, also if there is nothing to cut.
  absl::Status CutTo(int64_t size);

  // Appends `bytes`; durable when this returns OK. Errors: kDataLoss if this can never work again, else kUnavailable.
  absl::Status Append(absl::string_view bytes);

  // Goes on in a new file of the same name, which begins with `bytes`; the one so far is to be found as `old_path`. At
  // no moment there is no file of that name, nor one that does not begin so. Errors: as for Append; after kUnavailable
  // the file so far goes on.
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
  std::string end_;     // the last durable bytes, as they must be
  bool dirty_ = false;  // there may be more on the disk, or less
  absl::Status broken_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_FILE_H_
