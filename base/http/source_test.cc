#include "base/http/source.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

std::string Source(const char* address) { return SourceOf(boost::asio::ip::make_address(address)); }

TEST(PeerSourceTest, SourceIsAnIpv4AddressOrTheNetworkOfAnIpv6Address) {
  EXPECT_EQ(Source("192.0.2.1"), "192.0.2.1");
  EXPECT_NE(Source("192.0.2.1"), Source("192.0.2.2"));
  EXPECT_EQ(Source("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(Source("2001:db8:1:2::1"), Source("2001:db8:1:2:ffff:ffff:ffff:ffff"));
  EXPECT_NE(Source("2001:db8:1:2::1"), Source("2001:db8:1:3::1"));
  EXPECT_EQ(Source("fe80::1%1"), Source("fe80::2%2"));
}

}  // namespace
}  // namespace stampgate
