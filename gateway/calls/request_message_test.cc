#include "gateway/calls/request_message.h"

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::MessageOf;
using ::stampgate::testing::NewMessage;
using ::stampgate::testing::ValueAt;

constexpr char kType[] = "stampgate.v1.GetPolicyRequest";

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

TEST(RequestMessageTest, DecodesAMessage) {
  const auto sent = MessageOf(kType, "organization_id: 'o'");
  const auto request = NewMessage(kType);
  EXPECT_TRUE(DecodeRequest(BufferOf(sent->SerializeAsString()), *request).ok());
  EXPECT_EQ(ValueAt(*request, "organization_id"), "o");
}

TEST(RequestMessageTest, BytesThatAreNoMessageLeaveNoField) {
  const auto sent = MessageOf(kType, "organization_id: 'perhaps a secret'");
  const auto request = NewMessage(kType);
  const absl::Status status = DecodeRequest(BufferOf(sent->SerializeAsString() + "\xff"), *request);
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
  EXPECT_EQ(status.message(), "the request is not a stampgate.v1.GetPolicyRequest message");
  EXPECT_EQ(ValueAt(*request, "organization_id"), "");
}

TEST(RequestMessageTest, ParsesAMessageThatArrivedInSeveralPieces) {
  const std::string policy_id(1000, 'p');
  const auto sent = MessageOf(kType, absl::StrCat("organization_id: 'an organization' policy_id: '", policy_id, "'"));
  const std::string bytes = sent->SerializeAsString();
  const grpc::Slice pieces[] = {grpc::Slice(bytes.substr(0, 5)), grpc::Slice(bytes.substr(5))};
  const MessagePlan& plan = testing::PlanOf(*sent);
  grpc::Slice joined;
  google::protobuf::Arena arena;
  const absl::StatusOr<ParsedMessage> request = ParseRequest(grpc::ByteBuffer(pieces, 2), plan, joined, arena);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->Text(*plan.Find("organization_id")), "an organization");
  EXPECT_EQ(request->Text(*plan.Find("policy_id")), policy_id);
}

TEST(RequestMessageTest, BytesThatAreNoMessageAreAnErrorThatNamesTheType) {
  const MessagePlan& plan = testing::PlanOf(*NewMessage(kType));
  grpc::Slice joined;
  google::protobuf::Arena arena;
  for (const std::string& bytes : {std::string("\xff"), std::string("\x0a\x05hush")}) {
    const absl::Status status = ParseRequest(BufferOf(bytes), plan, joined, arena).status();
    EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
    EXPECT_EQ(status.message(), "the request is not a stampgate.v1.GetPolicyRequest message");
  }
}

}  // namespace
}  // namespace stampgate
