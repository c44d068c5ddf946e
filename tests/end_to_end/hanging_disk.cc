// A library for LD_PRELOAD that makes syncs hang: those of files whose path contains STAMPGATE_HANG_PATH, for as long
// as the file STAMPGATE_HANG_FLAG exists.
#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool Hangs(int fd) {
  const char* part = getenv("STAMPGATE_HANG_PATH");
  const char* flag = getenv("STAMPGATE_HANG_FLAG");
  if (part == nullptr || flag == nullptr || access(flag, F_OK) != 0) return false;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  if (size < 0) return false;
  path[size] = 0;
  return strstr(path, part) != nullptr;
}

int Sync(const char* name, int fd) {
  while (Hangs(fd)) usleep(1000);
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(fd);
}

}  // namespace

extern "C" int fsync(int fd) { return Sync("fsync", fd); }
extern "C" int fdatasync(int fd) { return Sync("fdatasync", fd); }
