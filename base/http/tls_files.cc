#include "base/http/tls_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/secret/openssl_ptr.h"

namespace stampgate {
namespace {

constexpr size_t kMaxPublicBytes = 1 << 20;
constexpr int kMinRsaBits = 2048;
// The limit of the list of CA names that the server sends in the TLS handshake. The list's length field has two bytes.
constexpr int kMaxAuthorityNameBytes = 65000;

using BioPtr = std::unique_ptr<BIO, OpensslDeleter<BIO_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslDeleter<SSL_CTX_free>>;
using X509Ptr = std::unique_ptr<X509, OpensslDeleter<X509_free>>;

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::Status Unfit(absl::string_view rule) { return absl::InvalidArgumentError(rule); }

// Refuses a text with a zero byte, because gRPC reads a text only up to the first zero byte.
absl::Status CheckText(absl::string_view bytes) {
  return bytes.find('\0') == bytes.npos ? absl::OkStatus() : Unfit("it has a zero byte, so it is not PEM");
}

absl::StatusOr<std::string> TextOf(const std::string& path, const absl::StatusOr<std::string>& bytes) {
  if (!bytes.ok()) return InFile(path, bytes.status());
  if (bytes->empty()) return InFile(path, Unfit("it is empty"));
  if (bytes->size() > kMaxPublicBytes) {
    return InFile(path, Unfit(absl::StrCat("it is larger than ", kMaxPublicBytes, " bytes")));
  }
  if (absl::Status status = CheckText(*bytes); !status.ok()) return InFile(path, status);
  return bytes;
}

absl::StatusOr<SecretBytes> KeyTextOf(const std::string& path, const absl::StatusOr<SecretBytes>& bytes) {
  if (!bytes.ok()) return InFile(path, bytes.status());
  if (absl::Status status = CheckText(bytes->text()); !status.ok()) return InFile(path, status);
  absl::StatusOr<SecretBytes> text = SecretBytes::Create(bytes->size() + 1);
  if (!text.ok()) return InFile(path, text.status());
  std::memcpy(text->data(), bytes->data(), bytes->size());
  text->MakeReadOnly();
  return text;
}

// Checking

// Returns the reason of OpenSSL's last error, which is a fixed text.
std::string TakeReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "OpenSSL gave no reason" : reason;
}

absl::StatusOr<std::vector<X509Ptr>> ParseCertificates(absl::string_view pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (bio == nullptr) return absl::ResourceExhaustedError("no memory");
  ERR_clear_error();
  std::vector<X509Ptr> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // This error means that the text contains no further block. Any other error means that a block cannot be read.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = TakeReason();
  if (!at_end) return Unfit(absl::StrCat("certificate ", certificates.size() + 1, " cannot be read: ", reason));
  if (certificates.empty()) return Unfit("it has no certificate in PEM");
  return certificates;
}

int RefusePassphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

absl::StatusOr<EvpPkeyPtr> ParseKey(const SecretBytes& pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size() - 1)));
  if (bio == nullptr) return absl::ResourceExhaustedError("no memory");
  bool asked = false;  // set by the callback, without which OpenSSL would prompt on the terminal
  EvpPkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &RefusePassphrase, &asked));
  const std::string reason = TakeReason();
  if (asked) return Unfit("the key has a passphrase");
  if (key == nullptr) return Unfit(absl::StrCat("it has no private key in PEM that can be read: ", reason));
  return key;
}

absl::Status CheckKeyKind(const EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
      if (EVP_PKEY_get_bits(key) < kMinRsaBits) return Unfit("the RSA key has fewer than 2048 bits");
      return absl::OkStatus();
    case EVP_PKEY_EC: {
      char curve[32] = "";
      EVP_PKEY_get_group_name(key, curve, sizeof(curve), nullptr);
      for (const char* name : {SN_X9_62_prime256v1, SN_secp384r1, SN_secp521r1}) {
        if (std::strcmp(curve, name) == 0) return absl::OkStatus();
      }
      return Unfit("the key's curve is none of P-256, P-384 and P-521");
    }
    case EVP_PKEY_ED25519:
      return absl::OkStatus();
    default:
      return Unfit("the key is none of RSA, ECDSA and Ed25519");
  }
}

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time) {
  tm utc{};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return Unfit("its certificate has a time that cannot be read");
  return absl::FromTimeT(timegm(&utc));
}

