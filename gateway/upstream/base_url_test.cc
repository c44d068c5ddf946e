#include "gateway/upstream/base_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseBaseUrlTest, AcceptsHttpsAndLoopback) {
  for (const char* url : {"https://upstream.example", "https://upstream.example:8443", "https://10.0.0.1",
                          "http://127.0.0.1:8080", "http://127.255.0.3", "http://localhost:1", "http://[::1]:8080"}) {
    const auto parsed = ParseBaseUrl(url);
    ASSERT_TRUE(parsed.ok()) << url;
    EXPECT_TRUE(absl::StartsWith(*parsed, url)) << *parsed;
  }
}

TEST(ParseBaseUrlTest, RefusesEverythingElse) {
  for (const char* url : {"",
                          "upstream.example",
                          "ftp://upstream.example",
                          "file:///etc/passwd",
                          "https://",
                          "https:///p",
                          "https://upstream.example/",
                          "https://upstream.example/v1",
                          "https://upstream.example?a",
                          "https://a#b",
                          "https://user@upstream.example",
                          "https://user:word@upstream.example",
                          "https://upstream.example\\@evil",
                          "https://up stream",
                          "https://upstream.example\r\n",
                          "https://upstream.example:99999",
                          "https://a:b",
                          "http://upstream.example",
                          "http://10.0.0.1",
                          "http://128.0.0.1",
                          "http://0.0.0.0",
                          "http://[::]",
                          "http://[::ffff:10.0.0.1]",
                          "http://127.0.0.1.evil.example",
                          "http://localhost.evil.example",
                          "http://%31%32%37.0.0.1",
                          "http://127.0.0.1@evil.example",
                          "http://2130706432.example"}) {
    const auto parsed = ParseBaseUrl(url);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(parsed.status().message(), Not(HasSubstr("word")));
  }
}

}  // namespace
}  // namespace stampgate
