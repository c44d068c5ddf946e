#include "gateway/upstream/failure.h"

#include <gtest/gtest.h>

#include <utility>

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

TEST(ConnectFailureTest, MapsLibcurlsCodes) {
  for (const auto& [code, cause] :
       {std::pair(CURLE_COULDNT_RESOLVE_HOST, Cause::kUnreachable),
        std::pair(CURLE_COULDNT_CONNECT, Cause::kUnreachable), std::pair(CURLE_OPERATION_TIMEDOUT, Cause::kUnreachable),
        std::pair(CURLE_SSL_CONNECT_ERROR, Cause::kTls), std::pair(CURLE_PEER_FAILED_VERIFICATION, Cause::kTls),
        std::pair(CURLE_SSL_CACERT_BADFILE, Cause::kTls), std::pair(CURLE_OUT_OF_MEMORY, Cause::kBroken),
        std::pair(CURLE_LDAP_CANNOT_BIND, Cause::kBroken)}) {
    const TransportFailure failure = ConnectFailure(code, "");
    EXPECT_EQ(failure.cause, cause) << code;
    EXPECT_FALSE(failure.body_sent) << code;
    EXPECT_FALSE(failure.detail.empty());
  }
  EXPECT_EQ(ConnectFailure(CURLE_COULDNT_CONNECT, "a\r\nb\x1b[0m").detail, "Could not connect to server: a??b?[0m");
  EXPECT_LE(ConnectFailure(CURLE_COULDNT_CONNECT, std::string(5000, 'x')).detail.size(), 300u);
}

}  // namespace
}  // namespace stampgate
