#include "gateway/callers/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/http/test_certificates.h"

namespace stampgate {
namespace {

using Names = std::vector<std::pair<int, std::string>>;
using ::testing::HasSubstr;

struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};

std::unique_ptr<X509, FreeCertificate> Issue(const TestIdentityOptions& options) {
  static const TestAuthority& authority = *new TestAuthority("authority");
  const std::string pem = authority.Issue(options).certificate;
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  std::unique_ptr<X509, FreeCertificate> certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
  BIO_free(bio);
  return certificate;
}

// Returns "stranger", or the kind of the names of the peer that owns such a certificate.
std::string PeerWith(const TestIdentityOptions& options) {
  const auto certificate = Issue(options);
  const Peer peer = PeerOfCertificate(*certificate);
  EXPECT_FALSE(peer.plaintext_loopback);
  EXPECT_TRUE(peer.spiffe_id.empty() || peer.dns_names.empty());
  EXPECT_EQ(IdentityFault(*certificate).empty(), !peer.spiffe_id.empty() || !peer.dns_names.empty());
  if (!peer.spiffe_id.empty()) return absl::StrCat("spiffe ", peer.spiffe_id);
  if (!peer.dns_names.empty()) return absl::StrCat("dns ", absl::StrJoin(peer.dns_names, ","));
  return "stranger";
}

std::string PeerWith(const Names& names, const std::string& subject = "spiffe://test/subject") {
  return PeerWith(TestIdentityOptions{.names = names, .subject = subject});
}

TEST(PeerOfCertificateTest, IsTheOnlySpiffeIdOfTheCertificate) {
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}}), "spiffe spiffe://test/a");
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/A/b"}}), "spiffe spiffe://test/A/b");
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test"}, {GEN_URI, "spiffe://test/a"}, {GEN_EMAIL, "a@test"}}),
            "spiffe spiffe://test/a");
  EXPECT_EQ(PeerWith({{GEN_IPADD, "1234"}, {GEN_URI, "spiffe://test/a"}, {GEN_RID, "1.2.3"}}).substr(0, 6), "spiffe");
}

TEST(PeerOfCertificateTest, IsTheDnsNamesOfACertificateWithoutAUri) {
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test"}}), "dns a.test");
  EXPECT_EQ(PeerWith({{GEN_DNS, "A.Test"}, {GEN_DNS, "b.test"}, {GEN_EMAIL, "a@test"}, {GEN_IPADD, "1234"}}),
            "dns a.test,b.test");
}

TEST(PeerOfCertificateTest, IsAStrangerIfTheCertificateHasSeveralUris) {
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}, {GEN_URI, "spiffe://test/b"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}, {GEN_URI, "spiffe://test/a"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}, {GEN_URI, "https://test/a"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_URI, "https://test/a"}, {GEN_URI, "spiffe://test/a"}, {GEN_DNS, "a.test"}}), "stranger");
}

TEST(PeerOfCertificateTest, IsAStrangerIfTheUriIsNoSpiffeId) {
  for (const std::string& uri :
       {std::string("https://test/a"), std::string("spiffe://test"), std::string("spiffe://test/"),
        std::string("spiffe://Test/a"), std::string("spiffe://test/a?b"), std::string(""),
        std::string("spiffe://test/a\0", 16), std::string("spiffe://test/a\0/../b", 21),
        std::string("\0spiffe://test/a", 16), absl::StrCat("spiffe://test/", std::string(2035, 'a'))}) {
    EXPECT_EQ(PeerWith({{GEN_URI, uri}}), "stranger") << uri;
    EXPECT_EQ(PeerWith({{GEN_DNS, "a.test"}, {GEN_URI, uri}}), "stranger") << uri;
  }
  EXPECT_EQ(PeerWith({{GEN_URI, absl::StrCat("spiffe://test/", std::string(2034, 'a'))}}).size(), 7U + 2048U);
}

TEST(PeerOfCertificateTest, IgnoresMalformedDnsNames) {
  EXPECT_EQ(PeerWith({{GEN_DNS, "*.test"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "*"}, {GEN_DNS, "a.test"}}), "dns a.test");
  EXPECT_EQ(PeerWith({{GEN_DNS, std::string("a.test\0.evil", 12)}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, std::string("a.test\0", 7)}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test."}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, ""}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test,b.test"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "\xe4.test"}}), "stranger");
}

TEST(PeerOfCertificateTest, IgnoresTheSubjectAndOtherNames) {
  EXPECT_EQ(PeerWith(Names()), "stranger");
  EXPECT_EQ(PeerWith({}, "a.test"), "stranger");
  EXPECT_EQ(PeerWith({{GEN_EMAIL, "spiffe://test/a"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_EMAIL, "a.test"}, {GEN_IPADD, "1234"}}), "stranger");
}

