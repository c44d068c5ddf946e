// The identity that a connection proves about its peer.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_H_

#include <openssl/x509.h>

#include <string>
#include <vector>

namespace stampgate {

// At most one of the three fields is set. If no field is set, the peer is a stranger.
struct Peer {
  bool plaintext_loopback = false;     // whether the peer connects without TLS from a loopback address
  std::string spiffe_id;               // the certificate's only URI
  std::vector<std::string> dns_names;  // the names in a certificate without a URI; in lower case

  friend bool operator==(const Peer&, const Peer&) = default;
};

// Returns the peer that has proven to own `certificate`.
//
// The gateway uses only the certificate's subject alternative names, never the subject. If a certificate contains
// several URIs, or a URI that is not a SPIFFE ID, it proves no identity, not even by a DNS name. The gateway ignores
// DNS names that are wildcards or malformed. peer_names.h defines the valid forms of names. A certificate whose names
// OpenSSL cannot read proves no identity. The certificate of a CA proves no identity, and a certificate with a SPIFFE
// ID proves none if its key may sign certificates or lists of revoked certificates (X.509-SVID, section 5.2).
Peer PeerOfCertificate(const X509& certificate);

// Returns the rule by which `certificate` proves no identity, and what its issuer can change. Returns an empty text if
// it proves one.
std::string IdentityFault(const X509& certificate);

// Returns the subject alternative names of `certificate` for the log, such as "uri:https://example.org
// dns:example.org". Escapes all bytes except printable ASCII. Shows at most 8 names, and at most 128 bytes of each.
std::string NamesForLog(const X509& certificate);

// Returns the name by which the audit log, the log and errors refer to an unknown caller. The name is made from the
// identity that the connection has shown. It is in brackets, which no caller's name in the config contains. Names from
// a certificate begin with "dns:" or "spiffe:" inside the brackets. So no certificate can produce "(loopback)",
// "(nobody)", or the names that the gateway uses for other purposes, "(gateway)" and "(others)".
std::string StrangerName(const Peer& peer);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_H_
