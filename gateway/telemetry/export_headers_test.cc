#include "gateway/telemetry/export_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace stampgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

absl::StatusOr<std::vector<std::string>> Parse(const std::string& text) {
  absl::StatusOr<SecretBytes> bytes = SecretBytes::Create(text.size());
  if (!bytes.ok()) return bytes.status();
  std::memcpy(bytes->data(), text.data(), text.size());
  return ParseExportHeaders(*bytes);
}

TEST(ExportHeadersTest, EachLineIsAHeader) {
  EXPECT_THAT(*Parse("x-api-key: abc def\n\nauthorization:Basic eDp5\r\n"),
              ElementsAre("x-api-key: abc def", "authorization: Basic eDp5"));
}

TEST(ExportHeadersTest, OtherLinesAreRefusedWithoutQuotingThem) {
  for (const std::string line :
       {"x-api-key", "X-Api-Key: secret", ": secret", "a b: secret", "grpc-timeout: secret", "te: secret",
        "content-type: secret", "x-api-key:", "x-api-key: secr\x01t", "x-api-key: secr\xc3\xa4t"}) {
    const absl::Status status = Parse("a: b\n" + line).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(status.message(), HasSubstr("line 2"));
    EXPECT_THAT(status.message(), Not(HasSubstr("secr")));
  }
}

}  // namespace
}  // namespace stampgate
