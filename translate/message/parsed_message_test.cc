#include "translate/message/parsed_message.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/hex.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/testing.pb.h"
#include "translate/wire/serialize.h"

namespace stampgate {
namespace {

using ::google::protobuf::Arena;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::stampgate::testing::Below;
using ::stampgate::testing::Everything;
using ::stampgate::testing::OneIn;
using ::stampgate::testing::Operations;
using ::stampgate::testing::Proto;
using ::stampgate::testing::Random;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const MessagePlan& EverythingPlan() { return testing::PlanOf(Everything::default_instance()); }

const FieldPlan& Field(absl::string_view name) { return *EverythingPlan().Find(name); }

std::string Bytes(absl::string_view hex) { return DecodeHex(hex).value(); }

class ParsedMessageTest : public ::testing::Test {
 protected:
  // Returns null if `bytes` is not an Everything.
  const ParsedMessage* Parse(absl::string_view bytes) {
    return ParseMessage(EverythingPlan(), *Arena::Create<std::string>(&memory_.arena(), bytes), memory_)
        .value_or(nullptr);
  }

  const ParsedMessage& ParseText(const std::string& text_proto) {
    return *Parse(Proto<Everything>(text_proto).SerializeAsString());
  }

  static std::vector<uint64_t> Numbers(const ParsedMessage& message, absl::string_view field) {
    std::vector<uint64_t> numbers;
    for (const FieldValue& value : message.Values(Field(field))) numbers.push_back(value.number());
    return numbers;
  }

  static std::vector<std::string> Texts(const ParsedMessage& message, absl::string_view field) {
    std::vector<std::string> texts;
    for (const FieldValue& value : message.Values(Field(field))) texts.emplace_back(value.text());
    return texts;
  }

  static std::vector<std::pair<std::string, std::string>> Entries(const ParsedMessage& message,
                                                                  absl::string_view field) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const FieldValue& value : message.Values(Field(field))) {
      const MapEntry entry = MapEntryIn(value.message());
      entries.emplace_back(entry.key, entry.value);
    }
    return entries;
  }

  static std::vector<uint64_t> Unknown(const ParsedMessage& message) {
    std::vector<uint64_t> numbers;
    for (const int number : message.unknown()) numbers.push_back(static_cast<uint64_t>(number));
    return numbers;
  }

  RequestMemory memory_{std::numeric_limits<size_t>::max()};
};

TEST_F(ParsedMessageTest, AnEmptyMessageHasNoValues) {
  const ParsedMessage* message = Parse("");
  ASSERT_NE(message, nullptr);
  for (const FieldPlan& field : EverythingPlan().fields) {
    EXPECT_FALSE(message->Has(field)) << field.field->name();
    EXPECT_THAT(message->Values(field), IsEmpty());
  }
  EXPECT_EQ(message->Number(Field("big")), 0u);
  EXPECT_EQ(message->Text(Field("text")), "");
  EXPECT_THAT(message->unknown(), IsEmpty());
}

TEST_F(ParsedMessageTest, HoldsTheValuesOfEveryForm) {
  const ParsedMessage& message = ParseText(R"pb(text: "t"
                                                texts: "u"
                                                texts: ""
                                                flag: true
                                                big: 18446744073709551615
                                                signed_big: -5
                                                small: 4294967295
                                                signed_smalls: -1
                                                signed_smalls: 7
                                                color: COLOR_GREEN
                                                time { seconds: -9 nanos: 3 }
                                                inner {
                                                  text: "i"
                                                  inner { flag: true }
                                                })pb");
  EXPECT_THAT(Texts(message, "text"), ElementsAre("t"));
  EXPECT_THAT(Texts(message, "texts"), ElementsAre("u", ""));
  EXPECT_EQ(message.Number(Field("flag")), 1u);
  EXPECT_EQ(message.Number(Field("big")), 18446744073709551615u);
  EXPECT_EQ(static_cast<int64_t>(message.Number(Field("signed_big"))), -5);
  EXPECT_EQ(message.Number(Field("small")), 4294967295u);
  EXPECT_THAT(Numbers(message, "signed_smalls"), ElementsAre(static_cast<uint64_t>(-1), 7));
  EXPECT_EQ(message.Number(Field("color")), 2u);
  const Timestamp time = TimestampIn(message.Values(Field("time")).front().message());
  EXPECT_EQ(time.seconds, -9);
  EXPECT_EQ(time.nanos, 3);
  const ParsedMessage& inner = message.Values(Field("inner")).front().message();
  EXPECT_EQ(&inner.plan(), &EverythingPlan());
  EXPECT_EQ(inner.Text(Field("text")), "i");
  EXPECT_EQ(inner.Values(Field("inner")).front().message().Number(Field("flag")), 1u);
}

