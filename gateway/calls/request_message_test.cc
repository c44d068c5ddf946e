#include "gateway/calls/request_message.h"

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <string>

#include "stampgate/v1/policy_service.pb.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

TEST(RequestMessageTest, DecodesAMessage) {
  v1::GetPolicyRequest sent;
  sent.set_organization_id("o");
  v1::GetPolicyRequest request;
  EXPECT_TRUE(DecodeRequest(BufferOf(sent.SerializeAsString()), request).ok());
  EXPECT_EQ(request.organization_id(), "o");
}

TEST(RequestMessageTest, BytesThatAreNoMessageLeaveNoField) {
  v1::GetPolicyRequest sent;
  sent.set_organization_id("perhaps a secret");
  v1::GetPolicyRequest request;
  const absl::Status status = DecodeRequest(BufferOf(sent.SerializeAsString() + "\xff"), request);
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
  EXPECT_EQ(status.message(), "the request is not a stampgate.v1.GetPolicyRequest message");
  EXPECT_EQ(request.organization_id(), "");
}

TEST(RequestMessageTest, ParsesAMessageThatArrivedInSeveralPieces) {
  v1::GetPolicyRequest sent;
  sent.set_organization_id("an organization");
  sent.set_policy_id(std::string(1000, 'p'));
  const std::string bytes = sent.SerializeAsString();
  const grpc::Slice pieces[] = {grpc::Slice(bytes.substr(0, 5)), grpc::Slice(bytes.substr(5))};
  const MessagePlan& plan = testing::PlanOf(sent);
  grpc::Slice joined;
  google::protobuf::Arena arena;
  const absl::StatusOr<ParsedMessage> request = ParseRequest(grpc::ByteBuffer(pieces, 2), plan, joined, arena);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->Text(*plan.Find("organization_id")), "an organization");
  EXPECT_EQ(request->Text(*plan.Find("policy_id")), sent.policy_id());
}

TEST(RequestMessageTest, BytesThatAreNoMessageAreAnErrorThatNamesTheType) {
  const v1::GetPolicyRequest none;
  const MessagePlan& plan = testing::PlanOf(none);
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
