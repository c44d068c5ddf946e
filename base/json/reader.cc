#include "base/json/reader.h"

#include <simdjson.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

namespace od = simdjson::ondemand;

static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);

// A parser keeps the buffers of its largest text, which are about five times as large as this text. If that text was
// larger than kKeptParserBytes, the reader does not keep the parser for the next text, and reads one such text at a
// time: otherwise each thread could need so much memory at the same moment.
constexpr size_t kKeptParserBytes = 256 << 10;
std::recursive_mutex large_text;  // recursive, because a callback of ReadJsonObject can read another text

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

absl::string_view TrimRight(absl::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Returns true if `text` is a number by RFC 8259, section 6.
bool IsNumber(absl::string_view text) {
  size_t i = 0;
  auto digits = [&] {
    size_t start = i;
    while (i < text.size() && absl::ascii_isdigit(text[i])) ++i;
    return i > start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  if (i < text.size() && text[i] == '0') {
    ++i;
  } else if (!digits()) {
    return false;
  }
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == text.size();
}

// Returns true if every backslash in `inner`, the text between two quotes, begins a valid escape of RFC 8259.
bool EscapesAreValid(absl::string_view inner) {
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') continue;
    if (++i == inner.size()) return false;
    if (inner[i] == 'u') {
      for (int k = 0; k < 4; ++k) {
        if (++i == inner.size() || !absl::ascii_isxdigit(inner[i])) return false;
      }
    } else if (std::strchr("\"\\/bfnrt", inner[i]) == nullptr) {
      return false;
    }
  }
  return true;
}

// Returns the value of the four hexadecimal digits at `digits`.
uint32_t HexUnit(const char* digits) {
  uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = digits[i];
    unit = unit * 16 + (absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10);
  }
  return unit;
}

// Writes `c` in UTF-8 to `out` and returns the end of the output. Encodes a surrogate as if it were a character.
uint8_t* AppendCharacter(uint32_t c, uint8_t* out) {
  const auto more = [c](int shift) { return static_cast<uint8_t>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    *out++ = static_cast<uint8_t>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<uint8_t>(0xc0 | c >> 6);
    *out++ = more(0);
  } else if (c < 0x10000) {
    *out++ = static_cast<uint8_t>(0xe0 | c >> 12);
    *out++ = more(6);
    *out++ = more(0);
  } else {
    *out++ = static_cast<uint8_t>(0xf0 | c >> 18);
    *out++ = more(12);
    *out++ = more(6);
    *out++ = more(0);
  }
  return out;
}

// Unescapes `inner`, the text between two quotes, into `out`, and returns the end of the output, which is never longer
// than `inner`. Requires valid escapes, but a surrogate may lack its other half.
uint8_t* UnescapeWithSurrogates(absl::string_view inner, uint8_t* out) {
  constexpr absl::string_view kShort = "bfnrt";
  constexpr absl::string_view kMeant = "\b\f\n\r\t";
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      *out++ = static_cast<uint8_t>(inner[i]);
      continue;
    }
    const char c = inner[++i];
    if (c != 'u') {
      const size_t at = kShort.find(c);
      *out++ = static_cast<uint8_t>(at == absl::string_view::npos ? c : kMeant[at]);
      continue;
    }
    uint32_t unit = HexUnit(inner.data() + i + 1);
    i += 4;
    if (unit >= 0xd800 && unit < 0xdc00 && absl::StartsWith(inner.substr(i + 1), "\\u")) {
      const uint32_t low = HexUnit(inner.data() + i + 3);
      if (low >= 0xdc00 && low < 0xe000) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
    }
    out = AppendCharacter(unit, out);
  }
  return out;
}

const char* Reason(simdjson::error_code error) {
  return error == simdjson::UTF8_ERROR ? "JSON text is not UTF-8" : "JSON text is malformed";
}

// Stores the member names of one object, to find duplicates. Compares names one by one while there are few, and uses a
// hash set for many.
class SeenNames {
 public:
  bool Add(absl::string_view name) {
    if (few_.size() < kFew) {
      for (absl::string_view seen : few_) {
        if (seen == name) return false;
      }
      few_.push_back(name);
      return true;
    }
    if (many_.empty()) many_.insert(few_.begin(), few_.end());
    return many_.insert(name).second;
  }

 private:
  static constexpr size_t kFew = 24;
  absl::InlinedVector<absl::string_view, kFew> few_;
  absl::flat_hash_set<absl::string_view> many_;
};

}  // namespace

// Parses one document.
class JsonParse {
 public:
  JsonParse() : parser_(std::exchange(kept_parser, nullptr)) {
    if (parser_ == nullptr) parser_ = std::make_unique<od::parser>();
  }
  ~JsonParse() {
    if (parser_->capacity() <= kKeptParserBytes) kept_parser = std::move(parser_);
  }

