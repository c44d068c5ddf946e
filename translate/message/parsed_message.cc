#include "translate/message/parsed_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <simdjson.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "absl/algorithm/container.h"
#include "google/protobuf/timestamp.pb.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

using google::protobuf::Arena;
using google::protobuf::OneofDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Protocol Buffers' generated code refuses longer tags, unlike CodedInputStream.
constexpr int kMaxTagBytes = 5;

bool IsNumber(JsonForm form) {
  switch (form) {
    case JsonForm::kBool:
    case JsonForm::kUint64:
    case JsonForm::kInt64:
    case JsonForm::kUint32:
    case JsonForm::kInt32:
    case JsonForm::kEnum:
      return true;
    case JsonForm::kString:
    case JsonForm::kBytes:
    case JsonForm::kStringMap:
    case JsonForm::kJsonText:
    case JsonForm::kJsonMembers:
    case JsonForm::kTimestamp:
    case JsonForm::kMessage:
    case JsonForm::kOpaque:
      return false;
  }
  return false;
}

// Returns the value of a field of form `form` whose varint is `varint`. Like Protocol Buffers, ignores the upper half
// of a varint for a type of 32 bits.
uint64_t NumberOf(JsonForm form, uint64_t varint) {
  switch (form) {
    case JsonForm::kBool:
      return varint == 0 ? 0 : 1;
    case JsonForm::kUint32:
      return static_cast<uint32_t>(varint);
    case JsonForm::kInt32:
    case JsonForm::kEnum:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(varint)));
    default:
      return varint;
  }
}

// Like Protocol Buffers, writes the key and the value even if they are empty.
void WriteEntry(const FieldPlan& map, const MapEntry& entry, WireWriter& out) {
  const WireWriter::Mark mark = out.Begin(map.field->number());
  out.String(map.message->fields[0].field->number(), entry.key);
  out.String(map.message->fields[1].field->number(), entry.value);
  out.End(mark);
}

void Write(const ParsedMessage& message, std::initializer_list<const FieldPlan*> left_out, WireWriter& out) {
  for (const FieldPlan& plan : message.plan().fields) {
    const absl::Span<const FieldValue> values = message.Values(plan);
    if (absl::c_linear_search(left_out, &plan) || plan.form == JsonForm::kOpaque || values.empty()) continue;
    const int number = plan.field->number();
    if (IsNumber(plan.form) && plan.field->is_packed()) {
      const WireWriter::Mark mark = out.Begin(number);
      for (const FieldValue& value : values) out.Packed(value.number());
      out.End(mark);
      continue;
    }
    for (const FieldValue& value : values) {
      if (plan.form == JsonForm::kStringMap) {
        WriteEntry(plan, MapEntryIn(value.message()), out);
      } else if (IsNumber(plan.form)) {
        out.Varint(number, value.number());
      } else if (plan.message == nullptr) {
        out.String(number, value.text());
      } else {
        const WireWriter::Mark mark = out.Begin(number);
        Write(value.message(), {}, out);
        out.End(mark);
      }
    }
  }
}

}  // namespace

// Parses one message with the messages inside it.
class MessageParser {
 public:
  MessageParser(absl::string_view bytes, Arena& arena)
      : bytes_(bytes),
        arena_(arena),
        input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  bool Read(ParsedMessage& message) {
    if (!ReadFields(message)) return false;
    for (List* map : maps_) OrderByKey(*map);
    return true;
  }

 private:
  using List = ParsedMessage::List;

  // Reads fields into `message` up to the current limit of the input.
  bool ReadFields(ParsedMessage& message) {
    while (input_.BytesUntilLimit() > 0) {
      const int begin = input_.CurrentPosition();
      const uint32_t tag = input_.ReadTag();
      const bool too_long = input_.CurrentPosition() - begin > kMaxTagBytes;
      if (tag == 0 || too_long || !ReadField(message, tag)) return false;
    }
    return true;
  }

