// Makes the TLS context of a server from its certificate and key.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
#define STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>

#include "absl/status/statusor.h"
#include "webhooks/http/tls_files.h"

namespace stampgate {

// Returns a context that accepts TLS 1.2 and later, and asks clients for no certificate. If a client negotiates a
// protocol (ALPN), only HTTP/1.1 is accepted. Requires that `snapshot` has passed CheckTlsSnapshot. Errors:
// kInvalidArgument if OpenSSL still refuses `snapshot`; kResourceExhausted if memory is short.
absl::StatusOr<boost::asio::ssl::context> MakeTlsServerContext(const TlsSnapshot& snapshot);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
