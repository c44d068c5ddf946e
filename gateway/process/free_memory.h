// Returns free memory of the heap to the system.
#ifndef STAMPGATE_GATEWAY_PROCESS_FREE_MEMORY_H_
#define STAMPGATE_GATEWAY_PROCESS_FREE_MEMORY_H_

#include <cstddef>

namespace stampgate {

// While the heap has at most this number of free bytes, it keeps them, so that it need not ask the system for them
// again.
inline constexpr size_t kKeptFreeBytes = 32 << 20;

// If the heap has more than kKeptFreeBytes free bytes, returns the whole free pages to the system. By itself, glibc
// returns only the memory at the end of the heap: one small block there keeps all free memory before it. glibc counts
// the returned memory as free too, so later calls search the heap again. Such a search takes about 2 ms for 800 MB, and
// the first one 120 ms, in which threads that allocate memory can have to wait.
void ReturnFreeMemory();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_FREE_MEMORY_H_