  absl::Status Read(std::string& text, absl::FunctionRef<absl::Status(JsonValue& root)> on_root) {
    // simdjson may read the bytes after a truncated text. These bytes are NULs, so that they cannot continue the text.
    const size_t size = text.size();
    if (size > kKeptParserBytes) large_text_.lock();
    if (text.capacity() < size + kJsonPadding) {
      // A string that grows doubles its capacity.
      std::string padded;
      padded.reserve(size + kJsonPadding);
      padded.append(text);
      text = std::move(padded);
    }
    text.append(kJsonPadding, '\0');
    absl::Cleanup unpad = [&] { text.resize(size); };
    text_ = absl::string_view(text).substr(0, size);
    size_t first = 0;
    while (first < size && IsSpace(text[first])) ++first;
    if (first == size) return absl::InvalidArgumentError("JSON text is empty");
    if (text[first] != '{') return absl::InvalidArgumentError("JSON text is not an object");
    if (auto error = parser_->iterate(text.data(), size, text.size()).get(document_)) {
      // The error has no offset, because the document, which would know the offset, does not exist yet.
      return absl::InvalidArgumentError(Reason(error));
    }
    od::value root;
    if (auto error = document_.get_value().get(root)) return Malformed(error);
    JsonValue value;
    ABSL_RETURN_IF_ERROR(Open(root, 1, value));
    ABSL_RETURN_IF_ERROR(on_root(value));
    ABSL_RETURN_IF_ERROR(Finish(value));
    if (const char* behind; !document_.current_location().get(behind)) {
      return MalformedAt("JSON text continues after its object", behind);
    }
    return absl::OkStatus();
  }

  absl::Status ForEachMember(JsonValue& object, JsonValue::OnMember on_member) {
    object.visited_ = true;
    od::object members;
    if (auto error = Raw(object).get_object().get(members)) return Malformed(error);
    SeenNames seen;
    for (auto result : members) {
      od::field field;
      if (auto error = std::move(result).get(field)) return Malformed(error);
      absl::string_view name;
      ABSL_RETURN_IF_ERROR(Name(field, name));
      if (!seen.Add(name)) return MalformedAt("a member name occurs twice in one object", field.key().raw());
      JsonValue value;
      ABSL_RETURN_IF_ERROR(Open(field.value(), object.depth_ + 1, value));
      ABSL_RETURN_IF_ERROR(on_member(name, value));
      ABSL_RETURN_IF_ERROR(Finish(value));
    }
    object.finished_ = true;
    return absl::OkStatus();
  }

