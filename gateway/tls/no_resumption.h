// TLS sessions of clients that showed a certificate, which would outlive it.
#ifndef STAMPGATE_GATEWAY_TLS_NO_RESUMPTION_H_
#define STAMPGATE_GATEWAY_TLS_NO_RESUMPTION_H_

#include "absl/status/status.h"

namespace stampgate {

// From now on no TLS server of this process that requires client certificates resumes a session: every connection is a
// full handshake, in which the certificate is verified. With a resumed session OpenSSL does not verify it again: a
// client with a session would need neither the key nor a certificate that has not expired. gRPC 1.51 has no setting
// for it.
// Thread-safe; once is enough. It must be done before the first such server.
absl::Status RefuseToResumeSessions();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TLS_NO_RESUMPTION_H_
