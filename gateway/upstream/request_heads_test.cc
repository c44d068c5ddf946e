#include "gateway/upstream/request_heads.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

std::string GetHead(const std::string& base_url, const std::string& traceparent = "") {
  return RequestHeads(base_url).GetHead({"/p"}, traceparent).value_or("none");
}

TEST(RequestHeadsTest, TheHostHasThePortUnlessItIsTheSchemesOwn) {
  const auto head = [](const std::string& host) {
    return absl::StrCat("GET /p HTTP/1.1\r\nHost: ", host,
                        "\r\nUser-Agent: stampgate\r\nAccept: application/json\r\n\r\n");
  };
  EXPECT_EQ(GetHead("https://upstream.example/"), head("upstream.example"));
  EXPECT_EQ(GetHead("https://upstream.example:443/"), head("upstream.example"));
  EXPECT_EQ(GetHead("https://upstream.example:8443/"), head("upstream.example:8443"));
  EXPECT_EQ(GetHead("https://upstream.example:80/"), head("upstream.example:80"));
  EXPECT_EQ(GetHead("http://127.0.0.1:80/"), head("127.0.0.1"));
  EXPECT_EQ(GetHead("http://[::1]:8080"), head("[::1]:8080"));
}

TEST(RequestHeadsTest, ATraceparentIsAHeader) {
  EXPECT_EQ(GetHead("https://u", "00-1-2-01"),
            "GET /p HTTP/1.1\r\nHost: u\r\nUser-Agent: stampgate\r\ntraceparent: 00-1-2-01\r\n"
            "Accept: application/json\r\n\r\n");
  EXPECT_EQ(GetHead("https://u", "00\r\nA: b"), "none");
}

}  // namespace
}  // namespace stampgate
