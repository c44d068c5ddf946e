#include "base/json/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/json/writer.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// Appends the value as JSON text to `out`, so that a test can compare the values that the reader returned.
absl::Status Echo(JsonValue& value, std::string& out) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull:
      out += "null";
      return absl::OkStatus();
    case JsonValue::Kind::kTrue:
      out += "true";
      return absl::OkStatus();
    case JsonValue::Kind::kFalse:
      out += "false";
      return absl::OkStatus();
    case JsonValue::Kind::kNumber:
      absl::StrAppend(&out, value.number());
      return absl::OkStatus();
    case JsonValue::Kind::kString:
      if (value.string().has_value()) {
        AppendJsonString(*value.string(), out);
      } else {
        out += "NOT-UNICODE";
      }
      return absl::OkStatus();
    case JsonValue::Kind::kObject: {
      out += "{";
      absl::Status status = value.ForEachMember([&](absl::string_view name, JsonValue& member) {
        if (out.back() != '{') out += ",";
        AppendJsonString(name, out);
        out += ":";
        return Echo(member, out);
      });
      out += "}";
      return status;
    }
    case JsonValue::Kind::kArray: {
      out += "[";
      absl::Status status = value.ForEachElement([&](size_t index, JsonValue& element) {
        if (index > 0) out += ",";
        return Echo(element, out);
      });
      out += "]";
      return status;
    }
  }
  return absl::InternalError("unknown kind");
}

std::string EchoOf(std::string text) {
  std::string out;
  absl::Status status = ReadJsonObject(text, [&](JsonValue& root) { return Echo(root, out); });
  return status.ok() ? out : absl::StrCat("ERROR ", status.message());
}

TEST(JsonReaderTest, ReadsEveryKindOfValue) {
  EXPECT_EQ(EchoOf(R"( { "s" : "text" , "t":true,"f":false,"n":null,"i":-12,"a":[1,"two",[],{}],"o":{"x":{}} } )"),
            R"({"s":"text","t":true,"f":false,"n":null,"i":-12,"a":[1,"two",[],{}],"o":{"x":{}}})");
  EXPECT_EQ(EchoOf("{}"), "{}");
}

TEST(JsonReaderTest, KeepsTheSpellingOfNumbers) {
  for (const char* number : {"0", "-0", "1e5", "1E+05", "0.10", "18446744073709551616",
                             "123456789012345678901234567890", "1e400", "-1.5e-7"}) {
    EXPECT_EQ(EchoOf(absl::StrCat("{\"n\":", number, "}")), absl::StrCat("{\"n\":", number, "}"));
  }
}

TEST(JsonReaderTest, UnescapesStringsAndNames) {
  EXPECT_EQ(EchoOf(R"({"a\u0062c\n":"\ud83d\ude00\/\"\\\u0000","plain":"é"})"),
            "{\"abc\\n\":\"😀/\\\"\\\\\\u0000\",\"plain\":\"é\"}");
}

TEST(JsonReaderTest, AStringMayContainAnEscapedHalfOfASurrogatePair) {
  EXPECT_EQ(EchoOf(R"({"a":"\ud800","b":"x\udc00y","c":"\ud800A"})"),
            R"({"a":NOT-UNICODE,"b":NOT-UNICODE,"c":NOT-UNICODE})");
}

TEST(JsonReaderTest, AMemberNameMayContainAnEscapedHalfOfASurrogatePair) {
  std::string text =
      R"({"\ud800":1,"a\udc00\n\"\\\/\b\f\r\té\u00e9":2,"\ud83d\ude00":3,"\uD800\u0041":4,"\ud83d\ud83d\ude00":5,"\u0416":6})";
  std::vector<std::pair<std::string, bool>> names;
  ASSERT_TRUE(ReadJsonObject(text, [&](JsonValue& root) {
                return root.ForEachMember([&](absl::string_view name, JsonValue&) {
                  names.emplace_back(std::string(name), IsUnicode(name));
                  return absl::OkStatus();
                });
              }).ok());
  EXPECT_THAT(names,
              ElementsAre(Pair("\xed\xa0\x80", false), Pair("a\xed\xb0\x80\n\"\\/\b\f\r\téé", false), Pair("😀", true),
                          Pair("\xed\xa0\x80"
                               "A",
                               false),
                          Pair("\xed\xa0\xbd😀", false), Pair("Ж", true)));
}