  bool ReadField(ParsedMessage& message, uint32_t tag) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const WireFormatLite::WireType type = WireFormatLite::GetTagWireType(tag);
    const FieldPlan* const field = message.plan().FindNumber(number);
    const bool is_number = field != nullptr && IsNumber(field->form);
    if (is_number && type == WireFormatLite::WIRETYPE_VARINT) {
      uint64_t varint = 0;
      if (!input_.ReadVarint64(&varint)) return false;
      AddNumber(message, *field, varint);
      return true;
    }
    if (field == nullptr || type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
        (is_number && !field->field->is_repeated())) {
      Append(message.unknown_).number_ = static_cast<uint64_t>(number);
      return WireFormatLite::SkipField(&input_, tag);
    }
    int size = 0;
    if (!input_.ReadVarintSizeAsInt(&size) || size > input_.BytesUntilLimit()) return false;
    if (is_number) return ReadPacked(message, *field, size);
    if (field->message != nullptr) return ReadMessage(message, *field, size);
    return ReadText(message, *field, size);
  }

  bool ReadPacked(ParsedMessage& message, const FieldPlan& field, int size) {
    const CodedInputStream::Limit limit = input_.PushLimit(size);
    while (input_.BytesUntilLimit() > 0) {
      uint64_t varint = 0;
      if (!input_.ReadVarint64(&varint)) return false;
      AddNumber(message, field, varint);
    }
    input_.PopLimit(limit);
    return true;
  }

  bool ReadMessage(ParsedMessage& message, const FieldPlan& field, int size) {
    const auto [limit, budget] = input_.IncrementRecursionDepthAndPushLimit(size);
    if (budget < 0 || !ReadFields(Message(message, field))) return false;
    static_cast<void>(input_.DecrementRecursionDepthAndPopLimit(limit));
    return true;
  }

  bool ReadText(ParsedMessage& message, const FieldPlan& field, int size) {
    const absl::string_view text = bytes_.substr(static_cast<size_t>(input_.CurrentPosition()), size);
    if (!input_.Skip(size)) return false;
    if (field.form == JsonForm::kOpaque) {
      SetText(Append(ListOf(message, field)), text);
      return true;
    }
    if (field.form != JsonForm::kBytes && !simdjson::validate_utf8(text.data(), text.size())) return false;
    if (FieldValue* value = Slot(message, field, !text.empty())) SetText(*value, text);
    return true;
  }

  void AddNumber(ParsedMessage& message, const FieldPlan& field, uint64_t varint) {
    const uint64_t number = NumberOf(field.form, varint);
    if (FieldValue* value = Slot(message, field, number != 0)) value->number_ = number;
  }

  // Returns the message into which the next message of `field` must be read: a new element of a list, or the message
  // that the field already holds.
  ParsedMessage& Message(ParsedMessage& message, const FieldPlan& field) {
    const bool merges = !field.field->is_repeated() && message.Has(field);
    FieldValue& value = *Slot(message, field, /*says_something=*/true);
    if (field.form == JsonForm::kStringMap && message.Values(field).size() == 1)
      maps_.push_back(&ListOf(message, field));
    if (!merges) value.message_ = Arena::Create<ParsedMessage>(&arena_, *field.message);
    return *value.message_;
  }

  // Returns the place for the next value of `field`: a new element of a list, or the only value. `says_something` is
  // false if the value is zero or empty. If the field is then not set, removes its value and returns null.
  FieldValue* Slot(ParsedMessage& message, const FieldPlan& field, bool says_something) {
    List& list = ListOf(message, field);
    if (field.field->is_repeated()) return &Append(list);
    if (const OneofDescriptor* oneof = field.field->real_containing_oneof()) ClearOthers(message, *oneof, field);
    if (!says_something && !field.field->has_presence()) {
      list.size = 0;
      return nullptr;
    }
    return list.size == 0 ? &Append(list) : list.values;
  }

  // Of the fields of a oneof, only the last one in the bytes is set.
  static void ClearOthers(ParsedMessage& message, const OneofDescriptor& oneof, const FieldPlan& field) {
    for (int i = 0; i < oneof.field_count(); ++i) {
      const FieldPlan* const other = message.plan().FindNumber(oneof.field(i)->number());
      if (other != nullptr && other != &field) message.lists_[IndexOf(message, *other)].size = 0;
    }
  }

  // Of the entries with the same key, keeps only the last one.
  static void OrderByKey(List& map) {
    const auto key = [](const FieldValue& entry) { return MapEntryIn(entry.message()).key; };
    const absl::Span<FieldValue> entries(map.values, map.size);
    absl::c_stable_sort(entries, [&](const FieldValue& a, const FieldValue& b) { return key(a) < key(b); });
    size_t kept = 0;
    for (const FieldValue& entry : entries) {
      if (kept > 0 && key(entries[kept - 1]) == key(entry)) --kept;
      entries[kept++] = entry;
    }
    map.size = kept;
  }

  static size_t IndexOf(const ParsedMessage& message, const FieldPlan& field) {
    return static_cast<size_t>(&field - message.plan().fields.data());
  }

  List& ListOf(ParsedMessage& message, const FieldPlan& field) {
    if (message.lists_ == nullptr) {
      const size_t count = message.plan().fields.size();
      message.lists_ = Arena::CreateArray<List>(&arena_, count);
      std::fill_n(message.lists_, count, List{});
    }
    return message.lists_[IndexOf(message, field)];
  }

  FieldValue& Append(List& list) {
    if (list.size == list.capacity) {
      const size_t capacity = std::max<size_t>(1, 2 * list.capacity);
      auto* const values = Arena::CreateArray<FieldValue>(&arena_, capacity);
      std::copy_n(list.values, list.size, values);
      list.values = values;
      list.capacity = capacity;
    }
    return list.values[list.size++];
  }

  static void SetText(FieldValue& value, absl::string_view text) {
    value.data_ = text.data();
    value.size_ = text.size();
  }

  const absl::string_view bytes_;
  Arena& arena_;
  CodedInputStream input_;
  std::vector<List*> maps_;  // of all messages; sorted once at the end, because a message may be merged from many parts
};

