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

TEST(RequestMessageTest, AMessageOfManyFieldsIsRefused) {
  const auto decode = [](const std::string& field, int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += field;
    return DecodeRequest(BufferOf(bytes), *NewMessage(kType));
  };
  // The unknown field 1000: a number, and a group that contains itself.
  for (const char* field : {"\xc0\x3e\x01", "\xc3\x3e\xc4\x3e"}) {
    const int fields = field[0] == '\xc0' ? 1 : 2;
    EXPECT_TRUE(decode(field, 1000 / fields).ok());
    const absl::Status status = decode(field, 1000 / fields + 1);
    EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
    EXPECT_EQ(status.message(), "the request has more than 1000 fields");
  }
}

TEST(RequestMessageTest, ARequestThatNeedsTooMuchMemoryIsAnErrorWithTheRule) {
  std::string leaves;
  for (int i = 0; i < 9000; ++i) leaves += "leaves { leaf_id: 'x' } ";
  const auto request =
      MessageOf("stampgate.v1.SparkPrepareTransferRequest", absl::StrCat("parameters { transfer { ", leaves, "} }"));
  const std::string bytes = request->SerializeAsString();
  const MessagePlan& plan = testing::PlanOf(*request);
  grpc::Slice joined;
  RequestMemory memory;
  const absl::Status status = ParseRequest(BufferOf(bytes), plan, joined, memory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
  EXPECT_EQ(status.message(),
            "the request needs more than 524288 bytes of memory with its values and its JSON: the limit is 4 times its "
            "size, or 524288 bytes if that is more");
  EXPECT_LE(memory.held(), MostBytesHeld(bytes.size()));
}

TEST(RequestMessageTest, ParsesAMessageThatArrivedInSeveralPieces) {
  const std::string policy_id(1000, 'p');
  const auto sent = MessageOf(kType, absl::StrCat("organization_id: 'an organization' policy_id: '", policy_id, "'"));
  const std::string bytes = sent->SerializeAsString();
  const grpc::Slice pieces[] = {grpc::Slice(bytes.substr(0, 5)), grpc::Slice(bytes.substr(5))};
  const MessagePlan& plan = testing::PlanOf(*sent);
  grpc::Slice joined;
  RequestMemory memory;
  const absl::StatusOr<ParsedMessage> request = ParseRequest(grpc::ByteBuffer(pieces, 2), plan, joined, memory);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->Text(*plan.Find("organization_id")), "an organization");
  EXPECT_EQ(request->Text(*plan.Find("policy_id")), policy_id);
}

TEST(RequestMessageTest, BytesThatAreNoMessageAreAnErrorThatNamesTheType) {
  const MessagePlan& plan = testing::PlanOf(*NewMessage(kType));
  grpc::Slice joined;
  RequestMemory memory;
  for (const std::string& bytes : {std::string("\xff"), std::string("\x0a\x05hush")}) {
    const absl::Status status = ParseRequest(BufferOf(bytes), plan, joined, memory).status();
    EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
    EXPECT_EQ(status.message(), "the request is not a stampgate.v1.GetPolicyRequest message");
  }
}

}  // namespace
}  // namespace stampgate
