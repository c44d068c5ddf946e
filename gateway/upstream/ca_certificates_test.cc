#include "gateway/upstream/ca_certificates.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/http/test_certificates.h"

namespace stampgate {
namespace {

const absl::Status& NoCertificate() {
  static const auto& status = *new absl::Status(absl::InvalidArgumentError("it holds no certificate in PEM"));
  return status;
}

TEST(CaCertificatesTest, OneOrMoreCertificatesInPemAreAccepted) {
  const std::string one = TestAuthority("one").certificate();
  const std::string two = TestAuthority("two").certificate();
  EXPECT_EQ(CheckCaCertificates(one), absl::OkStatus());
  EXPECT_EQ(CheckCaCertificates(absl::StrCat("a comment\n", one, "another\n", two)), absl::OkStatus());
}

TEST(CaCertificatesTest, OtherContentIsRefused) {
  const TestAuthority authority("one");
  EXPECT_EQ(CheckCaCertificates(""), NoCertificate());
  EXPECT_EQ(CheckCaCertificates("no certificate"), NoCertificate());
  EXPECT_EQ(CheckCaCertificates(std::string(1000, '\x8f')), NoCertificate());
  EXPECT_EQ(CheckCaCertificates("-----BEGIN NONSENSE-----\nAAAA\n-----END NONSENSE-----\n"), NoCertificate());
  EXPECT_EQ(CheckCaCertificates(authority.IssueServer().key), NoCertificate());
}

TEST(CaCertificatesTest, AnUnreadableCertificateIsRefused) {
  const std::string good = TestAuthority("one").certificate();
  const std::string broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(CheckCaCertificates(broken), NoCertificate());
  EXPECT_EQ(CheckCaCertificates(absl::StrCat(good, broken)), NoCertificate());
}

}  // namespace
}  // namespace stampgate
