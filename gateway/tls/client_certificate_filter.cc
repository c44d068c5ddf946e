#include "gateway/tls/client_certificate_filter.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "stamp/secret/openssl_ptr.h"

namespace stampgate {
namespace {

using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslDeleter<GENERAL_NAMES_free>>;
using CheckPurpose = int (*)(const X509_PURPOSE*, const X509*, int);

constexpr int kIpv4Bytes = 4;
constexpr int kIpv6Bytes = 16;

bool HasReadableCommonName(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0) return true;
  unsigned char* text = nullptr;
  const bool readable = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index))) >= 0;
  OPENSSL_free(text);
  return readable;
}

bool HasReadableNames(const X509* certificate) {
  const GeneralNamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return true;  // gRPC looks at none either
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_IPADD) continue;
    const int size = ASN1_STRING_length(name->d.iPAddress);
    if (size != kIpv4Bytes && size != kIpv6Bytes) return false;
  }
  return true;
}

CheckPurpose check_client = nullptr;  // OpenSSL's own; set before it is called

int CheckReadableClient(const X509_PURPOSE* purpose, const X509* certificate, int is_authority) {
  if (is_authority == 0 && !GrpcCanRead(certificate)) return 0;
  return check_client(purpose, certificate, is_authority);
}

bool ReplaceClientCheck() {
  X509_PURPOSE* purpose = X509_PURPOSE_get0(X509_PURPOSE_get_by_id(X509_PURPOSE_SSL_CLIENT));
  if (purpose == nullptr) return false;
  check_client = purpose->check_purpose;
  // OpenSSL copies the names before it lets go of the old ones.
  return X509_PURPOSE_add(X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_get_trust(purpose), 0, &CheckReadableClient,
                          X509_PURPOSE_get0_name(purpose), X509_PURPOSE_get0_sname(purpose), nullptr) == 1;
}

}  // namespace

bool GrpcCanRead(const X509* certificate) {
  ERR_set_mark();  // this may be amidst a handshake, whose errors are not ours to clear
  const bool readable = HasReadableCommonName(certificate) && HasReadableNames(certificate);
  ERR_pop_to_mark();
  return readable;
}

absl::Status CheckThatGrpcCanRead(const TlsSnapshot& snapshot, const TlsFiles& files) {
  const std::unique_ptr<BIO, OpensslDeleter<BIO_free>> bio(
      BIO_new_mem_buf(snapshot.certificates.data(), static_cast<int>(snapshot.certificates.size())));
  const std::unique_ptr<X509, OpensslDeleter<X509_free>> certificate(
      bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (certificate != nullptr && GrpcCanRead(certificate.get())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(files.certificate_file, ": its certificate has names that gRPC cannot read"));
}

absl::Status RefuseClientsThatGrpcCannotRead() {
  static const bool replaced = ReplaceClientCheck();
  return replaced ? absl::OkStatus() : absl::ResourceExhaustedError("OpenSSL takes no check of client certificates");
}

}  // namespace stampgate