TEST_F(ParsedMessageTest, AFieldWithoutPresenceIsNotSetIfItsLastValueIsZeroOrEmpty) {
  EXPECT_FALSE(Parse(Bytes("2000"))->Has(Field("flag")));
  EXPECT_FALSE(Parse(Bytes("20012000"))->Has(Field("flag")));
  EXPECT_FALSE(Parse(Bytes("1201781200"))->Has(Field("text")));
  EXPECT_TRUE(Parse(Bytes("2800"))->Has(Field("optional_flag")));
  EXPECT_TRUE(Parse(Bytes("0a00"))->Has(Field("optional_text")));
}

TEST_F(ParsedMessageTest, TheLastValueWinsAndMessagesAreMerged) {
  const std::string twice = absl::StrCat(Proto<Everything>(R"pb(text: "a"
                                                                inner { text: "a" small: 1 texts: "a" })pb")
                                             .SerializeAsString(),
                                         Proto<Everything>(R"pb(text: "b"
                                                                inner { small: 2 texts: "b" })pb")
                                             .SerializeAsString());
  const ParsedMessage& message = *Parse(twice);
  EXPECT_THAT(Texts(message, "text"), ElementsAre("b"));
  ASSERT_EQ(message.Values(Field("inner")).size(), 1u);
  const ParsedMessage& inner = message.Values(Field("inner")).front().message();
  EXPECT_EQ(inner.Text(Field("text")), "a");
  EXPECT_EQ(inner.Number(Field("small")), 2u);
  EXPECT_THAT(Texts(inner, "texts"), ElementsAre("a", "b"));
}

TEST_F(ParsedMessageTest, OfAOneofTheLastFieldIsSet) {
  const auto text = [] { return Proto<Everything>(R"pb(choice_text: "a")pb").SerializeAsString(); };
  const auto inner = [](const char* field) {
    return Proto<Everything>(absl::StrCat("choice_inner {", field, "}")).SerializeAsString();
  };
  const ParsedMessage& message = *Parse(inner("text: 'x'") + text() + inner("flag: true"));
  EXPECT_FALSE(message.Has(Field("choice_text")));
  const ParsedMessage& chosen = message.Values(Field("choice_inner")).front().message();
  EXPECT_FALSE(chosen.Has(Field("text")));
  EXPECT_TRUE(chosen.Has(Field("flag")));
  EXPECT_TRUE(Parse(inner("") + text())->Has(Field("choice_text")));
  EXPECT_FALSE(Parse(inner("") + text())->Has(Field("choice_inner")));
}

TEST_F(ParsedMessageTest, AListMayBePackedOrNot) {
  EXPECT_THAT(Numbers(*Parse(Bytes("4a0301ac02"
                                   "4805"
                                   "4a00"
                                   "4a0107")),
                      "bigs"),
              ElementsAre(1, 300, 5, 7));
}

TEST_F(ParsedMessageTest, NumbersAreTruncatedAsProtocolBuffersDoes) {
  EXPECT_EQ(Parse(Bytes("6881808080808001"))->Number(Field("small")), 1u);
  EXPECT_EQ(Parse(Bytes("2080808080808001"))->Number(Field("flag")), 1u);
  EXPECT_EQ(static_cast<int32_t>(Parse(Bytes("8001ffffffff0f"))->Number(Field("signed_small"))), -1);
}

TEST_F(ParsedMessageTest, FieldsThatThePlanDoesNotDefineAreUnknown) {
  // Of these fields, 2000 is not defined, and 2 (a string) and 4 (a bool) have another wire type.
  EXPECT_THAT(Unknown(*Parse(Bytes("807d01"
                                   "1001"
                                   "220101"
                                   "837d0801847d"
                                   "2500000000"))),
              ElementsAre(2000, 2, 4, 2000, 4));
}

