#include "gateway/operations/client_stamp_field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

const std::string kWebAuthnStamp =
    R"({"authenticatorData":")" + std::string(50, 'A') +
    R"(","clientDataJson":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0","credentialId":"YQ","signature":"MEUC"})";

TEST(ClientStampFieldTest, TheKindOfAStampChoosesItsHeader) {
  v1::ClientStamp field;
  field.set_web_authn(kWebAuthnStamp);
  const absl::StatusOr<ClientStamp> stamp = ReadClientStamp(field);
  ASSERT_THAT(stamp, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(stamp->name(), "X-Stamp-WebAuthn");
  EXPECT_EQ(stamp->value(), kWebAuthnStamp);
}

TEST(ClientStampFieldTest, AMalformedStampIsAViolationOfTheFieldOfItsKind) {
  for (const char* name : {"api_key", "web_authn", "attested"}) {
    v1::ClientStamp field;
    const auto* descriptor = v1::ClientStamp::descriptor()->FindFieldByName(name);
    field.GetReflection()->SetString(&field, descriptor, "hush-hush\r\nX-Stamp: hush");
    const absl::Status status = ReadClientStamp(field).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
    EXPECT_THAT(DetailsOf(status).violations, ElementsAre(Pair(std::string("client_stamp.") + name,
                                                               "must be printable ASCII, and not end in a space")));
    EXPECT_THAT(status.ToString(), Not(HasSubstr("hush")));
  }
}

TEST(ClientStampFieldTest, EveryKindInTheProtoIsRead) {
  const auto* oneof = v1::ClientStamp::descriptor()->FindOneofByName("stamp");
  for (int i = 0; i < oneof->field_count(); ++i) {
    v1::ClientStamp field;
    field.GetReflection()->SetString(&field, oneof->field(i), "x y");
    EXPECT_THAT(ReadClientStamp(field), StatusIs(absl::StatusCode::kInvalidArgument)) << oneof->field(i)->name();
  }
}

}  // namespace
}  // namespace stampgate
