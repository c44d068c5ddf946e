#include "base/http/response.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

TEST(ResponseTest, ResponseHasTheStatusAndTheConnectionHeader) {
  EXPECT_EQ(RenderAnswer(200, AfterAnswer::kKeepAlive),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(RenderAnswer(401, AfterAnswer::kClose),
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(RenderAnswer(418, AfterAnswer::kClose), "HTTP/1.1 418 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(ResponseTest, ResponseHasAllowWith405AndRetryAfterWith503) {
  EXPECT_EQ(RenderAnswer(405, AfterAnswer::kClose),
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: POST\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(
      RenderAnswer(503, AfterAnswer::kKeepAlive),
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\nConnection: keep-alive\r\n\r\n");
}

TEST(ResponseTest, AStatusThatIsNotFinalBecomes503) {
  const std::string unavailable = RenderAnswer(503, AfterAnswer::kKeepAlive);
  for (const int status : {-1, 0, 99, 100, 199, 600, 1000}) {
    EXPECT_EQ(RenderAnswer(status, AfterAnswer::kKeepAlive), unavailable) << status;
  }
}

}  // namespace
}  // namespace stampgate
