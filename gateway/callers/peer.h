// The identity that a connection proves about its peer.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// At most one of the three is set; without any the peer is a stranger.
struct Peer {
  bool plaintext_loopback = false;     // no TLS, from a loopback address
  std::string spiffe_id;               // the certificate's only URI
  std::vector<std::string> dns_names;  // from a certificate without a URI; in lower case

  friend bool operator==(const Peer&, const Peer&) = default;
};

// The peer of a call to a server with the credentials of ServerTls, which verified the certificate, or with insecure
// ones.
//
// Only subject alternative names count, never the subject. A certificate with several URIs, or with a URI that is not a
// SPIFFE ID, proves nothing, whatever else it contains. A wildcard or malformed DNS name does not count. peer_names.h
// defines the forms.
Peer PeerOf(const grpc::ServerContextBase& call);

// The same from its parts; `address` is the result of grpc::ServerContextBase::peer().
Peer PeerOf(const grpc::AuthContext& context, absl::string_view address);

// The name of an unknown caller in audit, log and errors, made from what its connection has shown. It is in brackets,
// which no caller's name has. No certificate can produce "(loopback)", "(nobody)", or the names that the gateway uses
// itself, "(gateway)" and "(others)", because names from a certificate begin with "dns:" or "spiffe:".
std::string StrangerName(const Peer& peer);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_H_
