#include "translate/wire/writer.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "translate/testing/dynamic_message.h"

namespace stampgate {
namespace {

constexpr char kResponse[] = "stampgate.v1.CreatePoliciesResponse";

int NumberOf(const std::string& type, const std::string& field) {
  return testing::Pool().FindMessageTypeByName("stampgate.v1." + type)->FindFieldByName(field)->number();
}

TEST(WireWriterTest, WritesTheBytesThatProtocolBuffersWrites) {
  const auto expected = testing::MessageOf(kResponse, "activity {id: 'a-1' status: ACTIVITY_STATUS_COMPLETED}");
  WireWriter writer;
  const WireWriter::Mark activity = writer.Begin(NumberOf("CreatePoliciesResponse", "activity"));
  writer.String(NumberOf("Activity", "id"), "a-1");
  writer.Varint(NumberOf("Activity", "status"), 3);
  writer.End(activity);
  EXPECT_EQ(writer.Take(), expected->SerializeAsString());
  EXPECT_EQ(writer.Take(), "");
}

// The writer must move the content of a message when the length of its length grows.
TEST(WireWriterTest, WritesMessagesOfEachSize) {
  for (const size_t size : {0, 1, 119, 120, 127, 128, 16'370, 16'383, 16'384, 2'097'151, 2'097'152}) {
    const std::string text(size, 'x');
    const auto expected = testing::MessageOf(
        kResponse, absl::StrCat("activity {intent {create_policies_intent {policies {notes: '", text, "'}}}}"));
    WireWriter writer;
    const WireWriter::Mark activity = writer.Begin(NumberOf("CreatePoliciesResponse", "activity"));
    const WireWriter::Mark intent = writer.Begin(NumberOf("Activity", "intent"));
    const WireWriter::Mark policies = writer.Begin(NumberOf("ActivityIntent", "create_policies_intent"));
    const WireWriter::Mark policy = writer.Begin(NumberOf("CreatePoliciesParameters", "policies"));
    writer.String(NumberOf("PolicyToCreate", "notes"), text);
    for (const WireWriter::Mark mark : {policy, policies, intent, activity}) writer.End(mark);
    EXPECT_TRUE(writer.Take() == expected->SerializeAsString()) << size;
  }
}

TEST(WireWriterTest, AppendsContentAfterItsPrefixAndEncodedFields) {
  WireWriter field;
  field.Varint(2, 300);
  WireWriter writer;
  writer.Prefix(1, 200);
  writer.Append(std::string(200, 'x'));
  writer.Append(field.Take());
  WireWriter expected;
  expected.String(1, std::string(200, 'x'));
  expected.Varint(2, 300);
  EXPECT_EQ(writer.Take(), expected.Take());
}

TEST(WireWriterTest, AMessageBeyondTheBoundIsOnlyCounted) {
  const auto write = [](WireWriter& writer) {
    writer.Varint(1, 300);
    const WireWriter::Mark outer = writer.Begin(2);
    const WireWriter::Mark list = writer.Begin(16);
    for (int i = 0; i < 200; ++i) writer.Packed(1);
    writer.End(list);
    writer.String(3, std::string(20000, 'x'));
    writer.End(outer);
    writer.String(4, "end");
  };
  WireWriter whole;
  write(whole);
  const size_t size = whole.size();
  WireWriter within(0, size);
  write(within);
  EXPECT_FALSE(within.is_too_large());
  EXPECT_EQ(within.Take(), whole.Take());
  for (const size_t most : {size - 1, size - 5, size / 2, size_t{100}, size_t{0}}) {
    WireWriter beyond(size, most);
    write(beyond);
    EXPECT_TRUE(beyond.is_too_large());
    EXPECT_EQ(beyond.size(), size) << most;
  }
}

TEST(WireWriterTest, WritesPackedLists) {
  WireWriter writer;
  const WireWriter::Mark list = writer.Begin(6);
  for (const uint64_t value : {3, 270, 86942}) writer.Packed(value);
  writer.End(list);
  // The example in the documentation of the encoding of Protocol Buffers.
  EXPECT_EQ(writer.Take(), "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
}

}  // namespace
}  // namespace stampgate
