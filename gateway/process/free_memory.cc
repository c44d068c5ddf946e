#include "gateway/process/free_memory.h"

#include <gperftools/malloc_extension_c.h>

// A program with a sanitizer has the sanitizer's allocator.
#pragma weak MallocExtension_GetNumericProperty
#pragma weak MallocExtension_ReleaseFreeMemory
#pragma weak MallocExtension_SetNumericProperty

namespace stampgate {

void LimitThreadCaches() {
  if (MallocExtension_SetNumericProperty == nullptr) return;
  MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", kThreadCacheBytes);
}

void ReturnFreeMemory() {
  if (MallocExtension_GetNumericProperty == nullptr) return;
  size_t free_bytes = 0;
  MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &free_bytes);
  if (free_bytes > kKeptFreeBytes) MallocExtension_ReleaseFreeMemory();
}

}  // namespace stampgate