TEST(JsonReaderTest, TheLastCharacterBelowTheSurrogatesIsUnicode) {
  EXPECT_TRUE(IsUnicode("\xed\x9f\xbf"));
  EXPECT_TRUE(IsUnicode("\xee\x80\x80"));
  EXPECT_TRUE(IsUnicode(""));
  EXPECT_FALSE(IsUnicode("\xed\xa0\x80"));
  EXPECT_FALSE(IsUnicode("x\xed\xbf\xbf"));
}

TEST(JsonReaderTest, ReturnsTheTextOfAVisitedContainer) {
  std::string text = R"( {"a": [1, {"b" : 2} ] , "c":{ "d":[ ] },"e":0 } )";
  std::vector<std::string> texts;
  const auto note = [&](JsonValue& value) {
    absl::StatusOr<absl::string_view> whole = value.Text();
    if (whole.ok()) texts.emplace_back(*whole);
    return whole.status();
  };
  ASSERT_TRUE(ReadJsonObject(text, [&](JsonValue& root) {
                absl::Status status = root.ForEachMember([&](absl::string_view name, JsonValue& value) {
                  if (name == "e") return absl::OkStatus();
                  absl::Status inside =
                      name == "a" ? value.ForEachElement([](size_t, JsonValue&) { return absl::OkStatus(); })
                                  : value.ForEachMember([](absl::string_view, JsonValue&) { return absl::OkStatus(); });
                  return inside.ok() ? note(value) : inside;
                });
                return status.ok() ? note(root) : status;
              }).ok());
  EXPECT_THAT(
      texts, ElementsAre(R"([1, {"b" : 2} ])", R"({ "d":[ ] })", R"({"a": [1, {"b" : 2} ] , "c":{ "d":[ ] },"e":0 })"));
}

TEST(JsonReaderTest, TextFailsForAContainerThatIsBeingVisited) {
  std::string text = R"({"a":1})";
  absl::Status within;
  ASSERT_TRUE(ReadJsonObject(text, [&](JsonValue& root) {
                return root.ForEachMember([&](absl::string_view, JsonValue&) {
                  within = root.Text().status();
                  return absl::OkStatus();
                });
              }).ok());
  EXPECT_EQ(within.code(), absl::StatusCode::kInternal);
}

TEST(JsonReaderTest, ReturnsTheTextOfAnyValue) {
  std::string text = R"({"a": [1, {"b" : 2}] , "c":{ },"d":"x\n" , "e" : 1.50 })";
  std::vector<std::string> texts;
  ASSERT_TRUE(ReadJsonObject(text, [&](JsonValue& root) {
                return root.ForEachMember([&](absl::string_view, JsonValue& value) {
                  absl::StatusOr<absl::string_view> member = value.Text();
                  if (member.ok()) texts.emplace_back(*member);
                  return member.status();
                });
              }).ok());
  EXPECT_THAT(texts, ElementsAre(R"([1, {"b" : 2}])", "{ }", R"("x\n")", "1.50"));
}

TEST(JsonReaderTest, ReturnsTheTextOfTheRoot) {
  std::string text = " {\"a\":[1 ]}\n ";
  ASSERT_TRUE(ReadJsonObject(text, [&](JsonValue& root) {
                absl::StatusOr<absl::string_view> all = root.Text();
                EXPECT_EQ(all.value_or("none"), "{\"a\":[1 ]}");
                return all.status();
              }).ok());
}

TEST(JsonReaderTest, AContainerCanBeVisitedOnlyOnce) {
  std::string text = R"({"a":[1]})";
  absl::Status second = absl::OkStatus();
  ASSERT_TRUE(ReadJsonObject(text, [&](JsonValue& root) {
                absl::Status first = root.ForEachMember([](absl::string_view, JsonValue&) { return absl::OkStatus(); });
                second = root.ForEachMember([](absl::string_view, JsonValue&) { return absl::OkStatus(); });
                return first;
              }).ok());
  EXPECT_EQ(second.code(), absl::StatusCode::kInternal);
}