absl::StatusOr<absl::Time> CheckCertificate(X509* certificate, absl::Time now) {
  ABSL_ASSIGN_OR_RETURN(const absl::Time not_before, ToTime(X509_get0_notBefore(certificate)));
  const absl::StatusOr<absl::Time> not_after = ToTime(X509_get0_notAfter(certificate));
  if (!not_after.ok()) return not_after.status();
  if (now < not_before) return Unfit("its certificate is not valid yet");
  if (now > *not_after) return Unfit("its certificate has expired");
  if (X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) != 1)
    return Unfit("its certificate is not for servers");
  return not_after;
}

// Checks that OpenSSL's security level, which the configuration of this machine can set, allows the certificate and the
// key.
absl::Status CheckSecurityLevel(X509* certificate, EVP_PKEY* key) {
  const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return absl::ResourceExhaustedError("no memory");
  if (SSL_CTX_use_certificate(context.get(), certificate) == 1 && SSL_CTX_use_PrivateKey(context.get(), key) == 1) {
    return absl::OkStatus();
  }
  return Unfit(absl::StrCat("OpenSSL refuses the certificate or its key: ", TakeReason()));
}

absl::Status CheckAuthorities(absl::string_view pem) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<X509Ptr> authorities, ParseCertificates(pem));
  int name_bytes = 0;
  for (const X509Ptr& authority : authorities) {
    name_bytes += 2 + std::max(0, i2d_X509_NAME(X509_get_subject_name(authority.get()), nullptr));
    if (name_bytes > kMaxAuthorityNameBytes)
      return Unfit("the subject names of its certificates are too long for a TLS handshake");
  }
  return absl::OkStatus();
}

}  // namespace

bool operator==(const TlsSnapshot& a, const TlsSnapshot& b) {
  return a.certificates == b.certificates && a.private_key == b.private_key && a.client_cas == b.client_cas;
}

absl::StatusOr<TlsSnapshot> MakeTlsSnapshot(const TlsFiles& files, const FileContents& contents) {
  ABSL_ASSIGN_OR_RETURN(std::string certificates,
                        TextOf(files.certificate_file, contents.Public(files.certificate_file)));
  ABSL_ASSIGN_OR_RETURN(SecretBytes key, KeyTextOf(files.private_key_file, contents.Secret(files.private_key_file)));
  absl::StatusOr<std::string> cas = "";
  if (!files.client_ca_file.empty()) cas = TextOf(files.client_ca_file, contents.Public(files.client_ca_file));
  if (!cas.ok()) return cas.status();
  return TlsSnapshot{std::move(certificates), std::move(key), *std::move(cas)};
}

absl::StatusOr<absl::Time> CheckTlsSnapshot(const TlsSnapshot& snapshot, const TlsFiles& files, absl::Time now) {
  const absl::StatusOr<std::vector<X509Ptr>> chain = ParseCertificates(snapshot.certificates);
  if (!chain.ok()) return InFile(files.certificate_file, chain.status());
  const absl::StatusOr<EvpPkeyPtr> key = ParseKey(snapshot.private_key);
  if (!key.ok()) return InFile(files.private_key_file, key.status());
  if (absl::Status status = CheckKeyKind(key->get()); !status.ok()) return InFile(files.private_key_file, status);
  X509* certificate = chain->front().get();
  const bool fits = X509_check_private_key(certificate, key->get()) == 1;
  ERR_clear_error();
  if (!fits) return Unfit(absl::StrCat(files.private_key_file, ": is not the key of ", files.certificate_file));
  absl::StatusOr<absl::Time> not_after = CheckCertificate(certificate, now);
  if (!not_after.ok()) return InFile(files.certificate_file, not_after.status());
  absl::Status status = CheckSecurityLevel(certificate, key->get());
  if (!status.ok()) return InFile(files.certificate_file, status);
  if (files.client_ca_file.empty()) return not_after;
  status = CheckAuthorities(snapshot.client_cas);
  if (!status.ok()) return InFile(files.client_ca_file, status);
  return not_after;
}

}  // namespace stampgate