absl::Span<const FieldValue> ParsedMessage::Values(const FieldPlan& field) const {
  assert(&field >= plan_->fields.data() && &field < plan_->fields.data() + plan_->fields.size());
  if (lists_ == nullptr) return {};
  const List& list = lists_[&field - plan_->fields.data()];
  return {list.values, list.size};
}

uint64_t ParsedMessage::Number(const FieldPlan& field) const {
  const absl::Span<const FieldValue> values = Values(field);
  return values.empty() ? 0 : values.front().number();
}

absl::string_view ParsedMessage::Text(const FieldPlan& field) const {
  const absl::Span<const FieldValue> values = Values(field);
  return values.empty() ? absl::string_view() : values.front().text();
}

Timestamp TimestampIn(const ParsedMessage& message) {
  using google::protobuf::Timestamp;
  const auto number = [&](int field) { return message.Number(*message.plan().FindNumber(field)); };
  return {static_cast<int64_t>(number(Timestamp::kSecondsFieldNumber)),
          static_cast<int32_t>(number(Timestamp::kNanosFieldNumber))};
}

MapEntry MapEntryIn(const ParsedMessage& entry) {
  const std::vector<FieldPlan>& fields = entry.plan().fields;
  return {entry.Text(fields[0]), entry.Text(fields[1])};
}

const ParsedMessage* ParseMessage(const MessagePlan& plan, absl::string_view bytes, Arena& arena) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return nullptr;
  MessageParser parser(bytes, arena);
  auto* const message = Arena::Create<ParsedMessage>(&arena, plan);
  return parser.Read(*message) ? message : nullptr;
}

std::string SerializeDeterministically(const ParsedMessage& message, std::initializer_list<const FieldPlan*> left_out) {
  WireWriter out;
  Write(message, left_out, out);
  return out.Take();
}

}  // namespace stampgate
