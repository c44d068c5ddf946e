#include "translate/message/parsed_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <simdjson.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/timestamp.pb.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

using google::protobuf::Arena;
using google::protobuf::OneofDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Protocol Buffers' generated code refuses longer tags and longer sizes, unlike CodedInputStream.
constexpr int kMaxTagBytes = 5;
constexpr int kMaxSizeBytes = 5;

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
  MessageParser(absl::string_view bytes, RequestMemory& memory)
      : bytes_(bytes),
        memory_(memory),
        input_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // Returns null if the bytes are not a message of `plan`, or if the memory is exceeded.
  const ParsedMessage* Read(const MessagePlan& plan) {
    ParsedMessage* const message = NewMessage(plan);
    if (message == nullptr || !ReadFields(*message)) return nullptr;
    for (; maps_ != nullptr; maps_ = maps_->next) OrderByKey(*maps_->map, maps_->field);
    for (; renamed_ != nullptr; renamed_ = renamed_->next) MoveToReplaced(*renamed_->message);
    return message;
  }

  bool exceeded() const { return exceeded_; }

 private:
  // A field of a message that is a map.
  struct Map {
    FieldValue* map;
    const FieldPlan& field;
    Map* next;
  };

  // A message whose fields have newer names.
  struct Renamed {
    ParsedMessage* message;
    Renamed* next;
  };

  // The parser asks for the memory that is left after this many bytes.
  static constexpr size_t kAskedBytes = 4096;

  // Reads fields into `message` up to the current limit of the input.
  bool ReadFields(ParsedMessage& message) {
    while (input_.BytesUntilLimit() > 0) {
      const int begin = input_.CurrentPosition();
      const uint32_t tag = input_.ReadTag();
      const bool too_long = input_.CurrentPosition() - begin > kMaxTagBytes;
      if (tag == 0 || too_long || !ReadField(message, tag, begin) || exceeded_) return false;
    }
    return true;
  }

  // Reads the field with `tag` that begins at `begin`.
  bool ReadField(ParsedMessage& message, uint32_t tag, int begin) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const WireFormatLite::WireType type = WireFormatLite::GetTagWireType(tag);
    const FieldPlan* const field = message.plan().FindNumber(number);
    const bool is_number = field != nullptr && IsNumber(field->form);
    if (is_number && type == WireFormatLite::WIRETYPE_VARINT) {
      uint64_t varint = 0;
      if (!input_.ReadVarint64(&varint)) return false;
      AddNumber(message, *field, varint, [] { return 1; });
      return true;
    }
    if (field == nullptr || type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
        (is_number && !field->field->is_repeated())) {
      AddUnknown(message, number);
      return WireFormatLite::SkipField(&input_, tag);
    }
    int size = 0;
    const int value = input_.CurrentPosition();
    const int end = value + input_.BytesUntilLimit();
    if (!input_.ReadVarintSizeAsInt(&size) || size > input_.BytesUntilLimit()) return false;
    if (input_.CurrentPosition() - value > kMaxSizeBytes) return false;
    if (is_number) return ReadPacked(message, *field, size);
    const auto count = [&] { return CountRun(begin, value, end, *field); };
    if (field->message != nullptr) return ReadMessage(message, *field, size, count);
    return ReadText(message, *field, size, count);
  }

  bool ReadPacked(ParsedMessage& message, const FieldPlan& field, int size) {
    const absl::string_view packed = bytes_.substr(static_cast<size_t>(input_.CurrentPosition()), size);
    const auto count = [&] { return absl::c_count_if(packed, [](char c) { return (c & 0x80) == 0; }); };
    const CodedInputStream::Limit limit = input_.PushLimit(size);
    while (input_.BytesUntilLimit() > 0) {
      uint64_t varint = 0;
      if (!input_.ReadVarint64(&varint) || exceeded_) return false;
      AddNumber(message, field, varint, count);
    }
    input_.PopLimit(limit);
    return true;
  }

  template <typename Count>
  bool ReadMessage(ParsedMessage& message, const FieldPlan& field, int size, Count count) {
    FieldValue* const value = Slot(message, field, /*says_something=*/true, count);
    if (value == nullptr) return !exceeded_ && input_.Skip(size);
    const bool merges = !field.field->is_repeated() && value->message_ != nullptr;
    if (!merges) value->message_ = NewMessage(*field.message);
    if (field.form == JsonForm::kStringMap) NoteMap(message, field);
    if (exceeded_) return false;
    const auto [limit, budget] = input_.IncrementRecursionDepthAndPushLimit(size);
    if (budget < 0 || !ReadFields(*value->message_)) return false;
    static_cast<void>(input_.DecrementRecursionDepthAndPopLimit(limit));
    return true;
  }

  template <typename Count>
  bool ReadText(ParsedMessage& message, const FieldPlan& field, int size, Count count) {
    const absl::string_view text = bytes_.substr(static_cast<size_t>(input_.CurrentPosition()), size);
    if (!input_.Skip(size)) return false;
    const bool is_text = field.form != JsonForm::kOpaque && field.form != JsonForm::kBytes;
    if (is_text && !simdjson::validate_utf8(text.data(), text.size())) return false;
    if (FieldValue* value = Slot(message, field, !text.empty(), count)) {
      value->data_ = text.data();
      value->size_ = static_cast<uint32_t>(text.size());
    }
    return true;
  }

  template <typename Count>
  void AddNumber(ParsedMessage& message, const FieldPlan& field, uint64_t varint, Count count) {
    const uint64_t number = NumberOf(field.form, varint);
    if (FieldValue* value = Slot(message, field, number != 0, count)) value->number_ = number;
  }

  void AddUnknown(ParsedMessage& message, int number) {
    ParsedMessage::Unknown*& unknown = message.unknown_;
    if (unknown == nullptr) {
      unknown = New<ParsedMessage::Unknown>(1);
      if (unknown == nullptr) return;
      unknown->count = 0;
    }
    if (unknown->count < ParsedMessage::kKeptUnknown) unknown->numbers[unknown->count] = number;
    ++unknown->count;
  }

  // Notes a map with its first entry. Maps are sorted at the end, because a message may be merged from many parts.
  void NoteMap(ParsedMessage& message, const FieldPlan& field) {
    FieldValue& map = message.fields_[IndexOf(message, field)];
    if (map.size_ != 1) return;
    if (void* place = Allocate(sizeof(Map))) maps_ = new (place) Map{&map, field, maps_};
  }

  // Returns the place for the next value of `field`: a new element of a list, or the only value. `says_something` is
  // false if the value is zero or empty. If the field is then not set, removes its value and returns null. Also returns
  // null for an element after the first max_elements, and if the memory is exceeded.
  template <typename Count>
  FieldValue* Slot(ParsedMessage& message, const FieldPlan& field, bool says_something, Count count) {
    if (message.fields_ == nullptr) {
      const size_t fields = message.plan().fields.size();
      message.fields_ = New<FieldValue>(fields);
      if (message.fields_ == nullptr) return nullptr;
      std::memset(static_cast<void*>(message.fields_), 0, fields * sizeof(FieldValue));
    }
    FieldValue& value = message.fields_[IndexOf(message, field)];
    if (field.is_list) return Append(value, field, count);
    if (const OneofDescriptor* oneof = field.field->real_containing_oneof()) ClearOthers(message, *oneof, field);
    if (!says_something && !field.field->has_presence()) {
      value.capacity_ = 0;
      return nullptr;
    }
    if (value.capacity_ == 0) value.message_ = nullptr;
    value.capacity_ = 1;
    return &value;
  }

  // Of the fields of a oneof, only the last one in the bytes is set.
  static void ClearOthers(ParsedMessage& message, const OneofDescriptor& oneof, const FieldPlan& field) {
    for (int i = 0; i < oneof.field_count(); ++i) {
      const FieldPlan* const other = message.plan().FindNumber(oneof.field(i)->number());
      if (other != nullptr && other != &field) message.fields_[IndexOf(message, *other)].capacity_ = 0;
    }
  }

  // Returns the place for the next element of `list`, or null. `count` returns how many elements the bytes have here.
  template <typename Count>
  FieldValue* Append(FieldValue& list, const FieldPlan& field, Count count) {
    if (list.size_ >= field.max_elements) {
      ++list.size_;
      return nullptr;
    }
    if (list.size_ == list.capacity_) {
      const size_t wanted = std::max(list.size_ + static_cast<size_t>(count()), size_t{2} * list.capacity_);
      const size_t capacity = std::min<size_t>(wanted, field.max_elements);
      auto* const elements = New<FieldValue>(capacity);
      if (elements == nullptr) return nullptr;
      std::copy_n(list.elements_, list.size_, elements);
      list.elements_ = elements;
      list.capacity_ = static_cast<uint32_t>(capacity);
    }
    return &list.elements_[list.size_++];
  }

  // Returns how many fields follow each other at `begin` with the same tag, which ends at `value`, up to the limit of
  // the input. Most programs write the elements of a list one after the other, so the list never has to grow.
  size_t CountRun(int begin, int value, int end, const FieldPlan& field) const {
    absl::string_view rest = bytes_.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    const absl::string_view tag = rest.substr(0, static_cast<size_t>(value - begin));
    size_t count = 0;
    while (count < field.max_elements && absl::ConsumePrefix(&rest, tag)) {
      uint32_t size = 0;
      for (int shift = 0; shift < 32 && !rest.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
        size |= static_cast<uint32_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) break;
      }
      rest.remove_prefix(std::min<size_t>(size, rest.size()));
      ++count;
    }
    return count;
  }

  // Of the entries with the same key, keeps only the last one.
  static void OrderByKey(FieldValue& map, const FieldPlan& field) {
    if (map.size_ > field.max_elements) return;
    const auto key = [](const FieldValue& entry) { return MapEntryIn(entry.message()).key; };
    const absl::Span<FieldValue> entries(map.elements_, map.size_);
    absl::c_stable_sort(entries, [&](const FieldValue& a, const FieldValue& b) { return key(a) < key(b); });
    uint32_t kept = 0;
    for (const FieldValue& entry : entries) {
      if (kept > 0 && key(entries[kept - 1]) == key(entry)) --kept;
      entries[kept++] = entry;
    }
    map.size_ = kept;
  }

  // Messages are moved at the end too, because the parts of a message may use different names.
  static void MoveToReplaced(ParsedMessage& message) {
    if (message.fields_ == nullptr) return;
    for (const FieldPlan* newer : message.plan().successors) {
      const FieldPlan& older = *newer->replaced;
      FieldValue& from = message.fields_[IndexOf(message, *newer)];
      FieldValue& to = message.fields_[IndexOf(message, older)];
      if (from.capacity_ == 0) from = FieldValue();
      if (from.capacity_ == 0 || to.capacity_ != 0) continue;
      FieldValue moved = from;
      if (newer->form != older.form) {
        const auto number = older.values->numbers.find(from.text());
        if (number == older.values->numbers.end()) continue;
        moved.number_ = static_cast<uint64_t>(int64_t{number->second});
      }
      to = moved;
      from = FieldValue();
      from.number_ = ParsedMessage::kMoved;
    }
  }

  static size_t IndexOf(const ParsedMessage& message, const FieldPlan& field) {
    return static_cast<size_t>(&field - message.plan().fields.data());
  }

  ParsedMessage* NewMessage(const MessagePlan& plan) {
    void* const place = Allocate(sizeof(ParsedMessage));
    if (place == nullptr) return nullptr;
    auto* const message = new (place) ParsedMessage(plan);
    if (plan.successors.empty()) return message;
    void* const renamed = Allocate(sizeof(Renamed));
    if (renamed == nullptr) return nullptr;
    renamed_ = new (renamed) Renamed{message, renamed_};
    return message;
  }

  // Returns memory for `count` objects, or null if the memory is exceeded.
  template <typename T>
  T* New(size_t count) {
    return static_cast<T*>(Allocate(count * sizeof(T)));
  }

  void* Allocate(size_t bytes) {
    if (bytes > allowed_) {
      const size_t left = memory_.Left();
      if (left < bytes) {
        exceeded_ = true;
        return nullptr;
      }
      allowed_ = std::max(bytes, std::min(kAskedBytes, left));
    }
    allowed_ -= bytes;
    static_assert(alignof(ParsedMessage) == sizeof(uint64_t) && alignof(FieldValue) == sizeof(uint64_t));
    return Arena::CreateArray<uint64_t>(&memory_.arena(), (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  }

  const absl::string_view bytes_;
  RequestMemory& memory_;
  CodedInputStream input_;
  size_t allowed_ = 0;  // the parser may allocate this many bytes before it asks again
  bool exceeded_ = false;
  Map* maps_ = nullptr;  // of all messages
  Renamed* renamed_ = nullptr;
};

const FieldValue& ParsedMessage::At(const FieldPlan& field) const {
  static constexpr FieldValue kUnset = {};
  assert(&field >= plan_->fields.data() && &field < plan_->fields.data() + plan_->fields.size());
  return fields_ == nullptr ? kUnset : fields_[&field - plan_->fields.data()];
}

absl::Span<const FieldValue> ParsedMessage::Values(const FieldPlan& field) const {
  const FieldValue& value = At(field);
  if (field.is_list) return {value.elements_, std::min(value.size_, field.max_elements)};
  return {&value, value.capacity_};
}

size_t ParsedMessage::Count(const FieldPlan& field) const {
  return field.is_list ? At(field).size_ : At(field).capacity_;
}

const FieldPlan& ParsedMessage::NameOf(const FieldPlan& field) const {
  const FieldPlan* name = &field;
  for (const FieldPlan* newer : field.successors) {
    const FieldValue& value = At(*newer);
    if (value.capacity_ == 0 && value.number_ == kMoved) name = newer;
  }
  return *name;
}

absl::Span<const int> ParsedMessage::unknown() const {
  if (unknown_ == nullptr) return {};
  return {unknown_->numbers, std::min(unknown_->count, kKeptUnknown)};
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

absl::StatusOr<const ParsedMessage*> ParseMessage(const MessagePlan& plan, absl::string_view bytes,
                                                  RequestMemory& memory) {
  if (bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max())) {
    MessageParser parser(bytes, memory);
    if (const ParsedMessage* const message = parser.Read(plan)) return message;
    if (parser.exceeded()) return memory.Exceeded();
  }
  return absl::InvalidArgumentError(absl::StrCat("is not a ", plan.descriptor->full_name(), " message"));
}

std::string SerializeDeterministically(const ParsedMessage& message, std::initializer_list<const FieldPlan*> left_out) {
  WireWriter size(0, /*most=*/0);
  Write(message, left_out, size);
  WireWriter out(size.size());
  Write(message, left_out, out);
  return out.Take();
}

}  // namespace stampgate
