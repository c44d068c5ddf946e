// Describes for the log why a TLS handshake with a client failed.
#ifndef STAMPGATE_BASE_HTTP_HANDSHAKE_FAULT_H_
#define STAMPGATE_BASE_HTTP_HANDSHAKE_FAULT_H_

#include <string>

namespace stampgate {

// Returns the cause, and what the operator or the client can do. `error` is the first error in OpenSSL's queue after
// the handshake has failed, or 0 if the queue is empty, because the client or the gateway has closed the connection.
// The text contains nothing that the client has sent. Thread-safe.
std::string HandshakeFault(unsigned long error);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_HANDSHAKE_FAULT_H_
