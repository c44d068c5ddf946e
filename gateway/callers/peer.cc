#include "gateway/callers/peer.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
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

constexpr int kMostNames = 8;
constexpr size_t kMostNameBytes = 128;

using Names = std::unique_ptr<GENERAL_NAMES, FreeNames>;

// Returns null if the certificate has no subject alternative names, or OpenSSL cannot read them.
Names NamesOf(const X509& certificate) {
  Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  return names;
}

// OpenSSL caches the extensions of a certificate in the certificate, so its functions take no const pointer.
bool IsAuthority(const X509& certificate) {
  return (X509_get_extension_flags(const_cast<X509*>(&certificate)) & EXFLAG_CA) != 0;
}

// Also false if the certificate limits no usage of its key.
bool MaySignCertificates(const X509& certificate) {
  if ((X509_get_extension_flags(const_cast<X509*>(&certificate)) & EXFLAG_KUSAGE) == 0) return false;
  return (X509_get_key_usage(const_cast<X509*>(&certificate)) & (KU_KEY_CERT_SIGN | KU_CRL_SIGN)) != 0;
}

// The identity that a certificate proves, or the reason why it proves none.
struct Proof {
  Peer peer;
  std::string fault;
};

Proof ProofOf(const X509& certificate) {
  if (IsAuthority(certificate)) {
    return {Peer(), "it is the certificate of a CA (CA:TRUE): issue a certificate with CA:FALSE to the caller"};
  }
  const Names names = NamesOf(certificate);
  Peer peer;
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
  if (uris > 1) return {Peer(), "it has several URIs: issue a certificate with one SPIFFE ID, or with DNS names only"};
  if (uris == 1 && !IsSpiffeId(peer.spiffe_id)) {
    return {Peer(),
            "it has a URI that is not a SPIFFE ID of a workload, so its DNS names do not count: issue a certificate "
            "without this URI"};
  }
  if (uris == 1 && MaySignCertificates(certificate)) {
    return {Peer(),
            "its key usage has keyCertSign or cRLSign, which a certificate with a SPIFFE ID must not have: issue a "
            "certificate without them"};
  }
  if (uris == 1) peer.dns_names.clear();
  if (uris == 0 && peer.dns_names.empty()) {
    return {Peer(),
            "it has neither a SPIFFE ID nor a DNS name: issue a certificate with one (the subject does not count)"};
  }
  return {std::move(peer), ""};
}

// Returns the kind of a name; empty for kinds that the gateway does not use.
absl::string_view KindOf(const GENERAL_NAME& name) {
  if (name.type == GEN_URI) return "uri:";
  if (name.type == GEN_DNS) return "dns:";
  return "";
}

}  // namespace

Peer PeerOfCertificate(const X509& certificate) { return ProofOf(certificate).peer; }

std::string IdentityFault(const X509& certificate) { return ProofOf(certificate).fault; }

std::string NamesForLog(const X509& certificate) {
  const Names names = NamesOf(certificate);
  std::vector<std::string> texts;
  int others = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME& name = *sk_GENERAL_NAME_value(names.get(), i);
    const absl::string_view kind = KindOf(name);
    if (kind.empty() || texts.size() == kMostNames) {
      ++others;
      continue;
    }
    // URIs and DNS names have the same type in OpenSSL.
    const absl::string_view bytes = TextOf(name.d.ia5);
    texts.push_back(absl::StrCat(kind, absl::CHexEscape(bytes.substr(0, kMostNameBytes)),
                                 bytes.size() > kMostNameBytes ? "..." : ""));
  }
  if (others > 0) texts.push_back(absl::StrCat("and ", others, " more"));
  return absl::StrJoin(texts, " ");
}

std::string StrangerName(const Peer& peer) {
  if (peer.plaintext_loopback) return "(loopback)";
  if (!peer.spiffe_id.empty()) return absl::StrCat("(", peer.spiffe_id, ")");
  if (peer.dns_names.empty()) return "(nobody)";
  return absl::StrCat("(dns:", absl::StrJoin(peer.dns_names, " dns:"), ")");
}

}  // namespace stampgate
