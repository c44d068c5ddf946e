// Compares the reader with an independent implementation of RFC 8259 on thousands of damaged texts. Every run tests the
// same texts.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

// Checks a text against the grammar of JSON, character by character, and against the reader's own rules: one object,
// unique names, limited depth.
class Checker {
 public:
  explicit Checker(const std::string& text) : text_(text) {}

  bool IsStrictObject() {
    if (!IsUtf8()) return false;
    Space();
    if (Peek() != '{' || !Value(1)) return false;
    Space();
    return at_ == text_.size();
  }

 private:
  int Peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }
  bool Eat(char c) {
    if (Peek() != static_cast<unsigned char>(c)) return false;
    ++at_;
    return true;
  }
  void Space() {
    while (Peek() == ' ' || Peek() == '\t' || Peek() == '\n' || Peek() == '\r') ++at_;
  }

  bool Value(int depth) {
    Space();
    switch (Peek()) {
      case '{':
        return depth <= kMaxJsonDepth && Object(depth);
      case '[':
        return depth <= kMaxJsonDepth && Array(depth);
      case '"': {
        std::string value;
        bool unicode = true;
        return String(value, unicode);
      }
      case 't':
        return Literal("true");
      case 'f':
        return Literal("false");
      case 'n':
        return Literal("null");
      default:
        return Number();
    }
  }

  bool Object(int depth) {
    Eat('{');
    Space();
    if (Eat('}')) return true;
    std::set<std::string> names;
    do {
      Space();
      std::string name;
      bool unicode = true;
      if (!String(name, unicode) || !names.insert(name).second) return false;
      Space();
      if (!Eat(':') || !Value(depth + 1)) return false;
      Space();
    } while (Eat(','));
    return Eat('}');
  }

  bool Array(int depth) {
    Eat('[');
    Space();
    if (Eat(']')) return true;
    do {
      if (!Value(depth + 1)) return false;
      Space();
    } while (Eat(','));
    return Eat(']');
  }

  bool Literal(const std::string& literal) {
    if (text_.compare(at_, literal.size(), literal) != 0) return false;
    at_ += literal.size();
    return true;
  }

  bool Digits() {
    const size_t begin = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ > begin;
  }

  bool Number() {
    Eat('-');
    if (!Eat('0') && !Digits()) return false;
    if (Eat('.') && !Digits()) return false;
    if (Eat('e') || Eat('E')) {
      if (!Eat('+')) Eat('-');
      return Digits();
    }
    return true;
  }

  bool Hex4(unsigned& unit) {
    unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (!std::isxdigit(Peek() < 0 ? 0 : Peek())) return false;
      unit = unit * 16 + (Peek() <= '9' ? Peek() - '0' : (Peek() | 0x20) - 'a' + 10);
    }
    return true;
  }

  static void AppendUtf8(unsigned c, std::string& out) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
              static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      out += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3f)),
              static_cast<char>(0x80 | (c >> 6 & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
    }
  }

  bool String(std::string& value, bool& unicode) {
    if (!Eat('"')) return false;
    while (true) {
      if (Peek() < 0x20) return false;  // Peek returns -1 at the end of the text
      if (Eat('"')) return true;
      if (!Eat('\\')) {
        value += text_[at_++];
        continue;
      }
      static constexpr char kFrom[] = "\"\\/bfnrt";
      static constexpr char kTo[] = "\"\\/\b\f\n\r\t";
      if (Eat('u')) {
        unsigned unit;
        if (!Hex4(unit)) return false;
        if (unit >= 0xd800 && unit < 0xdc00 && text_.compare(at_, 2, "\\u") == 0) {
          const size_t back = at_;
          at_ += 2;
          unsigned low;
          if (!Hex4(low)) return false;
          if (low >= 0xdc00 && low < 0xe000) {
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
          } else {
            at_ = back;
          }
        }
        if (unit >= 0xd800 && unit < 0xe000) unicode = false;
        AppendUtf8(unit, value);
      } else {
        const char* found = Peek() > 0 ? std::char_traits<char>::find(kFrom, 8, text_[at_]) : nullptr;
        if (found == nullptr) return false;
        value += kTo[found - kFrom];
        ++at_;
      }
    }
  }

  bool IsUtf8() const {
    for (size_t i = 0; i < text_.size();) {
      const unsigned char c = text_[i++];
      if (c < 0x80) continue;
      const int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
      if (c < 0xc2 || c > 0xf4) return false;
      unsigned code = c & (0x3f >> more);
      for (int k = 0; k < more; ++k) {
        if (i >= text_.size() || (text_[i] & 0xc0) != 0x80) return false;
        code = code << 6 | (text_[i++] & 0x3f);
      }
      const unsigned least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
      if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    }
    return true;
  }

  const std::string& text_;
  size_t at_ = 0;
};

