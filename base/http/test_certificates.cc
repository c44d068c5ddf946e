#include "base/http/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

void Must(bool made) {
  if (!made) std::abort();
}

EVP_PKEY* MakeKey(absl::string_view kind) {
  int bits;
  if (absl::ConsumePrefix(&kind, "RSA")) {
    Must(absl::SimpleAtoi(kind, &bits));
    return EVP_RSA_gen(bits);
  }
  return kind == "ED25519" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519") : EVP_EC_gen(std::string(kind).c_str());
}

std::string TakeText(BIO* bio) {
  char* bytes;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

std::string ToPem(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  Must(PEM_write_bio_X509(bio, certificate) == 1);
  return TakeText(bio);
}

std::string ToPem(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  Must(PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return TakeText(bio);
}

void AddNames(X509* certificate, const std::vector<std::pair<int, std::string>>& names) {
  if (names.empty()) return;
  GENERAL_NAMES* list = GENERAL_NAMES_new();
  for (const auto& [type, bytes] : names) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    if (type == GEN_RID) {
      GENERAL_NAME_set0_value(name, type, OBJ_txt2obj(bytes.c_str(), 1));
    } else {
      ASN1_STRING* value = type == GEN_IPADD ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
      ASN1_STRING_set(value, bytes.data(), static_cast<int>(bytes.size()));
      GENERAL_NAME_set0_value(name, type, value);
    }
    sk_GENERAL_NAME_push(list, name);
  }
  Must(X509_add1_ext_i2d(certificate, NID_subject_alt_name, list, 0, X509V3_ADD_DEFAULT) == 1);
  GENERAL_NAMES_free(list);
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  Must(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// Makes a certificate. If `issuer` is null, the certificate is signed with its own key.
X509* MakeCertificate(const TestIdentityOptions& options, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  unsigned char serial[8];
  Must(RAND_bytes(serial, sizeof(serial)) == 1);
  serial[0] = static_cast<unsigned char>((serial[0] & 0x3F) | 0x40);
  BIGNUM* number = BN_bin2bn(serial, sizeof(serial), nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
  BN_free(number);
  ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(options.not_before));
  ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(options.not_after));
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_NID(subject, NID_commonName, options.subject_type,
                             reinterpret_cast<const unsigned char*>(options.subject.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer == nullptr ? certificate : issuer));
  X509_set_pubkey(certificate, key);
  AddNames(certificate, options.names);
  if (!options.key_usage.empty()) AddExtension(certificate, NID_key_usage, options.key_usage);
  if (options.is_authority) AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  if (!options.extended_usage.empty()) AddExtension(certificate, NID_ext_key_usage, options.extended_usage);
  EVP_PKEY* signing = issuer == nullptr ? key : issuer_key;
  const EVP_MD* digest = EVP_PKEY_get_base_id(signing) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
  Must(X509_sign(certificate, signing, digest) > 0);
  return certificate;
}

TestIdentity MakeIdentity(const TestIdentityOptions& options, X509* issuer, EVP_PKEY* issuer_key) {
  EVP_PKEY* key = MakeKey(options.key);
  Must(key != nullptr);
  X509* certificate = MakeCertificate(options, key, issuer, issuer_key);
  TestIdentity identity{ToPem(certificate), ToPem(key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return identity;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& subject) : key_(MakeKey("P-256")) {
  TestIdentityOptions options;
  options.subject = subject;
  options.is_authority = true;
  authority_.reset(MakeCertificate(options, key_.get(), nullptr, nullptr));
  certificate_ = ToPem(authority_.get());
}

TestIdentity TestAuthority::Issue(const TestIdentityOptions& options) const {
  return MakeIdentity(options, authority_.get(), key_.get());
}

TestIdentity TestAuthority::IssueServer() const {
  return Issue({.names = {{GEN_IPADD, std::string("\x7f\0\0\1", 4)}}, .subject = "server"});
}

TestIdentity TestAuthority::IssueClient(const std::string& spiffe_id) const {
  return Issue({.names = {{GEN_URI, spiffe_id}}, .subject = "client"});
}

TestIdentity MakeSelfSigned(const TestIdentityOptions& options) { return MakeIdentity(options, nullptr, nullptr); }

std::string SerialOf(const X509* certificate) {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr);
  char* hex = BN_bn2hex(number);
  std::string serial = hex;
  OPENSSL_free(hex);
  BN_free(number);
  return serial;
}

std::string SerialOf(const std::string& certificate) {
  BIO* bio = BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size()));
  X509* parsed = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  Must(parsed != nullptr);
  std::string serial = SerialOf(parsed);
  X509_free(parsed);
  return serial;
}

TestFolder::TestFolder() : path_(std::filesystem::temp_directory_path() / "stampgate_XXXXXX") {
  Must(mkdtemp(path_.data()) != nullptr);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TestFolder::Write(const std::string& name, const std::string& content, mode_t mode) const {
  const std::string next = Path(name + ".next");
  std::ofstream(next, std::ios::binary) << content;
  Must(chmod(next.c_str(), mode) == 0 && std::rename(next.c_str(), Path(name).c_str()) == 0);
  return Path(name);
}

}  // namespace stampgate
