#include "tests/machine/watched_path.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/machine/control.h"

namespace stampgate {

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return size < 0 ? std::string() : std::string(path, static_cast<size_t>(size));
}

std::optional<std::string> WatchedNameOf(const std::string& path) {
  if (path.empty() || path[0] != '/') return std::nullopt;
  const std::string watched = WatchedFolder();
  if (path == watched) return "";
  // Resolves only the folder, because the file itself may not exist.
  char folder[PATH_MAX];
  if (realpath(FolderOf(path).c_str(), folder) == nullptr) return std::nullopt;
  const std::string whole = std::string(folder) + "/" + BaseOf(path);
  if (whole.compare(0, watched.size() + 1, watched + "/") != 0) return std::nullopt;
  return whole.substr(watched.size() + 1);
}

bool IsTracked(const std::string& name) { return !name.ends_with("-shm") && !name.ends_with(".lock"); }

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string BaseOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace stampgate
