// Helpers for tests: issue certificates, and write files to a temporary folder.
#ifndef STAMPGATE_BASE_HTTP_TEST_CERTIFICATES_H_
#define STAMPGATE_BASE_HTTP_TEST_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace stampgate {

// A certificate and its private key, in PEM.
struct TestIdentity {
  std::string certificate;
  std::string key;
};

struct TestIdentityOptions {
  // Subject alternative names. Each pair has the name's type, which is a constant of OpenSSL such as GEN_DNS, and the
  // name's raw bytes. If the type is GEN_RID, the pair has the dotted form instead of the raw bytes.
  std::vector<std::pair<int, std::string>> names = {};
  std::string subject = "test";
  int subject_type = V_ASN1_UTF8STRING;
  absl::Time not_before = absl::Now() - absl::Hours(1);
  absl::Time not_after = absl::Now() + absl::Hours(1);
  std::string key = "P-256";                             // or another curve's name, "RSA1024", "RSA2048", "ED25519"
  std::string extended_usage = "serverAuth,clientAuth";  // no extended key usage if empty
  std::string key_usage = "";                            // such as "digitalSignature"; no key usage if empty
  bool is_authority = false;                             // whether the certificate has CA:TRUE
};

// A certificate authority with a P-256 key, which issues certificates. If a function fails, it aborts the process.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& subject);

  const std::string& certificate() const { return certificate_; }
  TestIdentity Issue(const TestIdentityOptions& options) const;
  // Issues a certificate for a server at 127.0.0.1.
  TestIdentity IssueServer() const;
  // Issues a certificate for a client with this SPIFFE ID.
  TestIdentity IssueClient(const std::string& spiffe_id = "spiffe://test/client") const;

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };

  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> authority_;
  std::string certificate_;
};

// Makes a certificate that is signed with its own key.
TestIdentity MakeSelfSigned(const TestIdentityOptions& options);

// Returns the serial number of a certificate in hex. All certificates of these helpers have different serial numbers.
std::string SerialOf(const std::string& certificate);
std::string SerialOf(const X509* certificate);

// A new temporary folder. The destructor deletes it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file with this content and mode, and moves it to `name` with one rename. Returns its path.
  std::string Write(const std::string& name, const std::string& content, mode_t mode = 0600) const;

 private:
  std::string path_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_TEST_CERTIFICATES_H_