TEST_F(ParsedMessageTest, BytesThatAreNotAMessageAreRejected) {
  for (const char* hex :
       {"12", "1205", "120578", "20", "20ff", "1201ff", "0201", "00", "07", "0c", "837d0801", "837d0801cc02",
        "c20104"
        "1205"
        "7878",
        "4a03"
        "01ac",
        "4a02"
        "0180",
        "20ffffffffffffffffffff01", "12ffffffff0f", "12ffffffffffffffffff01"}) {
    EXPECT_EQ(Parse(Bytes(hex)), nullptr) << hex;
    EXPECT_FALSE(Everything().ParseFromString(Bytes(hex))) << hex;
  }
}

TEST_F(ParsedMessageTest, MessagesAreNestedAsDeepAsInProtocolBuffers) {
  const auto nested = [](int depth, std::string bytes = "") {
    for (int i = 0; i < depth; ++i) {
      std::string wrapped;
      wrapped.push_back('\xc2');  // the field inner, 24, with a length
      wrapped.push_back('\x01');
      size_t size = bytes.size();
      for (; size >= 128; size >>= 7) wrapped.push_back(static_cast<char>((size & 127) | 128));
      wrapped.push_back(static_cast<char>(size));
      bytes = wrapped + bytes;
    }
    return bytes;
  };
  for (int depth : {1, 50, 99, 100, 101, 102, 10000}) {
    EXPECT_EQ(Parse(nested(depth)) != nullptr, Everything().ParseFromString(nested(depth))) << depth;
    const std::string with_map = nested(depth, Bytes("c202030a0161"));
    EXPECT_EQ(Parse(with_map) != nullptr, Everything().ParseFromString(with_map)) << depth;
  }
  EXPECT_NE(Parse(nested(100)), nullptr);
  EXPECT_EQ(Parse(nested(10000)), nullptr);
}

TEST_F(ParsedMessageTest, BytesNeedNotBeUtf8) {
  const ParsedMessage* message =
      Parse(Bytes("aa0202ff00"
                  "ba0201fe"
                  "ba0200"));
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->Text(Field("data")), absl::string_view("\xff\0", 2));
  EXPECT_THAT(Texts(*message, "datas"), ElementsAre("\xfe", ""));
  EXPECT_TRUE(Parse(Bytes("b20200"))->Has(Field("optional_data")));
  EXPECT_FALSE(Parse(Bytes("aa0201ffaa0200"))->Has(Field("data")));
}

TEST_F(ParsedMessageTest, TheEntriesOfAMapAreOrderedByTheBytesOfTheirKeys) {
  const ParsedMessage& message = ParseText(R"pb(labels { key: "b" value: "1" }
                                                labels { key: "é" value: "2" }
                                                labels { key: "" value: "3" }
                                                labels { key: "a" value: "" }
                                                labels { key: "aa" value: "5" }
                                                other_labels { key: "x" value: "6" })pb");
  EXPECT_THAT(Entries(message, "labels"),
              ElementsAre(Pair("", "3"), Pair("a", ""), Pair("aa", "5"), Pair("b", "1"), Pair("é", "2")));
  EXPECT_THAT(Entries(message, "other_labels"), ElementsAre(Pair("x", "6")));
}

TEST_F(ParsedMessageTest, AnEntryMayOmitItsKeyOrItsValueAndTheLastEntryOfAKeyWins) {
  const std::string bytes = Bytes(
      "c202060a0162120131"          // b: 1
      "c20203120132"                // the key is omitted
      "c202030a0163"                // the value is omitted
      "c20200"                      // both are omitted, so this entry replaces the second one
      "c202061201330a0162"          // b: 3, with the value before the key
      "c202090a01780a0164120134");  // d: 4, with two keys
  const ParsedMessage* message = Parse(bytes);
  ASSERT_NE(message, nullptr);
  EXPECT_THAT(Entries(*message, "labels"), ElementsAre(Pair("", ""), Pair("b", "3"), Pair("c", ""), Pair("d", "4")));
  Everything expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  EXPECT_EQ(SerializeDeterministically(*message), SerializeDeterministically(expected));
}

