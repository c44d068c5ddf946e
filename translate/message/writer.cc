#include "translate/message/writer.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/writer.h"

namespace stampgate {
namespace {

// Appends JSON to a string.
class Text {
 public:
  explicit Text(std::string& out) : out_(out) {}

  void Append(char c) { out_.push_back(c); }
  void Append(absl::string_view text) { out_.append(text.data(), text.size()); }
  void AppendString(absl::string_view text) { AppendJsonString(text, out_); }
  void AppendBase64(absl::string_view bytes) {
    constexpr size_t kPart =
        size_t{3} * 256;  // the base64 of several parts is that of the whole if each has whole groups
    out_.push_back('"');
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPart, bytes.size()))) {
      absl::StrAppend(&out_, absl::Base64Escape(bytes.substr(0, kPart)));
    }
    out_.push_back('"');
  }
  static bool is_full() { return false; }

 private:
  std::string& out_;
};

// Counts the bytes that a Text would append.
class Size {
 public:
  explicit Size(size_t most) : most_(most) {}

  void Append(char /*c*/) { ++size_; }
  void Append(absl::string_view text) { size_ += text.size(); }
  void AppendString(absl::string_view text) { size_ += JsonStringSize(text); }
  void AppendBase64(absl::string_view bytes) { size_ += (bytes.size() + 2) / 3 * 4 + 2; }
  bool is_full() const { return size_ > most_; }
  size_t size() const { return size_; }

 private:
  const size_t most_;
  size_t size_ = 0;
};

// Returns the members in the JSON text of an object, without the braces and the white space around them.
absl::string_view Members(absl::string_view object) {
  object = absl::StripAsciiWhitespace(object);
  return absl::StripAsciiWhitespace(object.substr(1, object.size() - 2));
}

// Writes messages to `Out`, which is Text or Size. Stops early if it is full.
template <typename Out>
class MessageWriter {
 public:
  MessageWriter(Out& out, absl::string_view names_as_of) : out_(out), names_as_of_(names_as_of) {}

  void AppendMembers(const ParsedMessage& message, const FieldPlan* left_out) {
    bool first = true;
    auto separate = [&] {
      if (!first) out_.Append(',');
      first = false;
    };
    for (const FieldPlan& field : message.plan().fields) {
      const absl::Span<const FieldValue> values = message.Values(field);
      if (&field == left_out || !field.in_json || (values.empty() && !field.written_if_unset)) continue;
      if (field.form == JsonForm::kJsonMembers) {
        const absl::string_view members = Members(values.front().text());
        if (members.empty()) continue;
        separate();
        out_.Append(members);
        continue;
      }
      separate();
      out_.Append(NamedOn(field, names_as_of_).json_key);
      if (!field.is_list) {
        if (values.empty()) {
          out_.Append("\"\"");
        } else {
          AppendValue(field, values.front());
        }
        continue;
      }
      const bool is_map = field.form == JsonForm::kStringMap;
      out_.Append(is_map ? '{' : '[');
      for (const FieldValue& value : values) {
        if (out_.is_full()) return;
        if (&value != values.begin()) out_.Append(',');
        AppendValue(field, value);
      }
      out_.Append(is_map ? '}' : ']');
    }
  }

 private:
  // Appends a value of a field, an element of a list, or a member of a map.
  void AppendValue(const FieldPlan& plan, const FieldValue& value) {
    switch (plan.form) {
      case JsonForm::kString:
        out_.AppendString(value.text());
        break;
      case JsonForm::kBytes:
        out_.AppendBase64(value.text());
        break;
      case JsonForm::kJsonText:
        out_.Append(absl::StripAsciiWhitespace(value.text()));
        break;
      case JsonForm::kBool:
        out_.Append(absl::string_view(value.number() != 0 ? "true" : "false"));
        break;
      case JsonForm::kUint64:
        AppendQuoted(value.number());
        break;
      case JsonForm::kInt64:
        AppendQuoted(static_cast<int64_t>(value.number()));
        break;
      case JsonForm::kUint32:
        out_.Append(absl::AlphaNum(value.number()).Piece());
        break;
      case JsonForm::kInt32:
        out_.Append(absl::AlphaNum(static_cast<int32_t>(value.number())).Piece());
        break;
      case JsonForm::kEnum:
        AppendEnum(plan, static_cast<int>(value.number()));
        break;
      case JsonForm::kTimestamp:
        AppendTimestamp(value.message());
        break;
      case JsonForm::kMessage:
        out_.Append('{');
        AppendMembers(value.message(), /*left_out=*/nullptr);
        out_.Append('}');
        break;
      case JsonForm::kStringMap: {
        const MapEntry entry = MapEntryIn(value.message());
        out_.AppendString(entry.key);
        out_.Append(':');
        out_.AppendString(entry.value);
        break;
      }
      case JsonForm::kJsonMembers:
      case JsonForm::kOpaque:
        break;
    }
  }

  // In a valid message, `number` is a value that the enum lists.
  void AppendEnum(const FieldPlan& plan, int number) {
    auto json = plan.values->json.find(number);
    out_.Append(json != plan.values->json.end() ? absl::string_view(json->second) : absl::AlphaNum(number).Piece());
  }

  void AppendTimestamp(const ParsedMessage& message) {
    const Timestamp timestamp = TimestampIn(message);
    out_.Append("{\"seconds\":");
    AppendQuoted(timestamp.seconds);
    out_.Append(",\"nanos\":");
    AppendQuoted(timestamp.nanos);
    out_.Append('}');
  }

  void AppendQuoted(const absl::AlphaNum& number) {
    out_.Append('"');
    out_.Append(number.Piece());
    out_.Append('"');
  }

  Out& out_;
  const absl::string_view names_as_of_;
};

}  // namespace

void AppendJsonMembers(const ParsedMessage& message, const FieldPlan* left_out, absl::string_view names_as_of,
                       std::string& out) {
  Text text(out);
  MessageWriter<Text>(text, names_as_of).AppendMembers(message, left_out);
}

size_t JsonMembersSize(const ParsedMessage& message, const FieldPlan* left_out, absl::string_view names_as_of,
                       size_t most) {
  Size size(most);
  MessageWriter<Size>(size, names_as_of).AppendMembers(message, left_out);
  return size.size();
}

}  // namespace stampgate
