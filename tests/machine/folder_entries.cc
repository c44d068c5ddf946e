#include "tests/machine/folder_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/machine/control.h"
#include "tests/machine/next.h"

namespace stampgate {
namespace {

std::string StateFile(std::string folder) {
  std::replace(folder.begin(), folder.end(), '/', '%');
  return std::string(ControlFolder()) + "/entries/" + (folder.empty() ? "%" : folder);
}

std::string Listing(const std::string& folder) {
  DIR* entries = opendir((std::string(WatchedFolder()) + "/" + folder).c_str());
  if (entries == nullptr) return "\n";
  std::string listing;
  while (const dirent* entry = readdir(entries)) {
    if (entry->d_type == DT_REG) listing += std::to_string(entry->d_ino) + "/" + entry->d_name + "/";
  }
  closedir(entries);
  return listing + "\n";
}

void WriteListing(const std::string& file, int flags, const std::string& listing) {
  const int fd = NEXT(open)(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (fd < 0 || NEXT(write)(fd, listing.data(), listing.size()) != static_cast<ssize_t>(listing.size())) {
    std::perror(file.c_str());
    std::abort();
  }
  close(fd);
}

}  // namespace

void NoteEntries(const std::string& folder) { WriteListing(StateFile(folder), O_APPEND, Listing(folder)); }

void SyncEntries(const std::string& folder) {
  const std::string file = StateFile(folder);
  // Replaces the file with rename(), so that it is complete even if the process is killed during this function.
  WriteListing(file + ".next", O_TRUNC, Listing(folder));
  NEXT(rename)((file + ".next").c_str(), file.c_str());
}

}  // namespace stampgate
