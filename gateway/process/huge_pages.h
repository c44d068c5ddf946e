// Huge pages for the heap, with which the processor translates fewer addresses.
#ifndef STAMPGATE_GATEWAY_PROCESS_HUGE_PAGES_H_
#define STAMPGATE_GATEWAY_PROCESS_HUGE_PAGES_H_

#include <cstddef>

namespace stampgate {

// How much of the heap has huge pages. If the heap returns a part of a huge page, the kernel can fill this part again,
// so that a flood can leave the gateway larger by up to this number of bytes.
inline constexpr size_t kHugeHeapBytes = 48 << 20;

// Advises the kernel to use huge pages for the next kHugeHeapBytes that the heap gets from the system, and not to use
// them for what it gets later, also if the system uses them for every program. If the system's setting for transparent
// huge pages is `never`, the kernel ignores the advice. Does nothing in a program that has another allocator than
// tcmalloc. Call it once, before the process has a second thread.
void AdviseHugePages();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_HUGE_PAGES_H_
