// Replaces the library functions that change files and folders, and simulates a page cache and a disk that can fail.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <mutex>
#include <optional>
#include <string>

#include "tests/machine/cached_file.h"
#include "tests/machine/control.h"
#include "tests/machine/folder_entries.h"
#include "tests/machine/next.h"
#include "tests/machine/watched_path.h"

namespace stampgate {
namespace {

std::mutex& Lock() {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

int FailWith(int error) {
  errno = error;
  return -1;
}

bool IsRegular(int fd) {
  struct stat file;
  return GetControl() != nullptr && fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

// Returns true if the disk has enough free space for the file to grow to the size `end`, and takes this space.
bool HasRoom(const CachedFile& file, int64_t end) {
  Control& control = *GetControl();
  const int64_t growth = end - file.Size();
  const int64_t free = Load(control.free_bytes);
  if (growth <= 0 || free < 0) return true;
  if (growth > free) {
    Add(control.refused, 1);
    return false;
  }
  Add(control.free_bytes, -growth);
  return true;
}

// Calls `write()`, which writes `bytes` bytes at `offset` or, if there is no offset, at the position of the descriptor,
// and tracks the write.
template <typename Write>
ssize_t WriteTracked(int fd, int64_t bytes, std::optional<int64_t> offset, const Write& write) {
  if (!IsRegular(fd)) return write();
  std::lock_guard lock(Lock());
  CachedFile* file = CachedFile::Of(fd);
  if (file == nullptr) return write();
  const bool appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
  const int64_t at = appends ? file->Size() : offset ? *offset : lseek(fd, 0, SEEK_CUR);
  if (!HasRoom(*file, at + bytes)) return FailWith(ENOSPC);
  file->MarkDirty(at, bytes);
  const ssize_t result = write();
  Control& control = *GetControl();
  if (result > 0 && static_cast<int64_t>(NextRandom(control) % 1024) < Load(control.write_back_1024)) {
    file->WriteBack(control);
  }
  return result;
}

int64_t BytesOf(const iovec* parts, int count) {
  int64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += static_cast<int64_t>(parts[i].iov_len);
  return bytes;
}

template <typename Truncate>
int TruncateTracked(int fd, int64_t size, const Truncate& truncate) {
  if (!IsRegular(fd)) return truncate();
  std::lock_guard lock(Lock());
  CachedFile* file = CachedFile::Of(fd);
  if (file == nullptr) return truncate();
  // Also if the disk is full: a file that grows in this way gets a hole, which takes no space.
  file->Resize(size);
  return truncate();
}

// Calls `allocate()`, and tracks the allocation. Returns 0 or an errno.
template <typename Allocate>
int AllocateTracked(int fd, int64_t offset, int64_t size, const Allocate& allocate) {
  if (!IsRegular(fd)) return allocate();
  std::lock_guard lock(Lock());
  CachedFile* file = CachedFile::Of(fd);
  if (file == nullptr) return allocate();
  if (!HasRoom(*file, offset + size)) return ENOSPC;
  file->MarkDirty(offset, size);
  return allocate();
}

// Waits as long as the test lets a sync of the file `name` wait. Returns true if the sync must then fail.
bool WaitAndFails(Control& control, const std::string& name) {
  if (const int64_t slow_us = Load(control.slow_us); slow_us > 0) usleep(static_cast<useconds_t>(slow_us));
  if (name.find(control.match) == std::string::npos) return false;
  if (Load(control.hanging) != 0 && !TakeOne(control.hanging, 1)) {
    Add(control.waiting, 1);
    while (Load(control.hanging) != 0) usleep(500);
    Add(control.waiting, -1);
  }
  if (Load(control.failing_count) == 0 || TakeOne(control.failing_skip)) return false;
  return TakeOne(control.failing_count);
}

int SyncFile(int fd) {
  Control& control = *GetControl();
  std::unique_lock lock(Lock());
  CachedFile* file = CachedFile::Of(fd);
  if (file == nullptr) return 0;
  lock.unlock();
  const bool fails = WaitAndFails(control, file->name());
  lock.lock();
  if (fails) {
    file->FailToSync(control);
    Add(control.failed, 1);
    return FailWith(EIO);
  }
  file->Sync();
  Add(control.syncs, 1);
  return 0;
}

int SyncFolder(int fd) {
  const std::optional<std::string> folder = WatchedNameOf(PathOf(fd));
  if (!folder) return 0;
  Control& control = *GetControl();
  if (WaitAndFails(control, *folder + "/")) {
    Add(control.failed, 1);
    return FailWith(EIO);
  }
  std::lock_guard lock(Lock());
  SyncEntries(*folder);
  Add(control.syncs, 1);
  return 0;
}

// Syncs a file. Does not sync watched files to the real disk: this makes tests faster, and tests do not cut the power
// of the real disk.
template <typename Sync>
int SyncTracked(int fd, const Sync& sync) {
  struct stat file;
  if (GetControl() == nullptr || fstat(fd, &file) != 0) return sync();
  if (S_ISREG(file.st_mode)) return SyncFile(fd);
  return S_ISDIR(file.st_mode) ? SyncFolder(fd) : sync();
}

template <typename Advise>
int AdviseTracked(int fd, int64_t offset, int64_t size, int advice, const Advise& advise) {
  if (advice != POSIX_FADV_DONTNEED || !IsRegular(fd)) return advise();
  std::lock_guard lock(Lock());
  CachedFile* file = CachedFile::Of(fd);
  if (file == nullptr) return advise();
  file->Drop(offset, size);
  return 0;
}

std::string Absolute(int folder_fd, const char* path) {
  if (path[0] == '/') return path;
  if (folder_fd == AT_FDCWD) {
    char folder[PATH_MAX];
    return getcwd(folder, sizeof folder) == nullptr ? std::string() : std::string(folder) + "/" + path;
  }
  return PathOf(folder_fd) + "/" + path;
}

template <typename Open>
int OpenTracked(int folder_fd, const char* path, int flags, const Open& open) {
  if (GetControl() == nullptr || (flags & (O_CREAT | O_TRUNC)) == 0 || (flags & O_TMPFILE) == O_TMPFILE) return open();
  const std::string absolute = Absolute(folder_fd, path);
  const std::optional<std::string> name = WatchedNameOf(absolute);
  if (!name) return open();
  std::lock_guard lock(Lock());
  struct stat before;
  const bool exists = lstat(absolute.c_str(), &before) == 0;
  if (exists && (flags & O_TRUNC) != 0) {
    if (const int fd = NEXT(open)(absolute.c_str(), O_RDWR | O_CLOEXEC); fd >= 0) {
      if (CachedFile* file = CachedFile::Of(fd)) file->Resize(0);
      // This close releases the process's locks on the file. The release does no harm, because no process truncates a
      // file that it has locked.
      close(fd);
    }
  }
  const int fd = open();
  const int error = errno;
  if (fd >= 0 && !exists) NoteEntries(FolderOf(*name));
  errno = error;
  return fd;
}

// Call before the name `path` is removed. If `path` is the file's last name, gives the file another name in the control
// folder, so that its inode number is not reused while the disk may still have the old name.
void KeepFile(const std::string& path) {
  struct stat file;
  if (lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink != 1) return;
  const std::string kept = std::string(ControlFolder()) + "/kept/" + std::to_string(file.st_ino);
  NEXT(link)(path.c_str(), kept.c_str());
}

// Calls `change()`, which adds or removes the name `path` or makes it refer to another file, and records the names of
// the folder.
template <typename Change>
int ChangeName(int folder_fd, const char* path, const Change& change) {
  if (GetControl() == nullptr) return change();
  const std::string absolute = Absolute(folder_fd, path);
  const std::optional<std::string> name = WatchedNameOf(absolute);
  if (!name) return change();
  std::lock_guard lock(Lock());
  KeepFile(absolute);
  const int result = change();
  const int error = errno;
  NoteEntries(FolderOf(*name));
  errno = error;
  return result;
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

}  // namespace
}  // namespace stampgate

using namespace stampgate;  // NOLINT: the functions below cannot be in a namespace

extern "C" {

#define OPEN(name)                                                                            \
  int name(const char* path, int flags, ...) {                                                \
    va_list arguments;                                                                        \
    va_start(arguments, flags);                                                               \
    const mode_t mode = ModeOf(flags, arguments);                                             \
    va_end(arguments);                                                                        \
    return OpenTracked(AT_FDCWD, path, flags, [&] { return NEXT(name)(path, flags, mode); }); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                      \
  int name(int folder_fd, const char* path, int flags, ...) {                                             \
    va_list arguments;                                                                                    \
    va_start(arguments, flags);                                                                           \
    const mode_t mode = ModeOf(flags, arguments);                                                         \
    va_end(arguments);                                                                                    \
    return OpenTracked(folder_fd, path, flags, [&] { return NEXT(name)(folder_fd, path, flags, mode); }); \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void* bytes, size_t size) {
  return WriteTracked(fd, static_cast<int64_t>(size), std::nullopt, [&] { return NEXT(write)(fd, bytes, size); });
}

ssize_t writev(int fd, const iovec* parts, int count) {
  const auto next = [&] { return NEXT(writev)(fd, parts, count); };
  return WriteTracked(fd, BytesOf(parts, count), std::nullopt, next);
}

#define PWRITE(name)                                                                                                  \
  ssize_t name(int fd, const void* bytes, size_t size, off_t offset) {                                                \
    return WriteTracked(fd, static_cast<int64_t>(size), offset, [&] { return NEXT(name)(fd, bytes, size, offset); }); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PWRITEV(name)                                                                                             \
  ssize_t name(int fd, const iovec* parts, int count, off_t offset) {                                             \
    return WriteTracked(fd, BytesOf(parts, count), offset, [&] { return NEXT(name)(fd, parts, count, offset); }); \
  }
PWRITEV(pwritev)
PWRITEV(pwritev64)

#define FTRUNCATE(name)                                                     \
  int name(int fd, off_t size) noexcept {                                   \
    return TruncateTracked(fd, size, [&] { return NEXT(name)(fd, size); }); \
  }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

#define FALLOCATE(name)                                                                                         \
  int name(int fd, int mode, off_t offset, off_t size) {                                                        \
    const int error =                                                                                           \
        AllocateTracked(fd, offset, size, [&] { return NEXT(name)(fd, mode, offset, size) == 0 ? 0 : errno; }); \
    return error == 0 ? 0 : FailWith(error);                                                                    \
  }
FALLOCATE(fallocate)
FALLOCATE(fallocate64)

#define POSIX_FALLOCATE(name)                                                               \
  int name(int fd, off_t offset, off_t size) {                                              \
    return AllocateTracked(fd, offset, size, [&] { return NEXT(name)(fd, offset, size); }); \
  }
POSIX_FALLOCATE(posix_fallocate)
POSIX_FALLOCATE(posix_fallocate64)

int fsync(int fd) {
  return SyncTracked(fd, [&] { return NEXT(fsync)(fd); });
}

int fdatasync(int fd) {
  return SyncTracked(fd, [&] { return NEXT(fdatasync)(fd); });
}

#define POSIX_FADVISE(name)                                                                               \
  int name(int fd, off_t offset, off_t size, int advice) noexcept {                                       \
    return AdviseTracked(fd, offset, size, advice, [&] { return NEXT(name)(fd, offset, size, advice); }); \
  }
POSIX_FADVISE(posix_fadvise)
POSIX_FADVISE(posix_fadvise64)

int unlink(const char* path) noexcept {
  return ChangeName(AT_FDCWD, path, [&] { return NEXT(unlink)(path); });
}

int unlinkat(int folder_fd, const char* path, int flags) noexcept {
  return ChangeName(folder_fd, path, [&] { return NEXT(unlinkat)(folder_fd, path, flags); });
}

int remove(const char* path) noexcept {
  return ChangeName(AT_FDCWD, path, [&] { return NEXT(remove)(path); });
}

int rename(const char* from, const char* to) noexcept {
  return ChangeName(AT_FDCWD, to, [&] { return NEXT(rename)(from, to); });
}

int renameat(int from_fd, const char* from, int to_fd, const char* to) noexcept {
  return ChangeName(to_fd, to, [&] { return NEXT(renameat)(from_fd, from, to_fd, to); });
}

int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) noexcept {
  return ChangeName(to_fd, to, [&] { return NEXT(renameat2)(from_fd, from, to_fd, to, flags); });
}

int link(const char* from, const char* to) noexcept {
  return ChangeName(AT_FDCWD, to, [&] { return NEXT(link)(from, to); });
}

int linkat(int from_fd, const char* from, int to_fd, const char* to, int flags) noexcept {
  return ChangeName(to_fd, to, [&] { return NEXT(linkat)(from_fd, from, to_fd, to, flags); });
}

}  // extern "C"
