#include "gateway/callers/peer_names.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

TEST(SpiffeIdTest, IsATrustDomainAndAPath) {
  for (const char* id : {"spiffe://example.org/web", "spiffe://a/b", "spiffe://cluster.local/ns/pay/sa/api",
                         "spiffe://1-2_3.x/A.b-C_9/...", "spiffe://example.org/.well-known", "spiffe://.-_/x"}) {
    EXPECT_TRUE(IsSpiffeId(id)) << id;
  }
}

TEST(SpiffeIdTest, HasNoOtherSpelling) {
  for (const char* text : {"",
                           "spiffe",
                           "spiffe:",
                           "spiffe://",
                           "spiffe:///",
                           "spiffe:///web",
                           "spiffe://example.org",
                           "spiffe://example.org/",
                           "spiffe://example.org/web/",
                           "spiffe://example.org//web",
                           "spiffe://example.org/a//b",
                           "spiffe://example.org/.",
                           "spiffe://example.org/..",
                           "spiffe://example.org/a/../b",
                           "spiffe://example.org/a/./b",
                           "Spiffe://example.org/web",
                           "SPIFFE://example.org/web",
                           "spiffe://Example.org/web",
                           "spiffe://example.org:443/web",
                           "spiffe://user@example.org/web",
                           "spiffe://user:pw@example.org/web",
                           "spiffe://example.org/web?x=1",
                           "spiffe://example.org/web#x",
                           "spiffe://example.org/we%62",
                           "spiffe://ex%61mple.org/web",
                           "spiffe://example.org/web ",
                           " spiffe://example.org/web",
                           "spiffe://example.org/w\xc3\xa4",
                           "spiffe://ex\xc3\xa4mple/web",
                           "spiffe://example.org/a+b",
                           "spiffe://example.org/a~b",
                           "spiffe://example.org/a:b",
                           "spiffe://[::1]/web",
                           "https://example.org/web",
                           "spiffe:/example.org/web",
                           "spiffe://example.org\\web",
                           "spiffe://example.org/a\nb"}) {
    EXPECT_FALSE(IsSpiffeId(text)) << text;
  }
  EXPECT_FALSE(IsSpiffeId(absl::string_view("spiffe://example.org/web\0", 25)));
  EXPECT_FALSE(IsSpiffeId(absl::string_view("spiffe://example.org/web\0/x", 27)));
  EXPECT_FALSE(IsSpiffeId(absl::string_view("spiffe://example.org\0/x", 23)));
}

TEST(SpiffeIdTest, IsBounded) {
  EXPECT_TRUE(IsSpiffeId(absl::StrCat("spiffe://", std::string(255, 'a'), "/x")));
  EXPECT_FALSE(IsSpiffeId(absl::StrCat("spiffe://", std::string(256, 'a'), "/x")));
  EXPECT_TRUE(IsSpiffeId(absl::StrCat("spiffe://a/", std::string(2037, 'x'))));
  EXPECT_FALSE(IsSpiffeId(absl::StrCat("spiffe://a/", std::string(2038, 'x'))));
}

TEST(DnsNameTest, IsLabelsSeparatedByDots) {
  for (const char* name : {"a", "localhost", "api.pay.svc.cluster.local", "Example.ORG", "x_y-z.1"}) {
    EXPECT_TRUE(IsDnsName(name)) << name;
  }
  for (const char* text : {"", ".", "a.", ".a", "a..b", "*", "*.example.org", "a.*.org", "a*.org", "ex ample", "a/b",
                           "a:1", "a@b", "\xc3\xa4.org", "a,b", "a%b", "[::1]"}) {
    EXPECT_FALSE(IsDnsName(text)) << text;
  }
  EXPECT_FALSE(IsDnsName(absl::string_view("good.org\0.evil.org", 18)));
}

TEST(DnsNameTest, IsBounded) {
  EXPECT_TRUE(IsDnsName(std::string(63, 'a')));
  EXPECT_FALSE(IsDnsName(std::string(64, 'a')));
  const std::string label = std::string(62, 'a') + ".";
  EXPECT_TRUE(IsDnsName(label + label + label + label + "a"));
  EXPECT_FALSE(IsDnsName(label + label + label + label + "aa"));
}

}  // namespace
}  // namespace stampgate
