#include "gateway/callers/peer.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/peer_names.h"

namespace stampgate {
namespace {

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

// Returns a text with an explicit length, because it can contain zero bytes.
absl::string_view TextOf(const ASN1_IA5STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<size_t>(ASN1_STRING_length(text))};
}

}  // namespace

Peer PeerOfCertificate(const X509& certificate) {
  Peer peer;
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  size_t uris = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_URI) {
      ++uris;
      peer.spiffe_id = std::string(TextOf(name->d.uniformResourceIdentifier));
    } else if (name->type == GEN_DNS && IsDnsName(TextOf(name->d.dNSName))) {
      peer.dns_names.push_back(absl::AsciiStrToLower(TextOf(name->d.dNSName)));
    }
  }
  if (uris > 0) peer.dns_names.clear();
  if (uris > 1 || !IsSpiffeId(peer.spiffe_id)) peer.spiffe_id.clear();
  return peer;
}

std::string StrangerName(const Peer& peer) {
  if (peer.plaintext_loopback) return "(loopback)";
  if (!peer.spiffe_id.empty()) return absl::StrCat("(", peer.spiffe_id, ")");
  if (peer.dns_names.empty()) return "(nobody)";
  return absl::StrCat("(dns:", absl::StrJoin(peer.dns_names, " dns:"), ")");
}

}  // namespace stampgate
