// The identity that a connection proves about its peer.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// At most one of the three fields is set. If none is set, the peer is a stranger.
struct Peer {
  bool plaintext_loopback = false;     // no TLS, from a loopback address
  std::string spiffe_id;               // the certificate's only URI
  std::vector<std::string> dns_names;  // from a certificate without a URI; in lower case

  friend bool operator==(const Peer&, const Peer&) = default;
};

// Returns the peer of a call. The server must use the credentials of ServerTls, which verified the certificate, or
// insecure credentials.
//
// Only subject alternative names count, never the subject. A certificate with several URIs, or with a URI that is not a
// SPIFFE ID, proves nothing, whatever else it contains. A wildcard or malformed DNS name does not count. peer_names.h
// defines the forms.
Peer PeerOf(const grpc::ServerContextBase& call);

// Returns the peer from the parts of a call. `address` is the result of grpc::ServerContextBase::peer().
Peer PeerOf(const grpc::AuthContext& context, absl::string_view address);

// Returns the name of an unknown caller for the audit, the log and errors, made from the identity that its connection
// has shown. The name is in brackets, which no caller's name contains. Names from a certificate begin with "dns:" or
// "spiffe:". So no certificate can produce "(loopback)", "(nobody)", or the names that the gateway uses itself,
// "(gateway)" and "(others)".
std::string StrangerName(const Peer& peer);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_H_
