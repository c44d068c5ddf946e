#include "base/http/listen_address.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

TEST(ListenAddressTest, AcceptsAnIpAddressAndAPort) {
  EXPECT_EQ(ParseListenAddress("127.0.0.1:8080")->ip, "127.0.0.1");
  EXPECT_EQ(ParseListenAddress("127.0.0.1:8080")->port, 8080);
  EXPECT_EQ(ParseListenAddress("[::1]:0")->ip, "::1");
  EXPECT_EQ(ParseListenAddress("[::1]:0")->port, 0);
  EXPECT_EQ(ParseListenAddress("localhost:65535")->ip, "127.0.0.1");
  EXPECT_EQ(ParseListenAddress("localhost:65535")->port, 65535);
  EXPECT_TRUE(ParseListenAddress("0.0.0.0:1").ok());
  EXPECT_TRUE(ParseListenAddress("[::]:1").ok());
}

TEST(ListenAddressTest, RecognizesLoopbackAddresses) {
  for (const char* ip : {"127.0.0.1", "127.255.3.4", "::1", "0:0:0:0:0:0:0:1"}) EXPECT_TRUE(IsLoopbackIp(ip)) << ip;
  for (const char* ip : {"", "128.0.0.1", "0.0.0.0", "::", "::2", "::ffff:127.0.0.1", "[::1]", "localhost", "127.1"}) {
    EXPECT_FALSE(IsLoopbackIp(ip)) << ip;
  }
}

TEST(ListenAddressTest, RefusesTextsThatAreNotAnIpAddressAndAPort) {
  for (const char* text : {"",
                           ":",
                           ":80",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:x",
                           "127.0.0.1:-1",
                           "127.0.0.1:+1",
                           "127.0.0.1: 1",
                           "127.0.0.1:65536",
                           "127.0.0.1:000001",
                           "127.1:80",
                           "127.0.0.1.:80",
                           "::1:80",
                           "[::1:80",
                           "::1]:80",
                           "[::1]",
                           "[127.0.0.1]:80",
                           "[fe80::1%lo]:80",
                           "[]:80",
                           "gateway.internal:80",
                           "LOCALHOST:80",
                           "*:80"}) {
    EXPECT_EQ(ParseListenAddress(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace stampgate
