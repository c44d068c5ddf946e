#include "gateway/upstream/ca_certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace stampgate {
namespace {

void FreeAll(STACK_OF(X509_INFO) * all) { sk_X509_INFO_pop_free(all, X509_INFO_free); }

bool HasCertificate(const STACK_OF(X509_INFO) * all) {
  for (int i = 0; all != nullptr && i < sk_X509_INFO_num(all); ++i) {
    if (sk_X509_INFO_value(all, i)->x509 != nullptr) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckCaCertificates(absl::string_view pem) {
  // Reads `pem` in the same way as X509_STORE_load_file, with which libcurl reads the file.
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                      &BIO_free);
  const std::unique_ptr<STACK_OF(X509_INFO), decltype(&FreeAll)> all(
      bio == nullptr ? nullptr : PEM_X509_INFO_read_bio(bio.get(), nullptr, nullptr, nullptr), &FreeAll);
  ERR_clear_error();
  return HasCertificate(all.get()) ? absl::OkStatus() : absl::InvalidArgumentError("it holds no certificate in PEM");
}

}  // namespace stampgate