  absl::Status ForEachElement(JsonValue& array, JsonValue::OnElement on_element) {
    array.visited_ = true;
    od::array elements;
    if (auto error = Raw(array).get_array().get(elements)) return Malformed(error);
    size_t index = 0;
    for (auto result : elements) {
      od::value element;
      if (auto error = result.get(element)) return Malformed(error);
      JsonValue value;
      ABSL_RETURN_IF_ERROR(Open(element, array.depth_ + 1, value));
      ABSL_RETURN_IF_ERROR(on_element(index++, value));
      ABSL_RETURN_IF_ERROR(Finish(value));
    }
    array.finished_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<absl::string_view> Text(JsonValue& value) {
    if (value.kind_ != JsonValue::Kind::kObject && value.kind_ != JsonValue::Kind::kArray) return value.text_;
    if (value.visited_ && !value.finished_) return absl::InternalError("a JSON container is being visited");
    ABSL_RETURN_IF_ERROR(Finish(value));
    const char* end = text_.data() + text_.size();
    if (const char* next; !document_.current_location().get(next)) end = next;
    return TrimRight(absl::string_view(value.text_.data(), end - value.text_.data()));
  }

 private:
  static od::value& Raw(JsonValue& value) { return *static_cast<od::value*>(value.value_); }

  // Fills `value` from simdjson's value `raw`. If `raw` is a scalar, reads and checks it. The content of an object or
  // array is read when the value is visited.
  absl::Status Open(od::value& raw, int depth, JsonValue& value) {
    value.parse_ = this;
    value.value_ = &raw;
    value.depth_ = depth;
    std::string_view token = raw.raw_json_token();
    value.text_ = TrimRight({token.data(), token.size()});
    if (value.text_.empty()) return MalformedAt("a value is missing", token.data());
    switch (value.text_.front()) {
      case '{':
      case '[':
        value.kind_ = value.text_.front() == '{' ? JsonValue::Kind::kObject : JsonValue::Kind::kArray;
        value.text_ = value.text_.substr(0, 1);
        if (depth > kMaxJsonDepth) return MalformedAt("JSON text is nested too deep", token.data());
        return absl::OkStatus();
      case '"':
        value.kind_ = JsonValue::Kind::kString;
        return OpenString(raw, value);
      case 't':
        value.kind_ = JsonValue::Kind::kTrue;
        return value.text_ == "true" ? absl::OkStatus() : MalformedAt("a literal is misspelled", token.data());
      case 'f':
        value.kind_ = JsonValue::Kind::kFalse;
        return value.text_ == "false" ? absl::OkStatus() : MalformedAt("a literal is misspelled", token.data());
      case 'n':
        value.kind_ = JsonValue::Kind::kNull;
        return value.text_ == "null" ? absl::OkStatus() : MalformedAt("a literal is misspelled", token.data());
      default:
        value.kind_ = JsonValue::Kind::kNumber;
        return IsNumber(value.text_) ? absl::OkStatus() : MalformedAt("a value is malformed", token.data());
    }
  }

  absl::Status OpenString(od::value& raw, JsonValue& value) {
    if (value.text_.size() < 2 || value.text_.back() != '"')
      return MalformedAt("a string is malformed", value.text_.data());
    absl::string_view inner = value.text_.substr(1, value.text_.size() - 2);
    // Without this read, simdjson would later skip this string and also a colon after it.
    od::raw_json_string unread;
    if (auto error = raw.get_raw_json_string().get(unread)) return Malformed(error);
    if (inner.find('\\') == absl::string_view::npos) {
      value.string_ = inner;
      return absl::OkStatus();
    }
    if (!EscapesAreValid(inner)) return MalformedAt("a string has a malformed escape", value.text_.data());
    // A string never becomes longer when it is unescaped, and each is unescaped only once, so one buffer of the text's
    // size is enough for all strings.
    std::string_view unescaped;
    if (!Unescape(unread, unescaped)) return absl::OkStatus();
    value.string_ = absl::string_view(unescaped.data(), unescaped.size());
    return absl::OkStatus();
  }

  absl::Status Name(od::field& field, absl::string_view& name) {
    const char* begin = field.key().raw();
    const char* end = begin;
    while (*end != '"' && *end != '\\') ++end;
    if (*end == '"') {
      name = absl::string_view(begin, end - begin);
      return absl::OkStatus();
    }
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    const absl::string_view inner(begin, end - begin);
    if (!EscapesAreValid(inner)) return MalformedAt("a member name has a malformed escape", begin);
    std::string_view unescaped;
    if (Unescape(field.key(), unescaped)) {
      name = absl::string_view(unescaped.data(), unescaped.size());
    } else {
      uint8_t* const out = unescaped_end_;
      unescaped_end_ = UnescapeWithSurrogates(inner, out);
      name = absl::string_view(reinterpret_cast<const char*>(out), unescaped_end_ - out);
    }
    return absl::OkStatus();
  }

  bool Unescape(od::raw_json_string raw, std::string_view& out) {
    if (unescaped_ == nullptr) {
      unescaped_ = std::make_unique<uint8_t[]>(text_.size() + kJsonPadding);
      unescaped_end_ = unescaped_.get();
    }
    return !parser_->unescape(raw, unescaped_end_).get(out);
  }

  // If the callback did not visit `value`, an object or array, visits it, so that its content is checked.
  absl::Status Finish(JsonValue& value) {
    if (value.visited_) return absl::OkStatus();
    if (value.kind_ == JsonValue::Kind::kObject) {
      return ForEachMember(value, [](absl::string_view, JsonValue&) { return absl::OkStatus(); });
    }
    if (value.kind_ == JsonValue::Kind::kArray) {
      return ForEachElement(value, [](size_t, JsonValue&) { return absl::OkStatus(); });
    }
    return absl::OkStatus();
  }

  absl::Status Malformed(simdjson::error_code error) {
    const char* where = text_.data();
    if (const char* location; !document_.current_location().get(location)) where = location;
    return MalformedAt(Reason(error), where);
  }

  absl::Status MalformedAt(absl::string_view reason, const char* where) {
    return absl::InvalidArgumentError(absl::StrCat(reason, " (near byte ", where - text_.data(), ")"));
  }

  static thread_local std::unique_ptr<od::parser> kept_parser;

  std::unique_lock<std::recursive_mutex> large_text_{large_text, std::defer_lock};
  std::unique_ptr<od::parser> parser_;
  od::document document_;
  absl::string_view text_;
  std::unique_ptr<uint8_t[]> unescaped_;
  uint8_t* unescaped_end_ = nullptr;
};

thread_local std::unique_ptr<od::parser> JsonParse::kept_parser;

absl::StatusOr<absl::string_view> JsonValue::Text() { return parse_->Text(*this); }

absl::Status JsonValue::ForEachMember(OnMember on_member) {
  if (visited_ || kind_ != Kind::kObject) return absl::InternalError("not a JSON object that can be visited");
  return parse_->ForEachMember(*this, on_member);
}

absl::Status JsonValue::ForEachElement(OnElement on_element) {
  if (visited_ || kind_ != Kind::kArray) return absl::InternalError("not a JSON array that can be visited");
  return parse_->ForEachElement(*this, on_element);
}

absl::Status ReadJsonObject(std::string& text, absl::FunctionRef<absl::Status(JsonValue& root)> on_root) {
  return JsonParse().Read(text, on_root);
}

bool IsUnicode(absl::string_view name) {
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if (static_cast<unsigned char>(name[i]) == 0xed && static_cast<unsigned char>(name[i + 1]) >= 0xa0) return false;
  }
  return true;
}

absl::Status CheckJsonObject(absl::string_view text) {
  std::string padded;
  padded.reserve(text.size() + kJsonPadding);
  padded.append(text.data(), text.size());
  return ReadJsonObject(padded, [](JsonValue&) { return absl::OkStatus(); });
}

}  // namespace stampgate
