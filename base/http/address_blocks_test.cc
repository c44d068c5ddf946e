#include "base/http/address_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stampgate {
namespace {

using ::testing::HasSubstr;

bool IsIn(const std::vector<std::string>& blocks, const std::string& address) {
  AddressBlocks list;
  for (const std::string& block : blocks) EXPECT_EQ(list.Add(block), absl::OkStatus()) << block;
  return list.Contains(boost::asio::ip::make_address(address));
}

TEST(AddressBlocksTest, ContainTheAddressesWithTheirPrefix) {
  EXPECT_TRUE(IsIn({"10.0.0.0/8"}, "10.255.1.2"));
  EXPECT_FALSE(IsIn({"10.0.0.0/8"}, "11.0.0.0"));
  EXPECT_TRUE(IsIn({"192.0.2.128/25"}, "192.0.2.128"));
  EXPECT_FALSE(IsIn({"192.0.2.128/25"}, "192.0.2.127"));
  EXPECT_TRUE(IsIn({"192.0.2.7"}, "192.0.2.7"));
  EXPECT_FALSE(IsIn({"192.0.2.7"}, "192.0.2.6"));
  EXPECT_TRUE(IsIn({"2001:db8::/33"}, "2001:db8:7fff::1"));
  EXPECT_FALSE(IsIn({"2001:db8::/33"}, "2001:db8:8000::1"));
  EXPECT_TRUE(IsIn({"192.0.2.7", "2001:db8::7"}, "2001:db8::7"));
  EXPECT_FALSE(IsIn({}, "127.0.0.1"));
}

TEST(AddressBlocksTest, TreatAMappedAddressAsAnIpv4Address) {
  EXPECT_TRUE(IsIn({"10.0.0.0/8"}, "::ffff:10.1.2.3"));
  EXPECT_TRUE(IsIn({"::ffff:10.0.0.0/104"}, "10.1.2.3"));
  EXPECT_FALSE(IsIn({"10.0.0.0/8"}, "a00::1"));
}

TEST(AddressBlocksTest, DoNotMixFamilies) {
  EXPECT_TRUE(IsIn({"0.0.0.0/0"}, "203.0.113.9"));
  EXPECT_FALSE(IsIn({"0.0.0.0/0"}, "2001:db8::1"));
  EXPECT_TRUE(IsIn({"::/0"}, "203.0.113.9"));
}

TEST(AddressBlocksTest, MustBeWellFormed) {
  AddressBlocks list;
  for (const char* text : {"", "10.0.0", "10.0.0.0.0", "localhost", "fe80::1%eth0", "/8", "[::1]", "10.0.0.1:80"}) {
    EXPECT_THAT(list.Add(text).message(), HasSubstr("must be an IP address or a CIDR block")) << text;
  }
  for (const char* text : {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0.0/0008",
                           "::/129", "10.0.0.0/255.0.0.0"}) {
    EXPECT_THAT(list.Add(text).message(), HasSubstr("must have a prefix of 0 to")) << text;
  }
  for (const char* text : {"10.0.0.1/8", "2001:db8::1/64", "10.0.0.0/6", "1.2.3.4/0"}) {
    EXPECT_THAT(list.Add(text).message(), HasSubstr("bits after the prefix are 0")) << text;
  }
  EXPECT_FALSE(list.Contains(boost::asio::ip::make_address("10.0.0.1")));
}

}  // namespace
}  // namespace stampgate
