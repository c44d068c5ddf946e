// Makes the TLS context of a server from its certificate, its key and the CAs of its clients.
#ifndef STAMPGATE_BASE_HTTP_TLS_CONTEXT_H_
#define STAMPGATE_BASE_HTTP_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>

#include "absl/status/statusor.h"
#include "base/http/tls_files.h"

namespace stampgate {

// The protocol that a port serves over TLS.
enum class TlsProtocol { kHttp11, kHttp2 };

// Returns a context that accepts TLS 1.2 and later, and resumes no TLS sessions: each connection is a full handshake,
// in which the client's certificate is verified. If `snapshot` has CAs of clients, the context requires a certificate
// that one of them has issued; otherwise it asks clients for no certificate. If a client negotiates a protocol (ALPN),
// only `protocol` is accepted. Requires that `snapshot` has passed CheckTlsSnapshot. Errors: kInvalidArgument if
// OpenSSL still refuses `snapshot`; kResourceExhausted if memory is short.
absl::StatusOr<boost::asio::ssl::context> MakeTlsServerContext(const TlsSnapshot& snapshot, TlsProtocol protocol);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_TLS_CONTEXT_H_
