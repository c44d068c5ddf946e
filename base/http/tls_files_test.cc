#include "base/http/tls_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/http/test_certificates.h"
#include "base/secret/file_contents.h"
#include "base/testing/status_is.h"

namespace stampgate {
namespace {

using stampgate::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<TlsSnapshot> ReadNow(const TlsFiles& files) {
  FileContents contents;
  contents.ReadPublic(files.certificate_file);
  contents.ReadSecret(files.private_key_file);
  if (!files.client_ca_file.empty()) contents.ReadPublic(files.client_ca_file);
  return MakeTlsSnapshot(files, contents);
}

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest() { Serve(identity_, authority_.certificate()); }

  void Serve(const TestIdentity& identity, const std::string& client_cas) {
    files_.certificate_file = folder_.Write("tls.crt", identity.certificate);
    files_.private_key_file = folder_.Write("tls.key", identity.key);
    files_.client_ca_file = folder_.Write("ca.crt", client_cas);
  }

  absl::Status Check() const {
    const absl::StatusOr<TlsSnapshot> snapshot = ReadNow(files_);
    if (!snapshot.ok()) return snapshot.status();
    return CheckTlsSnapshot(*snapshot, files_, absl::Now()).status();
  }

  // Returns the error for a certificate and key with these options, or an empty text if there is none.
  std::string FaultOf(const TestIdentityOptions& options) {
    Serve(authority_.Issue(options), authority_.certificate());
    const absl::Status status = Check();
    return status.ok() ? "" : std::string(status.message());
  }

  const TestAuthority authority_{"authority"};
  const TestIdentity identity_ = authority_.IssueServer();
  const TestFolder folder_;
  TlsFiles files_;
};

TEST_F(TlsFilesTest, SnapshotHasTheWholeContentOfEachFile) {
  const absl::StatusOr<TlsSnapshot> snapshot = ReadNow(files_);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->certificates, identity_.certificate);
  EXPECT_EQ(snapshot->private_key.text(), absl::StrCat(identity_.key, std::string(1, '\0')));
  EXPECT_EQ(snapshot->client_cas, authority_.certificate());
  EXPECT_TRUE(*snapshot == *ReadNow(files_));
}

TEST_F(TlsFilesTest, SnapshotsDifferIfOneFileDiffers) {
  const absl::StatusOr<TlsSnapshot> snapshot = ReadNow(files_);
  ASSERT_TRUE(snapshot.ok());
  for (const std::string& file : {files_.certificate_file, files_.private_key_file, files_.client_ca_file}) {
    Serve(identity_, authority_.certificate());
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    const absl::StatusOr<TlsSnapshot> other = ReadNow(files_);
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(*snapshot == *other) << file;
  }
}

TEST_F(TlsFilesTest, FilesCanBeTheSymbolicLinksThatKubernetesMakes) {
  ASSERT_EQ(mkdir(folder_.Path("..2026").c_str(), 0700), 0);
  std::filesystem::create_directory_symlink("..2026", folder_.Path("..data"));
  for (const char* name : {"tls.crt", "tls.key", "ca.crt"}) {
    std::filesystem::rename(folder_.Path(name), folder_.Path(absl::StrCat("..2026/", name)));
    std::filesystem::create_symlink(absl::StrCat("..data/", name), folder_.Path(name));
  }
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(TlsFilesTest, CheckReturnsWhenTheCertificateExpires) {
  const absl::Time not_after = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) + absl::Hours(30);
  Serve(authority_.Issue({.not_after = not_after}), authority_.certificate());
  const absl::StatusOr<TlsSnapshot> snapshot = ReadNow(files_);
  ASSERT_TRUE(snapshot.ok());
  const absl::StatusOr<absl::Time> returned = CheckTlsSnapshot(*snapshot, files_, absl::Now());
  ASSERT_TRUE(returned.ok()) << returned.status();
  EXPECT_EQ(*returned, not_after);
  EXPECT_TRUE(CheckTlsSnapshot(*snapshot, files_, not_after).ok());
  EXPECT_THAT(CheckTlsSnapshot(*snapshot, files_, not_after + absl::Seconds(1)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has expired")));
}

TEST_F(TlsFilesTest, AcceptsEachSupportedKindOfKey) {
  for (const char* key : {"P-256", "P-384", "P-521", "RSA2048", "ED25519"}) EXPECT_EQ(FaultOf({.key = key}), "") << key;
}

TEST_F(TlsFilesTest, RefusesACertificateOrKeyThatAServerCannotUse) {
  const absl::Time now = absl::Now();
  const std::vector<std::pair<TestIdentityOptions, std::string>> cases = {
      {{.not_after = now - absl::Seconds(2)}, ": its certificate has expired"},
      {{.not_before = now + absl::Minutes(1)}, ": its certificate is not valid yet"},
      {{.key = "RSA1024"}, ": the RSA key has fewer than 2048 bits"},
      {{.key = "secp256k1"}, ": the key's curve is none of P-256, P-384 and P-521"},
      {{.key = "P-224"}, ": the key's curve is none of P-256, P-384 and P-521"},
      {{.extended_usage = "clientAuth"}, ": its certificate is not for servers"},
  };
  for (const auto& [options, fault] : cases) EXPECT_THAT(FaultOf(options), HasSubstr(fault));
  EXPECT_EQ(FaultOf({.extended_usage = ""}), "");
}

TEST_F(TlsFilesTest, RefusesAKeyThatDoesNotMatchTheCertificate) {
  Serve({identity_.certificate, authority_.IssueServer().key}, authority_.certificate());
  EXPECT_EQ(Check().message(), absl::StrCat(files_.private_key_file, ": is not the key of ", files_.certificate_file));
}

TEST_F(TlsFilesTest, RefusesAFileThatDoesNotBeginWithTheServersCertificate) {
  Serve({authority_.certificate() + identity_.certificate, identity_.key}, authority_.certificate());
  EXPECT_THAT(Check().message(), HasSubstr("is not the key of"));
  Serve({identity_.certificate + authority_.certificate(), identity_.key}, authority_.certificate());
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(TlsFilesTest, AcceptsFilesWithoutClientCas) {
  files_.client_ca_file = "";
  const absl::StatusOr<TlsSnapshot> snapshot = ReadNow(files_);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->client_cas, "");
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(TlsFilesTest, AcceptsSeveralClientCas) {
  Serve(identity_, authority_.certificate() + "a comment\n" + TestAuthority("other").certificate());
  EXPECT_TRUE(Check().ok()) << Check();
}

// Writes each kind of invalid content to each of the files.
TEST_F(TlsFilesTest, RefusesContentThatIsNotPem) {
  const std::string garbage(2000, '\x8f');
  const struct {
    const char* name;
    std::string content;
  } kCases[] = {
      {"empty", ""},
      {"garbage", garbage},
      {"other", "-----BEGIN NONSENSE-----\nAAAA\n-----END NONSENSE-----\n"},
      {"undecodable", "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n"},
      {"not a certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
      {"not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"},
  };
  for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
    for (const auto& [name, content] : kCases) {
      Serve(identity_, authority_.certificate());
      folder_.Write(file, content);
      EXPECT_THAT(Check(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(absl::StrCat(folder_.Path(file), ": "))))
          << name;
    }
  }
  for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
    Serve(identity_, authority_.certificate());
    folder_.Write(file, absl::StrCat(identity_.certificate, std::string(1, '\0'), identity_.key));
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("zero byte"))) << file;
  }
}