TEST_F(ParsedMessageTest, TheMapsOfMergedMessagesAreMerged) {
  const ParsedMessage* message = Parse(absl::StrCat(Proto<Everything>(R"pb(inner {
                                                                             labels { key: "b" value: "1" }
                                                                             labels { key: "a" value: "2" }
                                                                           })pb")
                                                        .SerializeAsString(),
                                                    Proto<Everything>(R"pb(inner {
                                                                             labels { key: "b" value: "3" }
                                                                             labels { key: "" value: "4" }
                                                                           })pb")
                                                        .SerializeAsString()));
  ASSERT_NE(message, nullptr);
  EXPECT_THAT(Entries(message->Values(Field("inner")).front().message(), "labels"),
              ElementsAre(Pair("", "4"), Pair("a", "2"), Pair("b", "3")));
}

TEST_F(ParsedMessageTest, OfALongListOnlyTheFirstElementsAreStoredAndAllAreCounted) {
  std::string texts;
  std::string labels;
  for (uint32_t i = 0; i < kMaxElements + 3; ++i) {
    const std::string number = absl::StrCat(i);
    Everything one;
    one.add_texts(number);
    texts += one.SerializeAsString();
    (*one.mutable_labels())[number] = "v";
    one.clear_texts();
    labels += one.SerializeAsString();
  }
  const std::string flag = Proto<Everything>("flag: true").SerializeAsString();
  const ParsedMessage* message = Parse(absl::StrCat(labels, flag, texts));
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->Values(Field("texts")).size(), kMaxElements);
  EXPECT_EQ(message->Values(Field("texts")).back().text(), absl::StrCat(kMaxElements - 1));
  EXPECT_EQ(message->Count(Field("texts")), kMaxElements + 3);
  EXPECT_EQ(message->Count(Field("labels")), kMaxElements + 3);
  EXPECT_EQ(message->Count(Field("flag")), 1u);
  EXPECT_EQ(message->Number(Field("flag")), 1u);

  Everything numbers;
  for (uint32_t i = 0; i < kMaxElements + 5; ++i) numbers.add_signed_smalls(static_cast<int>(i));
  message = Parse(numbers.SerializeAsString());
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->Values(Field("signed_smalls")).back().number(), kMaxElements - 1);
  EXPECT_EQ(message->Count(Field("signed_smalls")), kMaxElements + 5);
}

TEST_F(ParsedMessageTest, ElementsOfListsMayAlternate) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes += Proto<Everything>(absl::StrCat("texts: '", i, "' texts: 'x'")).SerializeAsString();
    bytes += Proto<Everything>("labels { key: 'k' value: 'v' }").SerializeAsString();
  }
  Everything expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  const ParsedMessage* message = Parse(bytes);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(SerializeDeterministically(*message), SerializeDeterministically(expected));
}

TEST_F(ParsedMessageTest, OnlyTheFirstUnknownFieldsAreStoredAndAllAreCounted) {
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += Bytes(i % 2 == 0 ? "c03e01" : "c83e01");
  const ParsedMessage* message = Parse(bytes);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->unknown_count(), 100000u);
  ASSERT_EQ(message->unknown().size(), ParsedMessage::kKeptUnknown);
  EXPECT_EQ(message->unknown()[0], 1000);
  EXPECT_EQ(message->unknown()[19], 1001);
}

TEST_F(ParsedMessageTest, ParsingStopsWhenTheMemoryIsUsed) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += Proto<Everything>("inners {} inners { texts: '' }").SerializeAsString();
  RequestMemory memory(300 << 10);
  memory.Count(1000);
  const auto message = ParseMessage(EverythingPlan(), bytes, memory);
  EXPECT_EQ(message.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(message.status().message(),
            "needs more than 307200 bytes of memory with its values and its JSON: the limit is 4 times its size, or "
            "524288 bytes if that is more");
  EXPECT_LE(memory.held(), 300u << 10);
  EXPECT_GT(memory.held(), 200u << 10);
  RequestMemory more(1 << 20);
  EXPECT_TRUE(ParseMessage(EverythingPlan(), bytes, more).ok());
}

TEST_F(ParsedMessageTest, AMapOfManyEntriesInManyPartsIsReadInTime) {
  std::string bytes;
  for (uint32_t i = 0; i < kMaxElements; ++i)
    absl::StrAppend(&bytes, Bytes("c20106c202030a01"), std::string(1, 'a' + i % 26));
  const ParsedMessage* message = Parse(bytes);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->Values(Field("inner")).front().message().Values(Field("labels")).size(), 26u);
}

