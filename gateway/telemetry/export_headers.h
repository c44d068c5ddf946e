// The headers that an operator wants in each export, such as a collector's API key.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_EXPORT_HEADERS_H_
#define STAMPGATE_GATEWAY_TELEMETRY_EXPORT_HEADERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/secret/bytes.h"

namespace stampgate {

// Returns the headers in the contents of a headers file, each in the form "name: value". The file has one header in
// each line; it may have empty lines. A name consists of a-z, 0-9, '-', '_' and '.', and is not a name that gRPC or
// HTTP itself uses. A value consists of visible ASCII characters and spaces. Errors: kInvalidArgument, with a message
// that names the line but quotes nothing of it.
//
// The headers are secrets outside of locked memory, because libcurl copies them too.
absl::StatusOr<std::vector<std::string>> ParseExportHeaders(const SecretBytes& file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_EXPORT_HEADERS_H_
