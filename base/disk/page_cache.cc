#include "base/disk/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"

namespace stampgate {

void WriteUnsyncedFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0) << path << ": " << std::strerror(errno);
  const absl::Cleanup closing = [fd] { close(fd); };
  const std::string data(4 << 20, 'x');
  ASSERT_EQ(write(fd, data.data(), data.size()), static_cast<ssize_t>(data.size()));
}

size_t CachedPages(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat file = {};
  if (fd < 0 || fstat(fd, &file) != 0 || file.st_size == 0) {
    ADD_FAILURE() << path << " is no file with data: " << std::strerror(errno);
    return 0;
  }
  const absl::Cleanup closing = [fd] { close(fd); };
  const auto size = static_cast<size_t>(file.st_size);
  void* const map = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) {
    ADD_FAILURE() << "mmap: " << std::strerror(errno);
    return 0;
  }
  const absl::Cleanup unmapping = [map, size] { munmap(map, size); };
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<uint8_t> pages((size + page - 1) / page);
  EXPECT_EQ(mincore(map, size, pages.data()), 0) << std::strerror(errno);
  return static_cast<size_t>(absl::c_count_if(pages, [](uint8_t state) { return (state & 1) != 0; }));
}

bool CanDropPages(const std::string& folder) {
  const std::string path = folder + "/probe";
  WriteUnsyncedFile(path);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const bool asked = fd >= 0 && fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
  close(fd);
  const bool dropped = asked && CachedPages(path) == 0;
  unlink(path.c_str());
  return dropped;
}

}  // namespace stampgate
