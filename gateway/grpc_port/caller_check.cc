#include "gateway/grpc_port/caller_check.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

// The place of the CallerCheck in an SSL.
int Index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Returns the cause of the fault that OpenSSL has found in a chain of certificates, and what can be done.
std::string ChainFault(int error) {
  switch (error) {
    case X509_V_ERR_INVALID_PURPOSE:
      return "it is not for clients: issue a certificate whose extended key usage contains clientAuth";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "no CA of tls.client_ca_file has issued it: add the CA to this file, or make the client send the "
             "certificates of intermediate CAs too";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "it, or a certificate of its chain, has expired: renew it, and compare the clocks";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "it, or a certificate of its chain, is not valid yet: compare the clocks";
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "its signature is not from the CA that it names";
    default:
      return absl::StrCat("OpenSSL: ", X509_verify_cert_error_string(error));
  }
}

}  // namespace

void CallerCheck::Begin(SSL* ssl) {
  SSL_set_ex_data(ssl, Index(), this);
  SSL_set_verify(ssl, SSL_get_verify_mode(ssl), &Verify);
}

void CallerCheck::End(SSL* ssl) { SSL_set_ex_data(ssl, Index(), nullptr); }

// OpenSSL calls this function for each certificate of the chain, for the client's own certificate last, and for each
// fault.
int CallerCheck::Verify(int is_valid, X509_STORE_CTX* store) {
  if (is_valid != 0 && X509_STORE_CTX_get_error_depth(store) != 0) return 1;
  const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const check = static_cast<CallerCheck*>(SSL_get_ex_data(ssl, Index()));
  try {
    if (check != nullptr && check->Accepts(is_valid != 0, store)) return 1;
  } catch (const std::exception&) {  // memory is short; an exception must not leave through OpenSSL
  }
  if (is_valid != 0) X509_STORE_CTX_set_error(store, kNoCallerError);
  return 0;
}

bool CallerCheck::Accepts(bool is_valid, X509_STORE_CTX* store) {
  const X509& certificate = *X509_STORE_CTX_get0_cert(store);
  if (!is_valid) {
    refused_ = {Peer(), NamesForLog(certificate), ChainFault(X509_STORE_CTX_get_error(store))};
    return false;
  }
  Peer peer = PeerOfCertificate(certificate);
  if (is_caller_(peer)) return true;
  std::string fault = IdentityFault(certificate);
  if (fault.empty())
    fault = "no configured caller has this identity: add it to the spiffe_ids or dns_names of a caller";
  refused_ = {std::move(peer), NamesForLog(certificate), std::move(fault)};
  return false;
}

}  // namespace stampgate
