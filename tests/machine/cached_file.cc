#include "tests/machine/cached_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "tests/machine/next.h"
#include "tests/machine/watched_path.h"

namespace stampgate {
namespace {

constexpr int64_t kMaxPages = 1 << 18;

// Aborts the process unless `ok`: if this library cannot track the files, every later result of the test would be
// wrong.
void Must(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::abort();
}

int OpenState(const char* kind, ino_t inode) {
  const std::string path = std::string(ControlFolder()) + "/" + kind + "/" + std::to_string(inode);
  const int fd = NEXT(open)(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  Must(fd >= 0, path.c_str());
  return fd;
}

int64_t SizeOf(int fd) {
  struct stat file;
  Must(fstat(fd, &file) == 0, "fstat");
  return file.st_size;
}

// Reads a page and returns the number of bytes read. Fills the part after the end of the file with zeros.
int64_t ReadPage(int fd, int64_t page, char* bytes) {
  std::memset(bytes, 0, CachedFile::kPageBytes);
  const ssize_t got = pread(fd, bytes, CachedFile::kPageBytes, page * CachedFile::kPageBytes);
  Must(got >= 0, "pread");
  return got;
}

void Put(int fd, const char* bytes, int64_t size, int64_t offset) {
  Must(NEXT(pwrite)(fd, bytes, static_cast<size_t>(size), offset) == size, "pwrite");
}

}  // namespace

CachedFile* CachedFile::Of(int fd) {
  if (GetControl() == nullptr) return nullptr;
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return nullptr;
  static auto& files = *new std::unordered_map<ino_t, CachedFile*>;
  // An inode number always means the same file, because this library's unlink() and rename() keep files that lose their
  // last name.
  if (const auto found = files.find(file.st_ino); found != files.end()) return found->second;
  const std::optional<std::string> name = WatchedNameOf(PathOf(fd));
  if (!name || !IsTracked(*name)) return nullptr;
  return files.emplace(file.st_ino, new CachedFile(fd, file.st_ino, *name)).first->second;
}

CachedFile::CachedFile(int fd, ino_t inode, std::string name) : name_(std::move(name)) {
  // This descriptor is never closed. Closing it would release the process's locks on the file.
  cache_fd_ = NEXT(open)(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC);
  Must(cache_fd_ >= 0, name_.c_str());
  disk_fd_ = OpenState("disk", inode);
  const int dirty_fd = OpenState("dirty", inode);
  Must(NEXT(ftruncate)(dirty_fd, kMaxPages) == 0, "ftruncate");
  void* mapped = mmap(nullptr, kMaxPages, PROT_READ | PROT_WRITE, MAP_SHARED, dirty_fd, 0);
  Must(mapped != MAP_FAILED, "mmap");
  close(dirty_fd);
  dirty_ = static_cast<uint8_t*>(mapped);
}

void CachedFile::MarkDirty(int64_t offset, int64_t size) {
  if (size <= 0) return;
  const int64_t end = (offset + size + kPageBytes - 1) / kPageBytes;
  Must(end <= kMaxPages, "a file is larger than the simulated disk allows");
  std::memset(dirty_ + offset / kPageBytes, 1, static_cast<size_t>(end - offset / kPageBytes));
}

void CachedFile::Resize(int64_t size) {
  const int64_t now = Size();
  MarkDirty(std::min(size, now), std::abs(size - now));
}

void CachedFile::Sync() {
  const int64_t pages = Pages();
  for (int64_t page = 0; page < pages; ++page) {
    if (dirty_[page] == 0) continue;
    WritePage(page);
    dirty_[page] = 0;
  }
  Must(NEXT(ftruncate)(disk_fd_, Size()) == 0, "ftruncate");
}

void CachedFile::FailToSync(Control& control) {
  const int64_t pages = Pages();
  const auto keeps = [&control] {
    return static_cast<int64_t>(NextRandom(control) % 256) < Load(control.failing_keep_256);
  };
  for (int64_t page = 0; page < pages; ++page) {
    if (dirty_[page] == 0) continue;
    if (keeps()) WritePage(page);
    dirty_[page] = 0;
  }
  if (keeps()) Must(NEXT(ftruncate)(disk_fd_, Size()) == 0, "ftruncate");
}

void CachedFile::WriteBack(Control& control) {
  const int64_t pages = Pages();
  for (int64_t page = 0; page < pages; ++page) {
    if (dirty_[page] == 0 || NextRandom(control) % 2 == 0) continue;
    WritePage(page);
    dirty_[page] = 0;
  }
}

void CachedFile::Drop(int64_t offset, int64_t size) {
  const int64_t file_size = Size();
  const int64_t end = size == 0 ? file_size : std::min(offset + size, file_size);
  const int64_t first = (offset + kPageBytes - 1) / kPageBytes;
  const int64_t last = end == file_size ? (end + kPageBytes - 1) / kPageBytes : end / kPageBytes;
  char cached[kPageBytes];
  char stored[kPageBytes];
  for (int64_t page = first; page < last; ++page) {
    if (dirty_[page] != 0) continue;
    const int64_t bytes = ReadPage(cache_fd_, page, cached);
    ReadPage(disk_fd_, page, stored);
    if (std::memcmp(cached, stored, static_cast<size_t>(bytes)) != 0) Put(cache_fd_, stored, bytes, page * kPageBytes);
  }
}

int64_t CachedFile::Size() const { return SizeOf(cache_fd_); }

int64_t CachedFile::Pages() const { return (std::max(Size(), SizeOf(disk_fd_)) + kPageBytes - 1) / kPageBytes; }

void CachedFile::WritePage(int64_t page) {
  char bytes[kPageBytes];
  Put(disk_fd_, bytes, ReadPage(cache_fd_, page, bytes), page * kPageBytes);
}

}  // namespace stampgate
