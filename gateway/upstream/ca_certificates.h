// Checks the CA certificates with which the client verifies a server's certificate.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CA_CERTIFICATES_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CA_CERTIFICATES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Checks that `pem` contains at least one certificate, and no PEM block that cannot be read. Errors: kInvalidArgument,
// with a message that contains no path.
absl::Status CheckCaCertificates(absl::string_view pem);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CA_CERTIFICATES_H_
