#include "base/http/proxy_header.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using State = ProxyHeader::State;

constexpr absl::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);

// Returns a header of version 2 with these bytes after its length.
std::string Binary(int version_and_command, int family_and_protocol, const std::string& rest) {
  return absl::StrCat(kSignature, std::string(1, static_cast<char>(version_and_command)),
                      std::string(1, static_cast<char>(family_and_protocol)),
                      std::string(1, static_cast<char>(rest.size() >> 8)),
                      std::string(1, static_cast<char>(rest.size())), rest);
}

std::string Inet(const std::string& more = "") {
  return absl::StrCat(absl::string_view("\xc0\x00\x02\x07\x0a\x00\x00\x01\x12\x34\x01\xbb", 12), more);
}

std::string Inet6() {
  return absl::StrCat(absl::string_view("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07", 16), std::string(16, '\1'),
                      absl::string_view("\x12\x34\x01\xbb", 4));
}

// Returns the client's address, "none", or the name of the state.
std::string Read(absl::string_view bytes) {
  const ProxyHeader header = ReadProxyHeader(bytes);
  switch (header.state) {
    case State::kMore:
      return "more";
    case State::kAbsent:
      return "absent";
    case State::kMalformed:
      return "malformed";
    case State::kDone:
      return header.client.has_value() ? header.client->to_string() : "none";
  }
  return "";
}

struct Case {
  std::string header;
  std::string result;
};

std::vector<Case> GoodHeaders() {
  return {
      {"PROXY TCP4 192.0.2.7 10.0.0.1 4660 443\r\n", "192.0.2.7"},
      {"PROXY TCP6 2001:db8::7 ::1 4660 443\r\n", "2001:db8::7"},
      {"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255"},
      {"PROXY UNKNOWN\r\n", "none"},
      {"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", "none"},
      {absl::StrCat("PROXY UNKNOWN ", std::string(91, 'x'), "\r\n"), "none"},  // 107 bytes
      {Binary(0x21, 0x11, Inet()), "192.0.2.7"},
      {Binary(0x21, 0x11, Inet("\x03\0\4abcd")), "192.0.2.7"},            // with a TLV
      {Binary(0x21, 0x11, Inet(std::string(100, '\xff'))), "192.0.2.7"},  // the content of TLVs does not matter
      {Binary(0x21, 0x11, Inet(std::string(kMaxProxyHeaderBytes - 28, 'x'))), "192.0.2.7"},
      {Binary(0x21, 0x21, Inet6()), "2001:db8::7"},
      {Binary(0x20, 0x00, ""), "none"},  // LOCAL
      {Binary(0x20, 0x11, ""), "none"},  // LOCAL, whose family and addresses do not matter
      {Binary(0x20, 0x21, Inet6()), "none"},
      {Binary(0x21, 0x00, ""), "none"},  // UNSPEC
      {Binary(0x21, 0x00, "any bytes"), "none"},
      {Binary(0x21, 0x12, Inet()), "none"},                 // UDP
      {Binary(0x21, 0x31, std::string(216, '/')), "none"},  // a Unix socket
  };
}

TEST(ProxyHeaderTest, StatesTheAddressOfTheClient) {
  for (const Case& good : GoodHeaders()) {
    EXPECT_EQ(Read(good.header), good.result) << absl::CHexEscape(good.header);
    const ProxyHeader header = ReadProxyHeader(absl::StrCat(good.header, "POST / HTTP/1.1\r\n"));
    EXPECT_EQ(header.state, State::kDone) << absl::CHexEscape(good.header);
    EXPECT_EQ(header.bytes, good.header.size());
  }
}

TEST(ProxyHeaderTest, IsReadByteByByteAndNeverTooFar) {
  for (const Case& good : GoodHeaders()) {
    size_t smallest_rest = good.header.size();
    for (size_t size = 0; size < good.header.size(); ++size) {
      const ProxyHeader header = ReadProxyHeader(absl::string_view(good.header).substr(0, size));
      ASSERT_EQ(header.state, State::kMore) << absl::CHexEscape(good.header) << " after " << size;
      ASSERT_GE(header.bytes, 1u);
      ASSERT_LE(header.bytes, good.header.size() - size) << absl::CHexEscape(good.header) << " after " << size;
      smallest_rest = std::min(smallest_rest, good.header.size() - size - header.bytes);
    }
    EXPECT_EQ(smallest_rest, 0u);
  }
}

