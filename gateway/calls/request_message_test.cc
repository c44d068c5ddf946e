#include "gateway/calls/request_message.h"

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <string>

#include "stampgate/v1/policy_service.pb.h"
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

}  // namespace
}  // namespace stampgate