TEST(PeerOfCertificateTest, IsAStrangerIfTheCertificateIsOfACa) {
  for (const Names& names : {Names{{GEN_URI, "spiffe://test/a"}}, Names{{GEN_DNS, "a.test"}}}) {
    EXPECT_EQ(PeerWith({.names = names, .is_authority = true}), "stranger");
    EXPECT_EQ(PeerWith({.names = names, .key_usage = "digitalSignature", .is_authority = true}), "stranger");
    EXPECT_NE(PeerWith({.names = names}), "stranger");
  }
  EXPECT_THAT(IdentityFault(*Issue({.names = {{GEN_DNS, "a.test"}}, .is_authority = true})), HasSubstr("CA:TRUE"));
}

TEST(PeerOfCertificateTest, IsAStrangerIfAKeyWithASpiffeIdMaySignCertificates) {
  const Names spiffe = {{GEN_URI, "spiffe://test/a"}};
  for (const char* usage : {"keyCertSign", "cRLSign", "digitalSignature,keyCertSign", "digitalSignature,cRLSign"}) {
    EXPECT_EQ(PeerWith({.names = spiffe, .key_usage = usage}), "stranger") << usage;
    EXPECT_THAT(IdentityFault(*Issue({.names = spiffe, .key_usage = usage})), HasSubstr("keyCertSign or cRLSign"));
    // The rule is one of SPIFFE.
    EXPECT_EQ(PeerWith({.names = {{GEN_DNS, "a.test"}}, .key_usage = usage}), "dns a.test") << usage;
  }
  EXPECT_EQ(PeerWith({.names = spiffe, .key_usage = "digitalSignature,keyAgreement"}), "spiffe spiffe://test/a");
}

TEST(IdentityFaultTest, NamesTheRule) {
  const auto fault = [](const Names& names) { return IdentityFault(*Issue({.names = names})); };
  EXPECT_EQ(fault({{GEN_DNS, "a.test"}}), "");
  EXPECT_EQ(fault({{GEN_URI, "spiffe://test/a"}, {GEN_DNS, "a.test"}}), "");
  EXPECT_THAT(fault({{GEN_URI, "https://a.test"}, {GEN_DNS, "a.test"}}), HasSubstr("its DNS names do not count"));
  EXPECT_THAT(fault({{GEN_URI, "spiffe://test"}}), HasSubstr("not a SPIFFE ID"));
  EXPECT_THAT(fault({{GEN_URI, "spiffe://test/a"}, {GEN_URI, "spiffe://test/b"}}), HasSubstr("several URIs"));
  EXPECT_THAT(fault({}), HasSubstr("neither a SPIFFE ID nor a DNS name"));
  EXPECT_THAT(fault({{GEN_DNS, "*.test"}}), HasSubstr("neither a SPIFFE ID nor a DNS name"));
}

TEST(NamesForLogTest, ShowsTheNamesEscapedAndBounded) {
  const auto names = [](const Names& list) { return NamesForLog(*Issue({.names = list})); };
  EXPECT_EQ(names({}), "");
  EXPECT_EQ(names({{GEN_URI, "https://a.test/"}, {GEN_DNS, "*.a.test"}, {GEN_EMAIL, "a@test"}, {GEN_IPADD, "1234"}}),
            "uri:https://a.test/ dns:*.a.test and 2 more");
  EXPECT_EQ(names({{GEN_DNS, std::string("a\n\"\0\xe4\x1b[31m", 10)}}), "dns:a\\n\\\"\\x00\\xe4\\x1b[31m");
  EXPECT_EQ(names({{GEN_DNS, std::string(129, 'a')}}), absl::StrCat("dns:", std::string(128, 'a'), "..."));
  EXPECT_EQ(names(Names(1000, {GEN_DNS, "b"})), "dns:b dns:b dns:b dns:b dns:b dns:b dns:b dns:b and 992 more");
}

TEST(StrangerNameTest, DescribesWhatTheConnectionShows) {
  EXPECT_EQ(StrangerName(Peer{true, "", {}}), "(loopback)");
  EXPECT_EQ(StrangerName(Peer{false, "spiffe://example.org/web", {}}), "(spiffe://example.org/web)");
  EXPECT_EQ(StrangerName(Peer{false, "", {"a.example", "b.example"}}), "(dns:a.example dns:b.example)");
  EXPECT_EQ(StrangerName(Peer()), "(nobody)");
}

TEST(StrangerNameTest, NeverEqualsAReservedName) {
  for (const char* name : {"loopback", "gateway", "others", "nobody"}) {
    EXPECT_EQ(StrangerName(Peer{false, "", {name}}), std::string("(dns:") + name + ")");
  }
}

}  // namespace
}  // namespace stampgate
