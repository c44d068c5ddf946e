#include "gateway/grpc_port/header_fields.h"

#include <algorithm>

namespace stampgate {
namespace {

constexpr uint8_t kMore = 0x80;  // in an integer: another byte follows
constexpr uint8_t kLengthBits = 0x7f;
constexpr int kMaxShift = 28;

}  // namespace

size_t HeaderFields::Read(absl::string_view bytes) {
  size_t fields = 0;
  while (!bytes.empty()) {
    if (state_ == State::kText) {
      const size_t part = static_cast<size_t>(std::min<uint64_t>(length_, bytes.size()));
      length_ -= part;
      bytes.remove_prefix(part);
      if (length_ == 0) AfterIndex();
      continue;
    }
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    switch (state_) {
      case State::kField:
        ++fields;
        ReadField(byte);
        break;
      case State::kIndex:
        if ((byte & kMore) == 0) AfterIndex();
        break;
      case State::kLength:
        length_ = byte & kLengthBits;
        shift_ = 0;
        if (length_ == kLengthBits) {
          state_ = State::kMoreOfLength;
        } else {
          AfterLength();
        }
        break;
      default:
        ReadLength(byte);
    }
  }
  return fields;
}

void HeaderFields::ReadField(uint8_t byte) {
  uint8_t index_bits = 0x0f;  // a literal field that is not added to the table
  texts_ = 1;
  if ((byte & 0x80) != 0) {  // an indexed field
    index_bits = 0x7f;
    texts_ = 0;
  } else if ((byte & 0x40) != 0) {  // a literal field that is added to the table
    index_bits = 0x3f;
  } else if ((byte & 0x20) != 0) {  // a change of the table's size
    index_bits = 0x1f;
    texts_ = 0;
  }
  const uint8_t index = byte & index_bits;
  if (index == index_bits) {
    state_ = State::kIndex;
    return;
  }
  if (texts_ == 1 && index == 0) texts_ = 2;
  AfterIndex();
}

// Continues after an index or a text.
void HeaderFields::AfterIndex() {
  state_ = texts_ == 0 ? State::kField : State::kLength;
  --texts_;
}

void HeaderFields::ReadLength(uint8_t byte) {
  length_ += static_cast<uint64_t>(byte & kLengthBits) << shift_;
  shift_ = std::min(shift_ + 7, kMaxShift);
  if ((byte & kMore) == 0) AfterLength();
}

void HeaderFields::AfterLength() {
  state_ = State::kText;
  if (length_ == 0) AfterIndex();
}

}  // namespace stampgate
