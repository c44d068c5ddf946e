// Who is at the other end of a connection.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// What a connection proves of its peer. At most one of the three is there; without any the peer is a stranger.
struct Peer {
  bool plaintext_loopback = false;     // no TLS, from an address of this machine
  std::string spiffe_id;               // the certificate's one URI
  std::vector<std::string> dns_names;  // of a certificate without a URI; in lower case

  friend bool operator==(const Peer&, const Peer&) = default;
};

// Of a call to a server with the credentials of ServerTls, which verified the certificate, or with insecure ones.
//
// Only the subject alternative names count, never the subject. A certificate with several URIs, or with one that is no
// SPIFFE ID, says nothing at all, whatever else it has. A DNS name that is none, or a wildcard, does not count.
// See peer_names.h for what is well formed.
Peer PeerOf(const grpc::ServerContextBase& call);

// The same from its parts; `address` is what grpc::ServerContextBase::peer() says.
Peer PeerOf(const grpc::AuthContext& context, absl::string_view address);

// How audit, log and errors name a peer that is no known caller, by what the connection has shown: in brackets, which
// no caller's name has. No certificate can make it "(loopback)", "(nobody)", or a name that the gateway uses itself,
// "(gateway)" or
// "(others)": what a certificate says stands behind "dns:" or "spiffe:".
std::string StrangerName(const Peer& peer);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_H_
