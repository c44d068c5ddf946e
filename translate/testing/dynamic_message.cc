#include "translate/testing/dynamic_message.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/text_format.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Where a path ends: a field of a message, and the index of an element or -1.
struct Place {
  const Message* message = nullptr;
  const FieldDescriptor* field = nullptr;
  int index = -1;
};

// Follows `path`. Returns a place without a field, and fails the test, if there is no such place.
Place Follow(const Message& message, absl::string_view path) {
  Place place;
  const Message* inside = &message;
  for (const absl::string_view step : absl::StrSplit(path, '.')) {
    if (place.field != nullptr && place.field->is_repeated() && place.index < 0) {
      int index = 0;
      const int size = place.message->GetReflection()->FieldSize(*place.message, place.field);
      if (!absl::SimpleAtoi(step, &index) || index < 0 || index >= size) {
        ADD_FAILURE() << path << ": there is no element " << step;
        return {};
      }
      place.index = index;
      if (place.field->message_type() == nullptr) continue;
      inside = &place.message->GetReflection()->GetRepeatedMessage(*place.message, place.field, index);
      continue;
    }
    if (place.field != nullptr && !place.field->is_repeated() && place.field->message_type() != nullptr) {
      inside = &place.message->GetReflection()->GetMessage(*place.message, place.field);
    }
    const std::string name(step);  // an older release of Protocol Buffers needs a std::string
    place = {inside, inside->GetDescriptor()->FindFieldByName(name), -1};
    if (place.field == nullptr) {
      ADD_FAILURE() << path << ": there is no field " << step;
      return {};
    }
  }
  return place;
}

}  // namespace

const google::protobuf::DescriptorPool& Pool() { return OperationSet::BuiltIn()->pool(); }

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  static auto& factory = *new google::protobuf::DynamicMessageFactory();
  return std::unique_ptr<Message>(factory.GetPrototype(type)->New());
}

std::unique_ptr<Message> NewMessage(const std::string& type) {
  const google::protobuf::Descriptor* descriptor = Pool().FindMessageTypeByName(type);
  if (descriptor == nullptr) {
    std::cerr << "the operations do not have the message " << type << std::endl;
    std::abort();
  }
  return NewMessage(descriptor);
}

std::unique_ptr<Message> MessageOf(const std::string& type, const std::string& text_proto) {
  std::unique_ptr<Message> message = NewMessage(type);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text_proto, message.get())) << type << ": " << text_proto;
  return message;
}

std::unique_ptr<Message> MessageIn(const std::string& type, absl::string_view bytes) {
  std::unique_ptr<Message> message = NewMessage(type);
  EXPECT_TRUE(message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) << type;
  const size_t size = message->ByteSizeLong();
  message->DiscardUnknownFields();
  EXPECT_EQ(message->ByteSizeLong(), size) << type << " does not have all fields of the bytes";
  return message;
}

bool HasValueAt(const Message& message, absl::string_view path) {
  const Place place = Follow(message, path);
  if (place.field == nullptr) return false;
  if (!place.field->is_repeated()) return place.message->GetReflection()->HasField(*place.message, place.field);
  return place.index >= 0 || place.message->GetReflection()->FieldSize(*place.message, place.field) > 0;
}

std::string ValueAt(const Message& message, absl::string_view path) {
  const Place place = Follow(message, path);
  if (place.field == nullptr) return "";
  if (place.field->is_repeated() && place.index < 0) {
    return absl::StrCat(place.message->GetReflection()->FieldSize(*place.message, place.field));
  }
  if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    const auto& reflection = *place.message->GetReflection();
    return place.index < 0 ? reflection.GetString(*place.message, place.field)
                           : reflection.GetRepeatedString(*place.message, place.field, place.index);
  }
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintFieldValueToString(*place.message, place.field, place.index, &text);
  return text;
}

std::vector<std::string> ValuesAt(const Message& message, const std::string& list, absl::string_view path) {
  std::vector<std::string> values;
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(list);
  const int size = field == nullptr ? 0 : message.GetReflection()->FieldSize(message, field);
  EXPECT_NE(field, nullptr) << list;
  for (int i = 0; i < size; ++i) {
    values.push_back(ValueAt(message.GetReflection()->GetRepeatedMessage(message, field, i), path));
  }
  return values;
}

std::map<std::string, std::string> MapIn(const Message& message, const std::string& name) {
  std::map<std::string, std::string> map;
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  EXPECT_TRUE(field != nullptr && field->is_map()) << name;
  if (field == nullptr || !field->is_map()) return map;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    const Message& entry = message.GetReflection()->GetRepeatedMessage(message, field, i);
    map.emplace(ValueAt(entry, "key"), ValueAt(entry, "value"));
  }
  return map;
}

}  // namespace stampgate::testing
