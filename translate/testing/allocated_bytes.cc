#include "translate/testing/allocated_bytes.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

size_t allocated_bytes = 0;
size_t peak_bytes = 0;

void* Allocate(size_t size) {
  void* const place = std::malloc(size);
  if (place == nullptr) std::abort();
  allocated_bytes += malloc_usable_size(place);
  peak_bytes = std::max(peak_bytes, allocated_bytes);
  return place;
}

void Free(void* place) {
  if (place != nullptr) allocated_bytes -= malloc_usable_size(place);
  std::free(place);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t& /*tag*/) noexcept { return Allocate(size); }
void operator delete(void* place) noexcept { Free(place); }
void operator delete[](void* place) noexcept { Free(place); }
void operator delete(void* place, size_t /*size*/) noexcept { Free(place); }
void operator delete[](void* place, size_t /*size*/) noexcept { Free(place); }

namespace stampgate::testing {

size_t AllocatedBytes() { return allocated_bytes; }

size_t PeakBytes() { return peak_bytes; }

void ResetPeak() { peak_bytes = allocated_bytes; }

}  // namespace stampgate::testing
