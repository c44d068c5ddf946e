// Certificates that gRPC cannot read, which would end the process.
#ifndef STAMPGATE_GATEWAY_TLS_CLIENT_CERTIFICATE_FILTER_H_
#define STAMPGATE_GATEWAY_TLS_CLIENT_CERTIFICATE_FILTER_H_

#include <openssl/x509.h>

#include "absl/status/status.h"
#include "webhooks/http/tls_files.h"

namespace stampgate {

// Whether gRPC can read the names in a certificate. gRPC 1.51 aborts on one whose common name is no text, or which
// names an IP address of another size than 4 or 16 bytes; that an authority signed it is no help, as few look so
// closely.
bool GrpcCanRead(const X509* certificate);

// The same of the certificate that a port of gRPC's is to serve. Errors: kInvalidArgument, with the path and the rule.
absl::Status CheckThatGrpcCanRead(const TlsSnapshot& snapshot, const TlsFiles& files);

// From now on OpenSSL refuses, in this whole process, client certificates that gRPC cannot read: they are "unsuitable
// certificate purpose" while the handshake still goes on. Thread-safe; once is enough. It must be done before the first
// server that asks for client certificates.
absl::Status RefuseClientsThatGrpcCannotRead();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TLS_CLIENT_CERTIFICATE_FILTER_H_
