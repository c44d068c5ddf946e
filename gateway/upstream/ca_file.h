// Files of the authorities that a server's certificate is verified with.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CA_FILE_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CA_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Whether the file can be read and holds a certificate in PEM. Errors: kInvalidArgument; the message goes on after the
// name of the setting.
absl::Status CheckCaFile(const std::string& file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CA_FILE_H_
