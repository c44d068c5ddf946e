#include "gateway/callers/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

// Checks metadata that consist of this entry and of the entries that every call has.
absl::Status CheckWith(const std::string& name, const std::string& value) {
  CallMetadata metadata = {{"user-agent", "grpc-node-js/1.10.0"}, {"authorization", "Bearer a.b~c"}};
  metadata.emplace(name, value);
  return CheckMetadata(metadata);
}

void ExpectViolation(const absl::Status& status, const std::string& field, const std::string& rule) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
  EXPECT_THAT(DetailsOf(status).violations, ElementsAre(Pair(field, rule)));
}

TEST(CheckMetadataTest, AcceptsNamesAndValuesThatGrpcAllows) {
  EXPECT_EQ(CheckMetadata({}), absl::OkStatus());
  for (const char* name :
       {"a", "x-a", "x_a.9", "traceparent", "grpc-timeout", "x-organization-id", "x-bin-a", "stamp"}) {
    EXPECT_EQ(CheckWith(name, " !~\"\\,;:"), absl::OkStatus()) << name;
    EXPECT_EQ(CheckWith(name, ""), absl::OkStatus()) << name;
  }
}

TEST(CheckMetadataTest, AcceptsEveryByteInBinaryValues) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  EXPECT_EQ(CheckWith("grpc-trace-bin", bytes), absl::OkStatus());
}

TEST(CheckMetadataTest, RefusesValuesThatCannotBeHeaders) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string value = std::string("a") + static_cast<char>(byte) + "b";
    if (byte >= 0x20 && byte < 0x7f) {
      EXPECT_EQ(CheckWith("x-a", value), absl::OkStatus()) << byte;
    } else {
      ExpectViolation(CheckWith("x-a", value), "metadata[x-a]", "must be printable ASCII");
    }
  }
}

TEST(CheckMetadataTest, RefusesBadNamesWithoutQuotingThem) {
  for (const std::string& name : {std::string("x-A"), std::string(""), std::string("a b"), std::string(":path"),
                                  std::string("a\r\nb"), std::string("a\0", 2), std::string("\xc3\xa9")}) {
    ExpectViolation(CheckWith(name, "v"), "metadata",
                    R"(names consist of lower-case letters, digits, "_", "-" and ".")");
  }
}

TEST(CheckMetadataTest, RefusesStampsThatWouldNotBeForwarded) {
  for (const char* name : {"x-stamp", "x-stamp-webauthn", "x-stamp-attested", "x-stamp-bin"}) {
    ExpectViolation(CheckWith(name, "eyJ9"), absl::StrCat("metadata[", name, "]"),
                    "is not forwarded: put an end user's stamp into client_stamp");
  }
}

TEST(CheckMetadataTest, BoundsTheTotalSize) {
  const std::string half(kMaxMetadataBytes / 2 - 33, 'v');
  CallMetadata metadata = {{"a", half}, {"b", half}};
  EXPECT_EQ(CheckMetadata(metadata), absl::OkStatus());
  metadata.emplace("", "");
  ExpectViolation(CheckMetadata(metadata), "metadata", "must be 8192 bytes or fewer in all");
  ExpectViolation(CheckMetadata({{"a", half}, {"bb", half}, {"c", ""}}), "metadata",
                  "must be 8192 bytes or fewer in all");
}

TEST(CheckMetadataTest, ReportsAllFaults) {
  EXPECT_THAT(DetailsOf(CheckMetadata({{"x-a", "\n"}, {"x-b", "b"}, {"x-c", "\r"}})).violations, SizeIs(2));
}

}  // namespace
}  // namespace stampgate
