// The locked memory of a test's process.
#ifndef STAMPGATE_BASE_TESTING_LOCKED_MEMORY_H_
#define STAMPGATE_BASE_TESTING_LOCKED_MEMORY_H_

namespace stampgate {

// Returns how many KiB of memory this process has locked.
int LockedKb();

// Returns true if the test runs under a sanitizer. A sanitizer ignores mlock and keeps freed memory.
bool IsSanitized();

// Makes every later attempt of this process to lock memory fail, even if root runs it. Call it only in a child process.
void ForbidLocking();

}  // namespace stampgate

#endif  // STAMPGATE_BASE_TESTING_LOCKED_MEMORY_H_
