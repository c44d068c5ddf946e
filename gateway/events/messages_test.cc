#include "gateway/events/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "google/protobuf/descriptor.pb.h"
#include "translate/testing/dynamic_message.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using ::testing::HasSubstr;

using Change = std::function<void(DescriptorProto& message)>;

// Adds `file`, and the files that it imports, to `pool`, with changed messages.
void Add(const FileDescriptor& file, const Change& change, DescriptorPool& pool) {
  if (pool.FindFileByName(std::string(file.name())) != nullptr) return;
  for (int i = 0; i < file.dependency_count(); ++i) Add(*file.dependency(i), change, pool);
  FileDescriptorProto copy;
  file.CopyTo(&copy);
  for (DescriptorProto& message : *copy.mutable_message_type()) change(message);
  EXPECT_NE(pool.BuildFile(copy), nullptr);
}

// Creates the messages of the operations, with changes.
absl::Status CreateWith(const Change& change) {
  DescriptorPool pool;
  Add(*testing::Pool().FindFileByName("stampgate/v1/event_service.proto"), change, pool);
  return EventMessages::Create(pool, "Service").status();
}

void Rename(DescriptorProto& message, const std::string& field, const std::string& name) {
  for (auto& candidate : *message.mutable_field()) {
    if (candidate.name() == field) candidate.set_name(name);
  }
}

TEST(EventMessagesTest, FindsTheMessagesOfTheLinkedProtos) {
  const auto messages = EventMessages::Create(testing::Pool(), "Service");
  ASSERT_TRUE(messages.ok()) << messages.status();
  EXPECT_EQ((*messages)->subscribe().start.cursor->field->full_name(), "stampgate.v1.SubscribeRequest.cursor");
  EXPECT_EQ((*messages)->list_events().start.end->field->full_name(), "stampgate.v1.ListEventsRequest.end");
  EXPECT_EQ((*messages)->list_events().types->field->full_name(), "stampgate.v1.EventFilter.types");
  EXPECT_EQ((*messages)->get_event().event_id->field->full_name(), "stampgate.v1.GetEventRequest.event_id");
  EXPECT_EQ((*messages)->offset_bytes().field->full_name(), "stampgate.v1.ReadEventBodyRequest.offset_bytes");
  EXPECT_EQ((*messages)->chunk(), 1);
  EXPECT_EQ((*messages)->subscribe().start.latest, 2u);
}

TEST(EventMessagesTest, RefusesARequestWithoutOneOfTheFields) {
  for (const auto& [type, field] :
       {std::pair{"SubscribeRequest", "filter"}, std::pair{"ListEventsRequest", "page_size"},
        std::pair{"GetEventRequest", "organization_id"}, std::pair{"ReadEventBodyRequest", "offset_bytes"},
        std::pair{"ReadEventBodyResponse", "chunk"}, std::pair{"EventFilter", "types"}}) {
    const absl::Status status = CreateWith([&](DescriptorProto& message) {
      if (message.name() == type) Rename(message, field, "renamed");
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << field;
    EXPECT_THAT(status.message(), HasSubstr(field));
  }
}

TEST(EventMessagesTest, RefusesARequestWhoseFieldHasAnotherForm) {
  const absl::Status status = CreateWith([&](DescriptorProto& message) {
    if (message.name() == "ReadEventBodyRequest") {
      message.mutable_field(1)->set_type(google::protobuf::FieldDescriptorProto::TYPE_UINT32);
    }
  });
  EXPECT_EQ(status, absl::FailedPreconditionError("stampgate.v1.ReadEventBodyRequest does not have a field "
                                                  "\"offset_bytes\" of the form that the program needs"));
}

TEST(EventMessagesTest, RefusesARequestThatCanHaveTwoStarts) {
  const absl::Status status = CreateWith([&](DescriptorProto& message) {
    if (message.name() != "SubscribeRequest") return;
    // The time gets a oneof of its own. The fields of a oneof must follow each other.
    auto& fields = *message.mutable_field();
    std::stable_partition(fields.begin(), fields.end(), [](const auto& field) { return field.name() != "time"; });
    fields.rbegin()->set_oneof_index(message.oneof_decl_size());
    message.add_oneof_decl()->set_name("other");
  });
  EXPECT_EQ(status,
            absl::FailedPreconditionError("cursor, time and end of stampgate.v1.SubscribeRequest are not one oneof"));
}

}  // namespace
}  // namespace stampgate