const std::vector<std::string>& Seeds() {
  static const auto* const seeds = new std::vector<std::string>{
      "{}",
      R"({"a":[1,{"b":"c\u00e9\ud83d\ude00"}],"d":{"e":null},"f":-1.5e3,"g":true,"h":false})",
      R"( { "s" : "text" , "list":[[],[[]],{},""] , "n":[0,-0,10,1e5,1E+05,0.10,18446744073709551616] } )",
      R"({"a\u0062":"x\"\\\/\b\f\n\r\t","ab\u0000":"\ud800","é":"😀","":""})",
      R"({"\ud800":1,"\ud800\n\udc00":2,"\ud83d\ude00":{"\udc00x":3}})",
      R"({"activity":{"id":"1","status":"ACTIVITY_STATUS_COMPLETED","votes":[],"failure":null,"canApprove":false}})",
      absl::StrCat("{\"deep\":", std::string(63, '['), std::string(63, ']'), "}"),
      absl::StrCat("{\"long\":\"", std::string(200, 'x'), "\",\"more\":[", std::string(100, ' '), "1]}"),
  };
  return *seeds;
}

void Damage(std::string& text, std::mt19937_64& random) {
  static const std::string kPieces[] = {"\"",
                                        "\\",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        " ",
                                        "\n",
                                        "0",
                                        "1",
                                        "-",
                                        "+",
                                        ".",
                                        "e",
                                        "E",
                                        "null",
                                        "true",
                                        "false",
                                        "\\u",
                                        "\\ud800",
                                        "\\udc00",
                                        "\\u0061",
                                        "\"a\":",
                                        "\"a\":1,",
                                        ",\"a\":1",
                                        "\xff",
                                        "\xc3",
                                        "\xa9",
                                        "\xed\xa0\x80",
                                        "\xef\xbb\xbf",
                                        std::string(1, '\0'),
                                        "\x1f",
                                        "/*",
                                        "'",
                                        "[[[[[[[[",
                                        "]]]]]]]]"};
  const size_t at = random() % (text.size() + 1);
  switch (random() % 6) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 1:
      text.erase(at, random() % 4);
      break;
    case 2:
      text.insert(at, kPieces[random() % std::size(kPieces)]);
      break;
    case 3:
      text.resize(at);
      break;
    case 4: {  // inserts a copy of a part at another place
      const std::string part = text.substr(at, random() % 20);
      text.insert(random() % (text.size() + 1), part);
      break;
    }
    default: {  // overwrites a part with a piece of JSON
      const std::string& piece = kPieces[random() % std::size(kPieces)];
      text.replace(at, std::min(piece.size(), text.size() - at), piece);
      break;
    }
  }
}

// Visits all values inside `value`, as the reader of messages does.
absl::Status ReadAll(JsonValue& value) {
  if (value.kind() == JsonValue::Kind::kObject) {
    return value.ForEachMember([](absl::string_view, JsonValue& member) { return ReadAll(member); });
  }
  if (value.kind() == JsonValue::Kind::kArray) {
    return value.ForEachElement([](size_t, JsonValue& element) { return ReadAll(element); });
  }
  return value.Text().status();
}

TEST(JsonReaderFuzzTest, TheCheckerAcceptsTheTextsBeforeTheyAreDamaged) {
  for (const std::string& seed : Seeds()) EXPECT_TRUE(Checker(seed).IsStrictObject()) << seed;
}

TEST(JsonReaderFuzzTest, AcceptsADamagedTextOnlyIfItIsStillJson) {
  std::mt19937_64 random(4);
  int accepted = 0;
  const int rounds = std::getenv("STAMPGATE_LONG") != nullptr ? 1'000'000 : 100'000;
  for (int round = 0; round < rounds; ++round) {
    std::string text = Seeds()[random() % Seeds().size()];
    for (size_t damages = 1 + random() % 3; damages > 0; --damages) Damage(text, random);
    const bool strict = Checker(text).IsStrictObject();
    accepted += strict;
    ASSERT_EQ(CheckJsonObject(text).ok(), strict) << text;
    std::string visited = text;
    ASSERT_EQ(ReadJsonObject(visited, ReadAll).ok(), strict) << text;
    ASSERT_EQ(visited, text);
  }
  // Unless the reader often accepts and often rejects a text, the test proves nothing.
  EXPECT_GT(accepted, rounds / 50);
  EXPECT_LT(accepted, rounds / 2);
}

}  // namespace
}  // namespace stampgate
