// The TLS context of a server: its certificate and its rules.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
#define STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>

#include "absl/status/statusor.h"
#include "webhooks/http/tls_files.h"

namespace stampgate {

// TLS 1.2 and later, HTTP/1.1 if the client negotiates a protocol, no client certificates. `snapshot` must have passed
// CheckTlsSnapshot. Errors: kInvalidArgument if OpenSSL refuses it nevertheless, kResourceExhausted.
absl::StatusOr<boost::asio::ssl::context> MakeTlsServerContext(const TlsSnapshot& snapshot);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
