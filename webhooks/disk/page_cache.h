// What the system's page cache holds of a file, for tests.
#ifndef STAMPGATE_WEBHOOKS_DISK_PAGE_CACHE_H_
#define STAMPGATE_WEBHOOKS_DISK_PAGE_CACHE_H_

#include <cstddef>
#include <string>

namespace stampgate {

// Creates the file `path` with 4 MiB of data, which the page cache holds and which nobody has synced.
void WriteUnsyncedFile(const std::string& path);

// The number of the file's pages in the page cache.
size_t CachedPages(const std::string& path);

// Whether the system drops a synced file of `folder` from the page cache on request. It drops no file of a tmpfs.
bool CanDropPages(const std::string& folder);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_PAGE_CACHE_H_
