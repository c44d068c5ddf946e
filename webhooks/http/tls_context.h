// A TLS server's certificate and rules.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
#define STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>

#include "absl/status/statusor.h"
#include "webhooks/http/tls_files.h"

namespace stampgate {

// TLS 1.2 and later, HTTP/1.1 to who negotiates, no client certificates. Of what CheckTlsSnapshot has found good.
// Errors: kInvalidArgument if OpenSSL refuses it all the same, kResourceExhausted.
absl::StatusOr<boost::asio::ssl::context> MakeTlsServerContext(const TlsSnapshot& snapshot);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
