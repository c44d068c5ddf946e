// Counts the bytes that operator new has allocated. A test that uses this must run on one thread.
#ifndef STAMPGATE_TRANSLATE_TESTING_ALLOCATED_BYTES_H_
#define STAMPGATE_TRANSLATE_TESTING_ALLOCATED_BYTES_H_

#include <cstddef>

namespace stampgate::testing {

// The bytes that are allocated now, with those by which the allocator rounds up.
size_t AllocatedBytes();

// The most bytes that were allocated at a time since ResetPeak.
size_t PeakBytes();
void ResetPeak();

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_ALLOCATED_BYTES_H_
