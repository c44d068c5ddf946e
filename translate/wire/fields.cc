#include "translate/wire/fields.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace stampgate {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Calls `on_field` at the value of each field with this number and type. `on_field` reads the value.
template <typename OnField>
void ForEach(absl::string_view message, int field, WireFormatLite::WireType type, OnField on_field) {
  CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size()));
  const uint32_t wanted = WireFormatLite::MakeTag(field, type);
  while (const uint32_t tag = input.ReadTag()) {
    if (tag == wanted) {
      if (!on_field(input)) return;
    } else if (!WireFormatLite::SkipField(&input, tag)) {
      return;
    }
  }
}

}  // namespace

void ForEachBytes(absl::string_view message, int field, absl::FunctionRef<void(absl::string_view)> each) {
  ForEach(message, field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, [&](CodedInputStream& input) {
    uint32_t size = 0;
    if (!input.ReadVarint32(&size)) return false;
    each(message.substr(static_cast<size_t>(input.CurrentPosition()), size));
    return input.Skip(static_cast<int>(size));
  });
}

std::optional<absl::string_view> FindBytes(absl::string_view message, int field) {
  std::optional<absl::string_view> found;
  ForEachBytes(message, field, [&](absl::string_view value) { found = value; });
  return found;
}

std::optional<uint64_t> FindVarint(absl::string_view message, int field) {
  std::optional<uint64_t> found;
  ForEach(message, field, WireFormatLite::WIRETYPE_VARINT, [&](CodedInputStream& input) {
    uint64_t value = 0;
    if (!input.ReadVarint64(&value)) return false;
    found = value;
    return true;
  });
  return found;
}

}  // namespace stampgate