TEST(JsonReaderTest, ACallbackCanEndTheVisit) {
  std::string text = R"({"a":1,"b":})";
  absl::Status status = ReadJsonObject(text, [&](JsonValue& root) {
    return root.ForEachMember([](absl::string_view, JsonValue&) { return absl::AbortedError("enough"); });
  });
  EXPECT_EQ(status, absl::AbortedError("enough"));
}

class MalformedJsonTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MalformedJsonTest, IsRejectedEvenIfTheCallbackDoesNotVisitIt) {
  EXPECT_THAT(EchoOf(GetParam()), HasSubstr("ERROR")) << GetParam();
  EXPECT_EQ(CheckJsonObject(GetParam()).code(), absl::StatusCode::kInvalidArgument) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Structure, MalformedJsonTest,
                         ::testing::Values("", " ", "1", "\"a\"", "null", "[]", "{", "}", "{}}", "{}{}", "{} x", "{},",
                                           "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}",
                                           "{\"a\":1,,\"b\":2}", "{\"a\":[1,]}", "{\"a\":[,1]}", "{\"a\":[1 2]}",
                                           "{\"a\":[1}", "{\"a\":1]", "{\"a\":{]}", "{\"a\":[1", "{\"a\":\"b\":1}",
                                           "{\"a\":1:2}", "{\"a\":[\"b\":1]}", "{\"a\":[\"b\" \"c\"]}", "{a:1}",
                                           "{'a':1}", "{\"a\":'b'}", "{1:2}", "{\"a\":\"b}", "{\"a", "{\"a\\\":1}",
                                           "{\"a\":1}//", "/**/{}", "{\"a\":/**/1}", "\xef\xbb\xbf{}",
                                           std::string("{}\0", 3), std::string("{\"a\":1\0}", 8)));

INSTANTIATE_TEST_SUITE_P(Numbers, MalformedJsonTest,
                         ::testing::Values("{\"n\":01}", "{\"n\":+1}", "{\"n\":1.}", "{\"n\":.1}", "{\"n\":1e}",
                                           "{\"n\":1e+}", "{\"n\":--1}", "{\"n\":-}", "{\"n\":0x10}", "{\"n\":1_000}",
                                           "{\"n\":NaN}", "{\"n\":Infinity}", "{\"n\":-Infinity}", "{\"n\":1a}",
                                           "{\"n\":\xd9\xa1\xd9\xa0}"));

INSTANTIATE_TEST_SUITE_P(Literals, MalformedJsonTest,
                         ::testing::Values("{\"l\":tru}", "{\"l\":truex}", "{\"l\":True}", "{\"l\":nul}",
                                           "{\"l\":nulll}", "{\"l\":falsey}", "{\"l\":fals}", "{\"l\":undefined}"));

INSTANTIATE_TEST_SUITE_P(Strings, MalformedJsonTest,
                         ::testing::Values("{\"s\":\"\\q\"}", "{\"s\":\"\\u12\"}", "{\"s\":\"\\u12g4\"}",
                                           "{\"s\":\"\\'\"}", std::string("{\"s\":\"\0\"}", 9), "{\"s\":\"\n\"}",
                                           "{\"s\":\"\t\"}", "{\"s\":\"\x1f\"}", "{\"s\":\"\xff\"}",
                                           "{\"s\":\"\xc0\x80\"}", "{\"s\":\"\xed\xa0\x80\"}", "{\"s\":\"\xe2\x82\"}",
                                           "{\"s\":\"\xf5\x80\x80\x80\"}", "{\"\xff\":1}", "{\"\\q\":1}",
                                           "{\"\\ud800\\q\":1}", "{\"\\ud800\\u12\":1}"));

