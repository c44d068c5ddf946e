// Helpers for tests of the page cache: how much of a file it has, and whether it drops a file on request.
#ifndef STAMPGATE_BASE_DISK_PAGE_CACHE_H_
#define STAMPGATE_BASE_DISK_PAGE_CACHE_H_

#include <cstddef>
#include <string>

namespace stampgate {

// Creates the file `path` and writes 4 MiB to it without a sync, so that only the page cache has the data.
void WriteUnsyncedFile(const std::string& path);

// Returns how many pages of the file `path` are in the page cache.
size_t CachedPages(const std::string& path);

// Returns true if the system drops a synced file in `folder` from the page cache on request. It drops no file of a
// tmpfs.
bool CanDropPages(const std::string& folder);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_PAGE_CACHE_H_
