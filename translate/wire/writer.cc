#include "translate/wire/writer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

namespace stampgate {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

uint32_t Tag(int field, WireFormatLite::WireType type) { return WireFormatLite::MakeTag(field, type); }

}  // namespace

void WireWriter::String(int field, absl::string_view value) {
  Prefix(field, value.size());
  Append(value);
}

void WireWriter::Varint(int field, uint64_t value) {
  AppendVarint(Tag(field, WireFormatLite::WIRETYPE_VARINT));
  AppendVarint(value);
}

WireWriter::Mark WireWriter::Begin(int field) {
  AppendVarint(Tag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  if (Grow(1)) bytes_.push_back('\0');  // the length, which End sets
  return size();
}

void WireWriter::End(Mark mark) {
  const size_t size = this->size() - mark;
  const size_t width = CodedOutputStream::VarintSize64(size);
  if (!Grow(width - 1)) return;
  if (width > 1) bytes_.insert(mark, width - 1, '\0');
  static_cast<void>(CodedOutputStream::WriteVarint64ToArray(size, reinterpret_cast<uint8_t*>(&bytes_[mark - 1])));
}

void WireWriter::Prefix(int field, size_t size) {
  AppendVarint(Tag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  AppendVarint(size);
}

void WireWriter::Append(absl::string_view bytes) {
  if (Grow(bytes.size())) bytes_.append(bytes.data(), bytes.size());
}

void WireWriter::Packed(uint64_t value) { AppendVarint(value); }

std::string WireWriter::Take() { return std::exchange(bytes_, std::string()); }

void WireWriter::Overflow(size_t bytes) {
  size_ = size() + bytes;
  if (!std::exchange(is_too_large_, true)) bytes_ = std::string();
}

void WireWriter::AppendVarint(uint64_t value) {
  uint8_t bytes[10];
  const uint8_t* const end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  Append({reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes)});
}

}  // namespace stampgate