TEST_F(ParsedMessageTest, ASizeHasAtMostFiveBytes) {
  for (const auto& [hex, is_valid] : {std::pair("0a8080808000", true), std::pair("0a808080808000", false)}) {
    EXPECT_EQ(Parse(Bytes(hex)) != nullptr, is_valid) << hex;
    EXPECT_EQ(Everything().ParseFromString(Bytes(hex)), is_valid) << hex;
  }
}

TEST_F(ParsedMessageTest, TheKeysAndValuesOfAMapMustBeUtf8) {
  for (const char* hex : {"c202030a01ff", "c202031201ff"}) {
    EXPECT_EQ(Parse(Bytes(hex)), nullptr);
    EXPECT_FALSE(Everything().ParseFromString(Bytes(hex)));
  }
}

TEST_F(ParsedMessageTest, AnEntryKeepsItsUnknownFields) {
  const ParsedMessage* message = Parse(Bytes("c202050a01611805"));
  ASSERT_NE(message, nullptr);
  EXPECT_THAT(Unknown(message->Values(Field("labels")).front().message()), ElementsAre(3));
}

TEST_F(ParsedMessageTest, AClientStampIsNotParsed) {
  const Operation& operation = testing::OperationOf("GetPolicy");
  const std::string bytes = Bytes("7a02ffff7a0101");
  const ParsedMessage* message = ParseMessage(*operation.request, bytes, memory_).value_or(nullptr);
  ASSERT_NE(message, nullptr);
  ASSERT_EQ(message->Values(*operation.request->client_stamp).size(), 2u);
  EXPECT_EQ(message->Values(*operation.request->client_stamp)[1].text(), "\x01");
}

// Property tests: every message and every fault is parsed as Protocol Buffers parses it.

bool HasOpaque(const ParsedMessage& message) {
  for (const FieldPlan& field : message.plan().fields) {
    for (const FieldValue& value : message.Values(field)) {
      if (field.form == JsonForm::kOpaque || (field.message != nullptr && HasOpaque(value.message()))) return true;
    }
  }
  return false;
}

bool HasUnknown(const ParsedMessage& message) {
  for (const FieldPlan& field : message.plan().fields) {
    if (field.message == nullptr) continue;
    for (const FieldValue& value : message.Values(field)) {
      if (HasUnknown(value.message())) return true;
    }
  }
  return !message.unknown().empty();
}

// Returns the numbers of the unknown fields of `message` and, inside braces, of the messages in it. Omits those of the
// entries of maps, which Protocol Buffers ignores.
std::string UnknownOf(const ParsedMessage& message) {
  std::string out;
  for (const int number : message.unknown()) absl::StrAppend(&out, number, " ");
  for (const FieldPlan& field : message.plan().fields) {
    if (field.message == nullptr || field.form == JsonForm::kStringMap) continue;
    for (const FieldValue& value : message.Values(field)) absl::StrAppend(&out, "{", UnknownOf(value.message()), "}");
  }
  return out;
}

std::string UnknownOf(const Message& message, const MessagePlan& plan) {
  const Reflection& reflection = *message.GetReflection();
  std::string out;
  const auto& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) absl::StrAppend(&out, unknown.field(i).number(), " ");
  for (const FieldPlan& field : plan.fields) {
    if (field.message == nullptr || field.form == JsonForm::kStringMap) continue;
    const bool repeated = field.field->is_repeated();
    const int size = repeated ? reflection.FieldSize(message, field.field) : reflection.HasField(message, field.field);
    for (int i = 0; i < size; ++i) {
      const Message& inner = repeated ? reflection.GetRepeatedMessage(message, field.field, i)
                                      : reflection.GetMessage(message, field.field);
      absl::StrAppend(&out, "{", UnknownOf(inner, *field.message), "}");
    }
  }
  return out;
}

// Whether a newer name of a field is set in `message` or in a message inside it. ParseMessage moves its value.
bool HasNewerName(const Message& message, const MessagePlan& plan) {
  const Reflection& reflection = *message.GetReflection();
  for (const FieldPlan& field : plan.fields) {
    if (field.replaced != nullptr && reflection.HasField(message, field.field)) return true;
    if (field.message == nullptr || field.form == JsonForm::kStringMap) continue;
    const bool repeated = field.field->is_repeated();
    const int size = repeated ? reflection.FieldSize(message, field.field) : reflection.HasField(message, field.field);
    for (int i = 0; i < size; ++i) {
      const Message& inner = repeated ? reflection.GetRepeatedMessage(message, field.field, i)
                                      : reflection.GetMessage(message, field.field);
      if (HasNewerName(inner, *field.message)) return true;
    }
  }
  return false;
}

