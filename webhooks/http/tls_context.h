// A TLS server's certificate and rules.
#ifndef STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
#define STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "webhooks/http/tls_pair.h"

namespace stampgate {

// TLS 1.2 and later, HTTP/1.1 to who negotiates, no client certificates. `files` is for what is said of faults. Errors:
// kInvalidArgument with the file's path and what is wrong with it.
absl::StatusOr<boost::asio::ssl::context> MakeTlsServerContext(const TlsPair& pair, const TlsPairFiles& files);

// Of what the files hold now. Errors: those of ReadTlsPair too.
absl::StatusOr<boost::asio::ssl::context> MakeTlsServerContext(const std::string& certificate_file,
                                                               const std::string& private_key_file);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_TLS_CONTEXT_H_
