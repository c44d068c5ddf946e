#include "base/postgres/server_address.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace stampgate {
namespace {

using Parts = std::pair<std::string, std::string>;

TEST(ServerAddressTest, SplitsNamesAddressesAndSocketFolders) {
  EXPECT_EQ(SplitHostAndPort("db.example.com:5432").value(), Parts("db.example.com", "5432"));
  EXPECT_EQ(SplitHostAndPort("127.0.0.1:1").value(), Parts("127.0.0.1", "1"));
  EXPECT_EQ(SplitHostAndPort("[::1]:65535").value(), Parts("::1", "65535"));
  EXPECT_EQ(SplitHostAndPort("/run/postgresql:5432").value(), Parts("/run/postgresql", "5432"));
}

TEST(ServerAddressTest, RefusesOtherTexts) {
  for (const char* host : {"", ":", "db", "db:", ":5432", "db:0", "db:65536", "db:99999999999", "db:x", "db:+1",
                           "db: 1", "db:-1", "[]:1"}) {
    EXPECT_EQ(SplitHostAndPort(host).status(), absl::InvalidArgumentError("must be host:port")) << host;
  }
  EXPECT_EQ(SplitHostAndPort("::1:5432").status(), absl::InvalidArgumentError("must have an IPv6 address in brackets"));
}

// libpq would read a list of hosts, or the name of a socket for which it uses no TLS.
TEST(ServerAddressTest, RefusesWhatLibpqReadsOtherwise) {
  for (const char* host : {"a,b:5432", "a b:5432", "a'b:5432", "a\\b:5432", "@name:5432"}) {
    EXPECT_FALSE(SplitHostAndPort(host).ok()) << host;
  }
}

}  // namespace
}  // namespace stampgate
