#include "webhooks/verification/split.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "webhooks/verification/signed_body.h"

namespace stampgate {
namespace {

#ifdef STAMPGATE_SANITIZED
constexpr int kTexts = 4'000;
#else
constexpr int kTexts = 20'000;
#endif

struct Parts {
  std::string key_id, timestamp, event_id, body;
};

std::string TextOf(const Parts& parts) {
  return absl::StrCat(parts.key_id, ".", parts.timestamp, ".", parts.event_id, ".", parts.body);
}

bool IsObject(const std::string& body) { return ReadSignedBody(body).ok(); }

Split Check(const Parts& parts) {
  SignedHeaders headers;
  headers.key_id = parts.key_id;
  headers.timestamp = parts.timestamp;
  headers.event_id = parts.event_id;
  return CheckSplit(headers, parts.body, IsObject(parts.body));
}

// The oracle. It tries every choice of three dots, and shares no code with CheckSplit but the reader of bodies.

bool HasForms(const Parts& parts) {
  static const std::regex id("[!-~]|[!-~][ -~]{0,1022}[!-~]");
  static const std::regex timestamp("[0-9]{1,16}");
  return std::regex_match(parts.key_id, id) && std::regex_match(parts.event_id, id) &&
         std::regex_match(parts.timestamp, timestamp) && std::stoll(parts.timestamp) < (1LL << 53);
}

bool IsOrdinary(const Parts& parts) {
  static const std::regex key_id("[A-Za-z0-9_:-]{1,128}");
  static const std::regex event_id("[A-Za-z0-9._:-]{1,128}");
  return std::regex_match(parts.key_id, key_id) && std::regex_match(parts.event_id, event_id);
}

std::vector<Parts> SplitsOf(const std::string& text) {
  std::vector<size_t> dots;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') dots.push_back(i);
  }
  std::vector<Parts> splits;
  for (size_t i = 0; i < dots.size(); ++i) {
    for (size_t j = i + 1; j < dots.size(); ++j) {
      for (size_t k = j + 1; k < dots.size(); ++k) {
        const auto between = [&](size_t begin, size_t end) { return text.substr(begin + 1, end - begin - 1); };
        const Parts parts{text.substr(0, dots[i]), between(dots[i], dots[j]), between(dots[j], dots[k]),
                          text.substr(dots[k] + 1)};
        if (HasForms(parts)) splits.push_back(parts);
      }
    }
  }
  return splits;
}

Split Expected(const Parts& parts, const std::vector<Parts>& splits) {
  size_t objects = 0;
  for (const Parts& split : splits) objects += IsObject(split.body) ? 1 : 0;
  const bool is_object = IsObject(parts.body);
  if (!is_object && objects > 0) return Split::kOther;
  const size_t candidates = is_object ? objects : splits.size();
  return IsOrdinary(parts) || candidates == 1 ? Split::kSigned : Split::kAmbiguous;
}

TEST(SplitTest, ChecksEverySplitOfRandomTextsAsTheOracleDoes) {
  const std::vector<std::string> pieces = {
      ".",
      ".",
      ".",
      "a",
      "b",
      "5",
      "17",
      "0",
      "/",
      "+",
      " ",
      ":",
      "{",
      "}",
      "{}",
      "\"",
      "\\\"",
      "{\"a\":1}",
      "{\"a\":1.5}",
      "{\"a\":\".{}\"}",
      "\n",
      "\xc3\xa9",
      ".5.",
      ".5.a.{}",
      ".5.a/b.{}",
      "\\",
      ",",
      "{\"\":\".{",
      "\"}",
      "9007199254740993",
      std::string(127, 'x'),
      std::string(129, 'x'),
      std::string(1023, 'y'),
      std::string(1025, 'y'),
  };
  std::mt19937 random(20261126);
  const auto below = [&](size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random); };
  std::map<Split, int> counts;
  int with_object = 0;
  for (int i = 0; i < kTexts; ++i) {
    std::string text = below(2) == 0 ? "k.17.e" : "";
    for (size_t count = 1 + below(10); count > 0; --count) {
      // The long pieces are rare, because most texts with them have no split.
      text += pieces[below(10) == 0 ? below(pieces.size()) : below(pieces.size() - 4)];
    }
    const std::vector<Parts> splits = SplitsOf(text);
    size_t signed_splits = 0;
    std::map<std::string, int> objects;
    for (const Parts& parts : splits) {
      ASSERT_EQ(TextOf(parts), text);
      const Split split = Check(parts);
      ASSERT_EQ(split, Expected(parts, splits)) << text << "\n" << parts.key_id << "\n" << parts.event_id;
      ++counts[split];
      if (split == Split::kSigned) ++signed_splits;
      if (IsObject(parts.body)) ++objects[parts.body];
    }
    if (objects.empty()) continue;
    ++with_object;
    EXPECT_EQ(objects.size(), 1u) << "two bodies that are objects: " << text;
    EXPECT_LE(signed_splits, 1u) << text;
  }
  EXPECT_GT(counts[Split::kSigned], kTexts / 20);
  EXPECT_GT(counts[Split::kOther], kTexts / 20);
  EXPECT_GT(counts[Split::kAmbiguous], kTexts / 20);
  EXPECT_GT(with_object, kTexts / 20);
}

TEST(SplitTest, AMessageOfManyDotsTakesNoLongTime) {
  // Without an object, each place where a body could begin is read.
  std::string dots;
  for (int i = 0; i < 100'000; ++i) dots += "5.{.";
  EXPECT_EQ(Check({"a/b", "5", "e", dots}), Split::kAmbiguous);
  EXPECT_EQ(Check({"a", "5", "e", dots}), Split::kSigned);
}

}  // namespace
}  // namespace stampgate
