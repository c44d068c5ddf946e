#include "gateway/callers/peer.h"

#include <grpc/grpc_security_constants.h>

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "gateway/callers/peer_names.h"
#include "webhooks/http/listen_address.h"

namespace stampgate {
namespace {

constexpr char kInsecure[] = "insecure";  // gRPC has no public constant for it

// Returns the values of a property as texts with explicit lengths, because values can contain zero bytes.
std::vector<absl::string_view> ValuesOf(const grpc::AuthContext& context, const char* name) {
  std::vector<absl::string_view> values;
  for (const grpc::string_ref& value : context.FindPropertyValues(name))
    values.emplace_back(value.data(), value.size());
  return values;
}

// Whether `address` is a loopback address with a port: "ipv4:127.0.0.1:80", "ipv6:[::1]:80" or, as gRPC 1.51 spells it,
// "ipv6:%5B::1%5D:80".
bool IsLoopback(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return false;
  address.remove_suffix(address.size() - colon);
  if (absl::ConsumePrefix(&address, "ipv4:")) return IsLoopbackIp(std::string(address));
  if (!absl::ConsumePrefix(&address, "ipv6:")) return false;
  const bool plain = absl::ConsumePrefix(&address, "[") && absl::ConsumeSuffix(&address, "]");
  const bool escaped = absl::ConsumePrefix(&address, "%5B") && absl::ConsumeSuffix(&address, "%5D");
  return (plain || escaped) && IsLoopbackIp(std::string(address));
}

bool IsTls(absl::string_view transport) {
  return transport == GRPC_SSL_TRANSPORT_SECURITY_TYPE || transport == GRPC_TLS_TRANSPORT_SECURITY_TYPE;
}

absl::string_view TransportOf(const grpc::AuthContext& context) {
  const std::vector<absl::string_view> transports = ValuesOf(context, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return transports.empty() ? kInsecure : transports.size() == 1 ? transports[0] : "several";
}

Peer ReadCertificate(const grpc::AuthContext& context) {
  Peer peer;
  const std::vector<absl::string_view> uris = ValuesOf(context, GRPC_PEER_URI_PROPERTY_NAME);
  if (uris.size() == 1 && IsSpiffeId(uris[0])) peer.spiffe_id = std::string(uris[0]);
  if (!uris.empty()) return peer;
  for (const absl::string_view name : ValuesOf(context, GRPC_PEER_DNS_PROPERTY_NAME)) {
    if (IsDnsName(name)) peer.dns_names.push_back(absl::AsciiStrToLower(name));
  }
  return peer;
}

}  // namespace

Peer PeerOf(const grpc::AuthContext& context, absl::string_view address) {
  const absl::string_view transport = TransportOf(context);
  if (IsTls(transport)) return ReadCertificate(context);
  return Peer{.plaintext_loopback = transport == kInsecure && IsLoopback(address), .spiffe_id = {}, .dns_names = {}};
}

Peer PeerOf(const grpc::ServerContextBase& call) {
  const std::shared_ptr<const grpc::AuthContext> context = call.auth_context();
  return context == nullptr ? Peer{} : PeerOf(*context, call.peer());
}

std::string StrangerName(const Peer& peer) {
  if (peer.plaintext_loopback) return "(loopback)";
  if (!peer.spiffe_id.empty()) return absl::StrCat("(", peer.spiffe_id, ")");
  if (peer.dns_names.empty()) return "(nobody)";
  return absl::StrCat("(dns:", absl::StrJoin(peer.dns_names, " dns:"), ")");
}

}  // namespace stampgate
