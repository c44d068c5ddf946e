#include "gateway/subscriptions/calls/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "google/protobuf/descriptor.pb.h"
#include "translate/testing/dynamic_message.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using ::testing::HasSubstr;

using Change = std::function<void(const std::string& message, FieldDescriptorProto& field)>;

// Adds `file`, and the files that it imports, to `pool`, with changed fields.
void Add(const FileDescriptor& file, const Change& change, DescriptorPool& pool) {
  if (pool.FindFileByName(std::string(file.name())) != nullptr) return;
  for (int i = 0; i < file.dependency_count(); ++i) Add(*file.dependency(i), change, pool);
  FileDescriptorProto copy;
  file.CopyTo(&copy);
  for (DescriptorProto& message : *copy.mutable_message_type()) {
    for (FieldDescriptorProto& field : *message.mutable_field()) change(message.name(), field);
  }
  EXPECT_NE(pool.BuildFile(copy), nullptr);
}

// Creates the messages of the linked protos, with changes.
absl::Status CreateWith(const Change& change) {
  DescriptorPool pool;
  Add(*testing::Pool().FindFileByName("stampgate/v1/subscription_service.proto"), change, pool);
  return SubscriptionMessages::Create(pool, "Service").status();
}

TEST(SubscriptionMessagesTest, FindsTheMessagesOfTheLinkedProtos) {
  const auto messages = SubscriptionMessages::Create(testing::Pool(), "Service");
  ASSERT_TRUE(messages.ok()) << messages.status();
  EXPECT_EQ((*messages)->consume().held_tokens->field->full_name(), "stampgate.v1.ConsumeRequest.held_tokens");
  EXPECT_EQ((*messages)->skip_parked().cursors->field->full_name(), "stampgate.v1.SkipParkedRequest.cursors");
  EXPECT_EQ((*messages)->seek().place.end->field->full_name(), "stampgate.v1.SeekRequest.end");
  EXPECT_EQ((*messages)->settle().outcomes.size(), 4u);
  EXPECT_EQ((*messages)->settle().outcomes.at(1), SettleOutcome::kDone);
  std::set<uint64_t> reasons;
  for (const auto& [reason, number] : (*messages)->responses().delivery.reasons) reasons.insert(number);
  EXPECT_EQ(reasons.size(), 8u);
}

TEST(SubscriptionMessagesTest, RefusesAMessageWithoutOneOfTheFields) {
  for (const auto& [type, name] :
       {std::pair{"ConsumeRequest", "held_tokens"}, std::pair{"SettleRequest", "park_reason"},
        std::pair{"ListParkedRequest", "page_size"}, std::pair{"RetryParkedRequest", "cursors"},
        std::pair{"SeekRequest", "time"}, std::pair{"ConsumeResponse", "deliveries"}, std::pair{"Delivery", "token"},
        std::pair{"ParkedEvent", "park_time"}, std::pair{"Subscription", "lagging_keys"}}) {
    const absl::Status status = CreateWith([&](const std::string& message, FieldDescriptorProto& field) {
      if (message == type && field.name() == name) field.set_name("renamed");
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
  }
}

TEST(SubscriptionMessagesTest, RefusesResponsesThatHaveTheirCommonContentInDifferentFields) {
  for (const char* changed : {"GetSubscriptionResponse", "SeekResponse", "SkipParkedResponse"}) {
    const absl::Status status = CreateWith([&](const std::string& message, FieldDescriptorProto& field) {
      if (message == changed) field.set_number(9);
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("in the same fields")) << changed;
  }
}

}  // namespace
}  // namespace stampgate