INSTANTIATE_TEST_SUITE_P(Duplicates, MalformedJsonTest,
                         ::testing::Values("{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "{\"o\":{\"x\":1,\"x\":2}}",
                                           "{\"o\":[{\"x\":1,\"x\":2}]}", "{\"\":1,\"\":2}",
                                           "{\"\\ud800\":1,\"\\uD800\":2}"));

TEST(JsonReaderTest, ADuplicateIsFoundAmongManyNames) {
  std::string names;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&names, "\"m", i, "\":0,");
  EXPECT_TRUE(CheckJsonObject(absl::StrCat("{", names, "\"last\":0}")).ok());
  EXPECT_FALSE(CheckJsonObject(absl::StrCat("{", names, "\"m0\":0}")).ok());
  EXPECT_FALSE(CheckJsonObject(absl::StrCat("{", names, "\"m999\":0}")).ok());
}

TEST(JsonReaderTest, ATextIsRejectedIfItIsNestedTooDeep) {
  auto nested = [](int depth, absl::string_view open, absl::string_view close) {
    std::string text = "{\"a\":";
    for (int i = 1; i < depth; ++i) absl::StrAppend(&text, open);
    if (open != "[") text += "1";
    for (int i = 1; i < depth; ++i) absl::StrAppend(&text, close);
    return text + "}";
  };
  EXPECT_TRUE(CheckJsonObject(nested(kMaxJsonDepth, "[", "]")).ok());
  EXPECT_FALSE(CheckJsonObject(nested(kMaxJsonDepth + 1, "[", "]")).ok());
  EXPECT_TRUE(CheckJsonObject(nested(kMaxJsonDepth, "{\"a\":", "}")).ok());
  EXPECT_FALSE(CheckJsonObject(nested(kMaxJsonDepth + 1, "{\"a\":", "}")).ok());
  EXPECT_FALSE(CheckJsonObject(absl::StrCat("{\"a\":", std::string(1000000, '['))).ok());
}

TEST(JsonReaderTest, AnErrorStatesAnOffsetAndQuotesNothing) {
  absl::Status status = CheckJsonObject(R"({"token":"hush-hush","x":hush})");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("near byte 25"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hush")));
}

TEST(JsonReaderTest, ACallbackCanReadAnotherDocument) {
  std::string outer = R"({"a":"x\n","b":"y\n"})";
  std::string seen;
  ASSERT_TRUE(ReadJsonObject(outer, [&](JsonValue& root) {
                return root.ForEachMember([&](absl::string_view, JsonValue& value) {
                  EXPECT_TRUE(CheckJsonObject(R"({"inner":"\n"})").ok());
                  absl::StrAppend(&seen, *value.string());
                  return absl::OkStatus();
                });
              }).ok());
  EXPECT_EQ(seen, "x\ny\n");
}

TEST(JsonReaderTest, OneThreadAtATimeReadsALargeText) {
  std::string large = absl::StrCat(R"({"a":")", std::string(300'000, 'x'), R"("})");
  std::string other = large;
  std::atomic<bool> is_in_first = true;
  absl::Notification second_has_begun;
  std::thread second;
  ASSERT_TRUE(ReadJsonObject(large, [&](JsonValue&) {
                second = std::thread([&] {
                  EXPECT_TRUE(CheckJsonObject(R"({"small":"x"})").ok());
                  second_has_begun.Notify();
                  EXPECT_TRUE(ReadJsonObject(other, [&](JsonValue&) {
                                EXPECT_FALSE(is_in_first);
                                return absl::OkStatus();
                              }).ok());
                });
                second_has_begun.WaitForNotification();
                EXPECT_TRUE(CheckJsonObject(other).ok());  // a callback can read another one
                is_in_first = false;
                return absl::OkStatus();
              }).ok());
  second.join();
}

TEST(JsonReaderTest, EveryTruncatedDocumentIsRefused) {
  const std::string text = R"({"a":[1,{"b":"c\u00e9"}],"d":{"e":null},"f":-1.5e3,"g":true})";
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(CheckJsonObject(text.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(CheckJsonObject(text).ok());
}

TEST(JsonWriterTest, EscapesOnlyTheCharactersThatJsonRequiresToBeEscaped) {
  std::string out;
  AppendJsonString(absl::string_view("a\"\\/\b\f\n\r\t\0\x1f\x7f é😀", 19), out);
  EXPECT_EQ(out, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f é😀\"");
}

}  // namespace
}  // namespace stampgate
