#include "gateway/feed/event_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "google/protobuf/descriptor.pb.h"
#include "translate/testing/dynamic_message.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using ::testing::HasSubstr;

// Changes a field, which is a field of a message.
using Change = std::function<void(const std::string& message, FieldDescriptorProto& field)>;

// Adds `file`, and the files that it imports, to `pool`, with changed fields.
void Add(const FileDescriptor& file, const Change& change, DescriptorPool& pool) {
  if (pool.FindFileByName(std::string(file.name())) != nullptr) return;
  for (int i = 0; i < file.dependency_count(); ++i) Add(*file.dependency(i), change, pool);
  FileDescriptorProto copy;
  file.CopyTo(&copy);
  for (auto& message : *copy.mutable_message_type()) {
    for (auto& field : *message.mutable_field()) change(message.name(), field);
  }
  EXPECT_NE(pool.BuildFile(copy), nullptr);
}

// Finds the fields of the operations, with changed fields.
absl::StatusOr<EventFields> FindIn(const Change& change) {
  DescriptorPool pool;
  for (const char* file : {"stampgate/v1/event_service.proto", "stampgate/v1/subscriptions.proto"}) {
    Add(*testing::Pool().FindFileByName(file), change, pool);
  }
  return EventFields::Find(pool);
}

TEST(EventFieldsTest, FindsTheFieldsOfTheLinkedProtos) {
  const absl::StatusOr<EventFields> fields = FindIn([](const std::string&, FieldDescriptorProto&) {});
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_EQ(fields->response.events, 1);
  EXPECT_EQ(fields->body, 9);
  EXPECT_EQ(fields->entry.value, 2);
  EXPECT_EQ(fields->too_large, 1);
}

TEST(EventFieldsTest, RefusesAnEventWithoutOneOfTheFields) {
  const absl::StatusOr<EventFields> fields = FindIn([](const std::string& message, FieldDescriptorProto& field) {
    if (message == "Event" && field.name() == "body_sha256") field.set_name("body_hash");
  });
  EXPECT_EQ(fields.status(),
            absl::FailedPreconditionError("stampgate.v1.Event.body_sha256 is not a field of the protos"));
}

TEST(EventFieldsTest, RefusesMessagesThatHaveTheirEventsInDifferentFields) {
  for (const char* changed : {"ListEventsResponse", "GetEventResponse", "Delivery", "ParkedEvent"}) {
    const absl::StatusOr<EventFields> fields = FindIn([&](const std::string& message, FieldDescriptorProto& field) {
      if (message == changed && field.number() == 1) field.set_number(9);
    });
    EXPECT_EQ(fields.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(fields.status().message(), HasSubstr("in the same fields")) << changed;
  }
}

}  // namespace
}  // namespace stampgate
