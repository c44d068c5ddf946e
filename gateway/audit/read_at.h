// Reads a range of an open file.
#ifndef STAMPGATE_GATEWAY_AUDIT_READ_AT_H_
#define STAMPGATE_GATEWAY_AUDIT_READ_AT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace stampgate {

// Reads up to `size` bytes of the file `fd`, beginning at `offset`. Returns the number of bytes read, which is 0 only
// at the file's end. If a signal interrupts the read, repeats the read. Errors: kUnavailable.
absl::StatusOr<size_t> ReadAt(int fd, int64_t offset, char* data, size_t size);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_READ_AT_H_
