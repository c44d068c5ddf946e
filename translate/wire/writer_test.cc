#include "translate/wire/writer.h"

#include <gtest/gtest.h>

#include <string>

#include "stampgate/v1/policy_service.pb.h"
#include "stampgate/v1/wallet_service.pb.h"

namespace stampgate {
namespace {

TEST(WireWriterTest, WritesTheBytesThatProtocolBuffersWrites) {
  v1::CreatePoliciesResponse expected;
  expected.mutable_activity()->set_id("a-1");
  expected.mutable_activity()->set_status(v1::ACTIVITY_STATUS_COMPLETED);
  WireWriter writer;
  const WireWriter::Mark activity = writer.Begin(v1::CreatePoliciesResponse::kActivityFieldNumber);
  writer.String(v1::Activity::kIdFieldNumber, "a-1");
  writer.Varint(v1::Activity::kStatusFieldNumber, v1::ACTIVITY_STATUS_COMPLETED);
  writer.End(activity);
  EXPECT_EQ(writer.Take(), expected.SerializeAsString());
  EXPECT_EQ(writer.Take(), "");
}

// The writer must move the content of a message when the length of its length grows.
TEST(WireWriterTest, WritesMessagesOfEachSize) {
  for (const size_t size : {0, 1, 119, 120, 127, 128, 16'370, 16'383, 16'384, 2'097'151, 2'097'152}) {
    const std::string text(size, 'x');
    v1::CreatePoliciesResponse expected;
    expected.mutable_activity()->mutable_intent()->mutable_create_policies_intent()->add_policies()->set_notes(text);
    WireWriter writer;
    const WireWriter::Mark activity = writer.Begin(v1::CreatePoliciesResponse::kActivityFieldNumber);
    const WireWriter::Mark intent = writer.Begin(v1::Activity::kIntentFieldNumber);
    const WireWriter::Mark policies = writer.Begin(v1::ActivityIntent::kCreatePoliciesIntentFieldNumber);
    const WireWriter::Mark policy = writer.Begin(v1::CreatePoliciesParameters::kPoliciesFieldNumber);
    writer.String(v1::PolicyToCreate::kNotesFieldNumber, text);
    for (const WireWriter::Mark mark : {policy, policies, intent, activity}) writer.End(mark);
    EXPECT_TRUE(writer.Take() == expected.SerializeAsString()) << size;
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
