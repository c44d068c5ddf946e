#include "gateway/process/huge_pages.h"

#ifndef STAMPGATE_SANITIZED
#include <gperftools/malloc_extension.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#endif

namespace stampgate {

#ifdef STAMPGATE_SANITIZED
void AdviseHugePages() {}
#else
namespace {

constexpr size_t kHugePageBytes = 2 << 20;

// Gets memory from the system for tcmalloc, which holds a lock meanwhile and therefore must not be asked for memory.
class HugePageAllocator : public SysAllocator {
 public:
  explicit HugePageAllocator(SysAllocator* system) : system_(system) {}

  void* Alloc(size_t size, size_t* actual_size, size_t alignment) override {
    // Compares before it rounds up, because tcmalloc also passes sizes on that are near the largest number.
    if (size <= kHugeHeapBytes - huge_bytes_) {
      const size_t whole_pages = (size + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
      void* const memory = system_->Alloc(whole_pages, actual_size, std::max(alignment, kHugePageBytes));
      if (memory != nullptr) {
        huge_bytes_ += whole_pages;
        Advise(memory, whole_pages, MADV_HUGEPAGE);
        return memory;
      }
    }
    void* const memory = system_->Alloc(size, actual_size, alignment);
    if (memory != nullptr) Advise(memory, size, MADV_NOHUGEPAGE);
    return memory;
  }

 private:
  // A kernel without huge pages returns an error, which must not show in the caller of malloc.
  static void Advise(void* memory, size_t size, int advice) {
    const int error = errno;
    madvise(memory, size, advice);
    errno = error;
  }

  SysAllocator* const system_;
  size_t huge_bytes_ = 0;
};

}  // namespace

void AdviseHugePages() {
  MallocExtension* const heap = MallocExtension::instance();
  // Is never deleted, because the heap uses it until the process ends.
  heap->SetSystemAllocator(new HugePageAllocator(heap->GetSystemAllocator()));
}
#endif

}  // namespace stampgate
