#include "gateway/audit/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/audit/read_at.h"

namespace stampgate {
namespace {

// After a failure, AuditFile compares this many bytes at the end of the durable content with the disk: one page.
constexpr int64_t kEndBytes = 4096;

absl::Status SystemError(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

bool IsSameFile(const std::string& path, const struct stat& file) {
  struct stat named;
  return lstat(path.c_str(), &named) == 0 && named.st_dev == file.st_dev && named.st_ino == file.st_ino;
}

// Gives the file `from` the second name `to`. Returns true if it has this name already, because a process ended after
// this step. After an error, returns false and sets errno.
bool Link(const std::string& from, const std::string& to, FileCalls& calls) {
  if (calls.Link(from, to) == 0) return true;
  const int error = errno;
  struct stat file;
  const bool done = error == EEXIST && lstat(from.c_str(), &file) == 0 && IsSameFile(to, file);
  errno = error;
  return done;
}

}  // namespace

int FileCalls::Open(const std::string& path, int flags) { return open(path.c_str(), flags, 0600); }
ssize_t FileCalls::Write(int fd, const char* data, size_t size) { return write(fd, data, size); }
int FileCalls::Truncate(int fd, off_t size) { return ftruncate(fd, size); }
int FileCalls::Sync(int fd) { return fdatasync(fd); }

int FileCalls::DropPages(int fd, off_t offset) {
  errno = posix_fadvise(fd, offset, 0, POSIX_FADV_DONTNEED);
  return errno == 0 ? 0 : -1;
}

int FileCalls::Link(const std::string& from, const std::string& to) { return link(from.c_str(), to.c_str()); }
int FileCalls::Rename(const std::string& from, const std::string& to) { return rename(from.c_str(), to.c_str()); }

int FileCalls::Unlink(const std::string& path) { return unlink(path.c_str()); }

int FileCalls::SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

FileCalls& FileCalls::System() {
  static FileCalls& calls = *new FileCalls;
  return calls;
}

absl::StatusOr<std::unique_ptr<AuditFile>> AuditFile::Open(const std::string& path, FileCalls& calls) {
  const int fd = calls.Open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return SystemError("cannot be opened");
  std::unique_ptr<AuditFile> file(new AuditFile(path, calls, fd));
  // The sync comes first, because the system drops only pages that it considers written.
  if (calls.Sync(fd) != 0) return SystemError("cannot be written to disk");
  if (calls.DropPages(fd, 0) != 0) return SystemError("cannot be dropped from the page cache");
  struct stat state;
  if (fstat(fd, &state) != 0) return SystemError("cannot be examined");
  file->size_ = state.st_size;
  return file;
}

AuditFile::~AuditFile() { close(fd_); }

absl::Status AuditFile::CutTo(int64_t size) {
  if (calls_.Truncate(fd_, size) != 0) return SystemError("cannot be truncated");
  if (calls_.Sync(fd_) != 0) return SystemError("cannot be written to disk");
  ABSL_ASSIGN_OR_RETURN(std::string end, ReadEnd(size));
  size_ = size;
  end_ = std::move(end);
  return absl::OkStatus();
}

absl::Status AuditFile::Append(absl::string_view bytes) {
  ABSL_RETURN_IF_ERROR(Prepare());
  dirty_ = true;
  absl::Status status = WriteAll(fd_, bytes);
  if (status.ok() && calls_.Sync(fd_) != 0) status = SystemError("cannot be written to disk");
  if (!status.ok()) {
    // Repairs the file now, so that the file has no torn record if the process ends before the next Append. If this
    // repair fails, the next Append repeats it.
    Repair().IgnoreError();
    return broken_.ok() ? status : broken_;
  }
  dirty_ = false;
  size_ += static_cast<int64_t>(bytes.size());
  Remember(bytes);
  return absl::OkStatus();
}

absl::Status AuditFile::StartAnew(const std::string& old_path, absl::string_view bytes) {
  // After a failed append, the old file possibly has bytes after its durable content. It must not keep them.
  ABSL_RETURN_IF_ERROR(Prepare());
  const std::string next = absl::StrCat(path_, ".next");
  calls_.Unlink(next);  // this file exists if a process ended during StartAnew
  const int fd = calls_.Open(next, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return SystemError("a new file cannot be created");
  absl::Status status = WriteAll(fd, bytes);
  if (status.ok() && calls_.Sync(fd) != 0) status = SystemError("a new file cannot be written to disk");
  // Gives the old file a second name. Afterwards, renames the new file to the first name. After a crash between the two
  // steps, the first name still refers to the old file.
  if (status.ok() && !Link(path_, old_path, calls_)) {
    status = SystemError("cannot be hard-linked to the name that it gets as a closed file");
  }
  // Until the folder is synced, a power cut can undo the link but not the rename after it. Then the old file would have
  // no name.
  if (status.ok() && calls_.SyncFolderOf(path_) != 0) {
    status = SystemError("the name that it gets as a closed file cannot be written to disk");
  }
  if (status.ok() && calls_.Rename(next, path_) != 0) status = SystemError("cannot be replaced by a new file");
  if (!status.ok()) {
    close(fd);
    calls_.Unlink(next);
    return status;
  }
  close(std::exchange(fd_, fd));
  size_ = static_cast<int64_t>(bytes.size());
  end_.clear();
  Remember(bytes);
  // Until the folder is synced, a power cut can restore the old file under the first name. Such a power cut would lose
  // the records of the new file.
  if (calls_.SyncFolderOf(path_) != 0) {
    return GiveUp(absl::DataLossError(
        absl::StrCat("was replaced by a new file whose name cannot be written to disk: ", std::strerror(errno))));
  }
  return absl::OkStatus();
}

absl::Status AuditFile::Rename(const std::string& from, const std::string& to, FileCalls& calls) {
  if (!Link(from, to, calls)) return SystemError(absl::StrCat("its closed file ", from, " cannot be renamed to ", to));
  // Without the sync, a power cut could remove both names.
  if (calls.SyncFolderOf(to) != 0)
    return SystemError(absl::StrCat("the name ", to, " of its closed file cannot be written to disk"));
  if (calls.Unlink(from) != 0)
    return SystemError(absl::StrCat("the name ", from, " of its closed file cannot be removed"));
  return absl::OkStatus();
}

bool AuditFile::Is(const std::string& path) const {
  struct stat state;
  return fstat(fd_, &state) == 0 && IsSameFile(path, state);
}

absl::Status AuditFile::WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = calls_.Write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError("cannot be written");
    if (put == 0) return absl::UnavailableError("cannot be written");
    bytes.remove_prefix(std::min(static_cast<size_t>(put), bytes.size()));
  }
  return absl::OkStatus();
}

// Makes the content of the file its durable content. Fails if the file has a fault that cannot be repaired.
absl::Status AuditFile::Prepare() {
  if (!broken_.ok()) return broken_;
  return dirty_ ? Repair() : Check();
}

// Checks that no other process has changed, renamed or removed the file.
absl::Status AuditFile::Check() {
  struct stat state;
  if (fstat(fd_, &state) != 0) return SystemError("cannot be examined");
  if (!IsSameFile(path_, state)) return GiveUp(absl::DataLossError("was removed or renamed by another process"));
  if (state.st_size < size_ || (state.st_size > size_ && !dirty_)) {
    return GiveUp(absl::DataLossError(
        absl::StrCat("was changed by another process: it has ", state.st_size, " bytes instead of ", size_)));
  }
  return absl::OkStatus();
}

absl::Status AuditFile::Repair() {
  ABSL_RETURN_IF_ERROR(Check());
  if (calls_.Truncate(fd_, size_) != 0) return SystemError("cannot be truncated to its durable size");
  if (calls_.Sync(fd_) != 0) return SystemError("cannot be written to disk after it was truncated");
  // Drops the last bytes from the page cache, so that ReadEnd reads them from the disk.
  if (calls_.DropPages(fd_, std::max<int64_t>(0, size_ - kEndBytes) / kEndBytes * kEndBytes) != 0) {
    return SystemError("cannot be dropped from the page cache");
  }
  ABSL_ASSIGN_OR_RETURN(std::string end, ReadEnd(size_));
  if (end != end_)
    return GiveUp(
        absl::DataLossError("has lost durable bytes: the disk returns other bytes than those that were synced"));
  dirty_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::string> AuditFile::ReadEnd(int64_t size) const {
  std::string end(static_cast<size_t>(std::min(size, kEndBytes)), '\0');
  size_t done = 0;
  while (done < end.size()) {
    ABSL_ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, size - static_cast<int64_t>(end.size() - done),
                                                   end.data() + done, end.size() - done));
    if (got == 0) return absl::UnavailableError("cannot be read to its end");
    done += got;
  }
  return end;
}

absl::Status AuditFile::GiveUp(absl::Status why) {
  broken_ = std::move(why);
  return broken_;
}

void AuditFile::Remember(absl::string_view bytes) {
  end_.append(bytes.data(), bytes.size());
  if (end_.size() > kEndBytes) end_.erase(0, end_.size() - kEndBytes);
}

}  // namespace stampgate
