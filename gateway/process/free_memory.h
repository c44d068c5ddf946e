// The heap's free memory, which tcmalloc keeps by itself for later use.
#ifndef STAMPGATE_GATEWAY_PROCESS_FREE_MEMORY_H_
#define STAMPGATE_GATEWAY_PROCESS_FREE_MEMORY_H_

#include <cstddef>

namespace stampgate {

// While the heap has at most this number of free bytes, it keeps them, so that it need not ask the system for them
// again.
inline constexpr size_t kKeptFreeBytes = 32 << 20;

// How many of the free bytes the caches of all threads keep.
inline constexpr size_t kThreadCacheBytes = 8 << 20;

// The functions do nothing in a program that has another allocator.

// Makes the threads keep at most kThreadCacheBytes. After a flood, these bytes lie scattered in memory that could
// otherwise be returned. Call it once.
void LimitThreadCaches();

// If the heap has more than kKeptFreeBytes free bytes, returns all its free pages to the system. By itself, tcmalloc
// returns them slowly, and only while the program frees other memory. For 800 MB this takes about 60 ms, in which
// threads that allocate memory can have to wait. In huge pages, the kernel can keep or fill the returned memory; see
// huge_pages.h.
void ReturnFreeMemory();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_FREE_MEMORY_H_
