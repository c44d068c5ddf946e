#include "gateway/process/free_memory.h"

#include <malloc.h>

namespace stampgate {

void ReturnFreeMemory() {
  if (mallinfo2().fordblks > kKeptFreeBytes) malloc_trim(0);
}

}  // namespace stampgate