TEST_F(TlsFilesTest, RefusesAFileThatEndsWithinACertificate) {
  for (const char* file : {"tls.crt", "ca.crt"}) {
    const std::string whole = identity_.certificate + authority_.certificate();
    for (size_t cut = 40; cut < authority_.certificate().size() - 40; cut += 50) {
      Serve({whole, identity_.key}, whole);
      folder_.Write(file, whole.substr(0, whole.size() - cut));
      EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr(absl::StrCat(folder_.Path(file), ": certificate 2 cannot be read"))));
    }
  }
}

TEST_F(TlsFilesTest, RefusesAKeyWithAPassphrase) {
  // Encrypts the same key, in the form that `openssl pkey -aes128` writes.
  Serve(identity_, authority_.certificate());
  BIO* in = BIO_new_mem_buf(identity_.key.data(), static_cast<int>(identity_.key.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  BIO* out = BIO_new(BIO_s_mem());
  char passphrase[] = "secret";
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_128_cbc(), passphrase, 6, nullptr, nullptr), 1);
  char* bytes;
  const long size = BIO_get_mem_data(out, &bytes);
  folder_.Write("tls.key", std::string(bytes, static_cast<size_t>(size)));
  EVP_PKEY_free(key);
  BIO_free(in);
  BIO_free(out);
  EXPECT_EQ(Check().message(), absl::StrCat(files_.private_key_file, ": the key has a passphrase"));
}

TEST_F(TlsFilesTest, RefusesAMissingFileAndOneThatIsNotRegular) {
  for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
    Serve(identity_, authority_.certificate());
    const std::string path = folder_.Path(file);
    ASSERT_EQ(unlink(path.c_str()), 0);
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path + ": it cannot be opened")));
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_THAT(Check(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path + ": it is not a regular file")));
    ASSERT_EQ(rmdir(path.c_str()), 0);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(Check(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path + ": it is not a regular file")));
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
}

TEST_F(TlsFilesTest, RefusesAFileAboveTheMaximumSize) {
  for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
    Serve(identity_, authority_.certificate());
    std::filesystem::resize_file(folder_.Path(file), (1 << 20) + 1);
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr(absl::StrCat(folder_.Path(file), ": it is larger than "))));
  }
}

TEST_F(TlsFilesTest, RefusesAKeyFileThatOtherUsersCanAccess) {
  for (const mode_t mode : {0640U, 0600U, 0440U, 0400U, 0700U}) {
    folder_.Write("tls.key", identity_.key, mode);
    EXPECT_TRUE(Check().ok()) << Check();
  }
  for (const mode_t mode : {0604U, 0602U, 0601U, 0660U, 0777U}) {
    folder_.Write("tls.key", identity_.key, mode);
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(files_.private_key_file)));
  }
}

TEST_F(TlsFilesTest, RefusesClientCasWhoseNamesAreTooLongForAHandshake) {
  std::string many;
  for (int i = 0; i < 800; ++i) {
    many += MakeSelfSigned({.subject = absl::StrCat("authority ", i, std::string(45, 'x'))}).certificate;
  }
  Serve(identity_, many);
  EXPECT_TRUE(Check().ok()) << Check();
  std::string more = many;
  for (int i = 800; i < 1200; ++i) {
    more += MakeSelfSigned({.subject = absl::StrCat("authority ", i, std::string(45, 'x'))}).certificate;
  }
  Serve(identity_, more);
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too long for a TLS handshake")));
}

TEST_F(TlsFilesTest, ErrorsNeverContainTheContentOfAFile) {
  const std::string line = identity_.key.substr(identity_.key.find('\n') + 1, 20);
  Serve({identity_.key, identity_.key}, identity_.key);
  EXPECT_THAT(std::string(Check().message()), Not(HasSubstr(line)));
  Serve({identity_.certificate, identity_.key.substr(0, 100)}, authority_.certificate());
  EXPECT_FALSE(Check().ok());
  EXPECT_THAT(std::string(Check().message()), Not(HasSubstr(line)));
}

}  // namespace
}  // namespace stampgate