void ExpectParsedAlike(const Message& prototype, const MessagePlan& plan, const std::string& bytes, int& accepted) {
  RequestMemory memory;
  std::unique_ptr<Message> expected(prototype.New());
  const bool valid = expected->ParseFromString(bytes);
  const ParsedMessage* parsed = ParseMessage(plan, bytes, memory).value_or(nullptr);
  const std::string hex = absl::BytesToHexString(bytes);
  if (parsed != nullptr && HasOpaque(*parsed)) return;  // ParseMessage does not check the bytes of these fields
  if (parsed != nullptr && !valid) {
    // Only a fault inside an unknown group is not detected.
    ASSERT_TRUE(HasUnknown(*parsed)) << hex;
    return;
  }
  ASSERT_EQ(parsed != nullptr, valid) << hex;
  if (!valid) return;
  ++accepted;
  EXPECT_EQ(UnknownOf(*parsed), UnknownOf(*expected, plan)) << hex;
  if (HasNewerName(*expected, plan)) return;
  expected->DiscardUnknownFields();
  testing::OrderMaps(*expected, plan);
  ASSERT_EQ(absl::BytesToHexString(SerializeDeterministically(*parsed)),
            absl::BytesToHexString(SerializeDeterministically(*expected)))
      << hex;
}

// Changes, removes, repeats or inserts some bytes.
std::string Damaged(std::string bytes, Random& random) {
  for (size_t n = 1 + Below(random, 3); n > 0; --n) {
    const size_t at = Below(random, bytes.size() + 1);
    switch (Below(random, 5)) {
      case 0:
        bytes.insert(at, 1, static_cast<char>(random()));
        break;
      case 1:
        bytes.erase(at, Below(random, 4));
        break;
      case 2:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(random, 8)));
        break;
      case 3:
        bytes.insert(at, bytes.substr(Below(random, bytes.size() + 1), Below(random, 20)));
        break;
      case 4:
        bytes.resize(at);
        break;
    }
  }
  return bytes;
}

void ExpectAllParsedAlike(const Message& prototype, const MessagePlan& plan, int rounds, Random& random,
                          int depth = 4) {
  const auto random_bytes = [&] {
    std::unique_ptr<Message> message(prototype.New());
    testing::FillRandomly(*message, plan, random, depth);
    return message->SerializeAsString();
  };
  int accepted = 0;
  int damaged_and_accepted = 0;
  for (int i = 0; i < rounds && !::testing::Test::HasFatalFailure(); ++i) {
    const std::string bytes = random_bytes();
    ExpectParsedAlike(prototype, plan, bytes, accepted);
    // A message may be sent in several parts, whose fields are merged.
    ExpectParsedAlike(prototype, plan, bytes + random_bytes(), accepted);
    for (int n = 0; n < 8 && !::testing::Test::HasFatalFailure(); ++n) {
      ExpectParsedAlike(prototype, plan, Damaged(bytes, random), damaged_and_accepted);
    }
  }
  EXPECT_EQ(accepted, 2 * rounds);
  EXPECT_GT(damaged_and_accepted, rounds / 4);
}

#ifdef STAMPGATE_SANITIZED
constexpr int kRounds = 60;
#else
constexpr int kRounds = 300;
#endif

TEST(ParsedMessagePropertyTest, RequestsAreParsedAsProtocolBuffersParsesThem) {
  Random random(1);
  for (const Operation& operation : Operations().operations()) {
    SCOPED_TRACE(operation.full_name);
    ExpectAllParsedAlike(*testing::NewRequest(operation), *operation.request, kRounds, random);
  }
}

TEST(ParsedMessagePropertyTest, EveryFormIsParsedAsProtocolBuffersParsesIt) {
  Random random(2);
  ExpectAllParsedAlike(Everything::default_instance(), EverythingPlan(), 10 * kRounds, random, /*depth=*/2);
}

}  // namespace
}  // namespace stampgate