TEST(ProxyHeaderTest, BreaksTheRules) {
  for (const std::string& bad : {
           std::string("PROXY \r\n"),
           std::string("PROXY TCP4\r\n"),
           std::string("PROXY tcp4 192.0.2.7 10.0.0.1 4660 443\r\n"),
           std::string("PROXY TCP5 192.0.2.7 10.0.0.1 4660 443\r\n"),
           std::string("PROXY TCP4 192.0.2.7 10.0.0.1 4660\r\n"),
           std::string("PROXY TCP4 192.0.2.7 10.0.0.1 4660 443 1\r\n"),
           std::string("PROXY TCP4  192.0.2.7 10.0.0.1 4660 443\r\n"),
           std::string("PROXY TCP4 192.0.2.7 10.0.0.1 4660 443 \r\n"),
           std::string("PROXY TCP4 192.0.2.256 10.0.0.1 4660 443\r\n"),
           std::string("PROXY TCP4 192.0.2 10.0.0.1 4660 443\r\n"),
           std::string("PROXY TCP4 2001:db8::7 ::1 4660 443\r\n"),
           std::string("PROXY TCP6 192.0.2.7 10.0.0.1 4660 443\r\n"),
           std::string("PROXY TCP6 fe80::1%eth0 ::1 4660 443\r\n"),
           std::string("PROXY TCP4 192.0.2.7 x 4660 443\r\n"),
           std::string("PROXY TCP4 192.0.2.7 10.0.0.1 65536 443\r\n"),
           std::string("PROXY TCP4 192.0.2.7 10.0.0.1 -1 443\r\n"),
           std::string("PROXY TCP4 192.0.2.7 10.0.0.1 +1 443\r\n"),
           std::string("PROXY TCP4 192.0.2.7 10.0.0.1 1 443\n"),
           std::string("PROXY \n"),
           absl::StrCat("PROXY UNKNOWN ", std::string(92, 'x'), "\r\n"),  // 108 bytes
           absl::StrCat("PROXY UNKNOWN ", std::string(93, 'x')),
           Binary(0x11, 0x11, Inet()),                 // version 1
           Binary(0x31, 0x11, Inet()),                 // version 3
           Binary(0x22, 0x11, Inet()),                 // an unknown command
           Binary(0x21, 0x41, std::string(300, 'x')),  // an unknown family
           Binary(0x21, 0x13, Inet()),                 // an unknown protocol
           Binary(0x21, 0x11, Inet().substr(1)),
           Binary(0x21, 0x21, Inet6().substr(1)),
           Binary(0x21, 0x31, std::string(215, '/')),
           Binary(0x21, 0x11, Inet(std::string(kMaxProxyHeaderBytes - 27, 'x'))),
           absl::StrCat(kSignature, "\x21\x11\xff\xff"),
           absl::StrCat(kSignature, "\x20\x11\xff\xff"),
       }) {
    EXPECT_EQ(Read(bad), "malformed") << absl::CHexEscape(bad);
  }
}

TEST(ProxyHeaderTest, IsAbsentFromOtherConnections) {
  for (const std::string& other :
       {std::string("POST / HTTP/1.1\r\n"), std::string("PUT /"), std::string("PROXYx"), std::string("proxy "),
        std::string("\x16\x03\x01\x02"), std::string("\r\n\r\n\r\n"), std::string("\r\nPOST"), std::string(" PROXY "),
        std::string("\n"), std::string("\0", 1), std::string(kSignature.substr(0, 11)) + "x"}) {
    EXPECT_EQ(Read(other), "absent") << absl::CHexEscape(other);
  }
}

// Changes good headers at random, and checks that a header is never read too far, and that further bytes never change a
// result.
TEST(ProxyHeaderTest, NeverChangesItsResult) {
  std::mt19937 random(7);
  const std::vector<Case> good = GoodHeaders();
  const auto below = [&random](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  int malformed = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes = good[below(good.size())].header.substr(0, 300);
    for (size_t changes = below(4); changes > 0; --changes) {
      const size_t at = below(bytes.size());
      switch (below(3)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes.insert(at, 1, "\r\n 0P\x21"[below(6)]);
          break;
        default:
          bytes.erase(at, 1);
          if (bytes.empty()) bytes = "P";
      }
    }
    const ProxyHeader whole = ReadProxyHeader(bytes);
    malformed += whole.state == State::kMalformed ? 1 : 0;
    for (size_t size = 0; size < bytes.size(); ++size) {
      const ProxyHeader part = ReadProxyHeader(absl::string_view(bytes).substr(0, size));
      if (part.state == State::kMore) {
        ASSERT_TRUE(whole.state != State::kDone || size >= whole.bytes || part.bytes <= whole.bytes - size);
        continue;
      }
      ASSERT_EQ(part.state, whole.state) << absl::CHexEscape(bytes) << " after " << size;
      ASSERT_EQ(part.bytes, whole.bytes);
      ASSERT_EQ(part.client, whole.client);
      break;
    }
  }
  EXPECT_GT(malformed, 10'000);
}

}  // namespace
}  // namespace stampgate
