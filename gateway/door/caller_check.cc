#include "gateway/door/caller_check.h"

#include <exception>
#include <utility>

namespace stampgate {
namespace {

// The place of the CallerCheck in an SSL.
int Index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

}  // namespace

void CallerCheck::Begin(SSL* ssl) {
  SSL_set_ex_data(ssl, Index(), this);
  SSL_set_verify(ssl, SSL_get_verify_mode(ssl), &Verify);
}

void CallerCheck::End(SSL* ssl) { SSL_set_ex_data(ssl, Index(), nullptr); }

// OpenSSL calls this function for each certificate of the chain, and for the client's own certificate last.
int CallerCheck::Verify(int is_valid, X509_STORE_CTX* store) {
  if (is_valid == 0 || X509_STORE_CTX_get_error_depth(store) != 0) return is_valid;
  const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const check = static_cast<CallerCheck*>(SSL_get_ex_data(ssl, Index()));
  X509_STORE_CTX_set_error(store, kNoCallerError);
  if (check == nullptr) return 0;
  try {
    Peer peer = PeerOfCertificate(*X509_STORE_CTX_get_current_cert(store));
    if (check->is_caller_(peer)) {
      X509_STORE_CTX_set_error(store, X509_V_OK);
      return 1;
    }
    check->refused_ = std::move(peer);
  } catch (const std::exception&) {  // memory is short; an exception must not leave through OpenSSL
  }
  return 0;
}

}  // namespace stampgate
