// The certificates of the authorities that a server's certificate is verified with.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CA_CERTIFICATES_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CA_CERTIFICATES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Whether `pem` holds a certificate, and no PEM block that cannot be read. Errors: kInvalidArgument, without the path
// of a file.
absl::Status CheckCaCertificates(absl::string_view pem);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CA_CERTIFICATES_H_
