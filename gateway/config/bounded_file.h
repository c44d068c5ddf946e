// Small files that are read whole.
#ifndef STAMPGATE_GATEWAY_CONFIG_BOUNDED_FILE_H_
#define STAMPGATE_GATEWAY_CONFIG_BOUNDED_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace stampgate {

// Reads the regular file at `path`, symbolic links followed, of `max_bytes` at most. Errors: kUnavailable,
// kInvalidArgument; the message goes on after the name of the setting.
absl::StatusOr<std::string> ReadBoundedFile(const std::string& path, size_t max_bytes);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_BOUNDED_FILE_H_
