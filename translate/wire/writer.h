// Writes the bytes of a protobuf message, field by field.
#ifndef STAMPGATE_TRANSLATE_WIRE_WRITER_H_
#define STAMPGATE_TRANSLATE_WIRE_WRITER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Appends fields to one string, in any order. If the message becomes larger than a bound, frees what was written, and
// from then on only counts. Not thread-safe.
class WireWriter {
 public:
  // The place of a field that has begun.
  using Mark = size_t;

  static constexpr size_t kNoBound = std::numeric_limits<size_t>::max();

  // `expected` is the likely size of the message, in bytes, and `most` the bound.
  explicit WireWriter(size_t expected = 0, size_t most = kNoBound) : most_(most) {
    bytes_.reserve(std::min(expected, most));
  }

  // Writes a string, bytes, or the bytes of a message.
  void String(int field, absl::string_view value);

  // Writes an integer, a bool or an enum. A negative integer must be extended to 64 bits.
  void Varint(int field, uint64_t value);

  // Begins a message or a packed list, whose content is what is written until End. Other fields may begin and end
  // inside.
  Mark Begin(int field);
  void End(Mark mark);

  // Writes an element of a packed list.
  void Packed(uint64_t value);

  // Writes the beginning of a string, of bytes or of a message whose content has `size` bytes. The content must follow.
  void Prefix(int field, size_t size);

  // Appends `bytes`, which are encoded fields or the content that must follow a Prefix.
  void Append(absl::string_view bytes);

  // Returns the number of bytes so far. In a field that has begun, the number can still grow.
  size_t size() const { return is_too_large_ ? size_ : bytes_.size(); }

  // Returns true if the message has become larger than the bound.
  bool is_too_large() const { return is_too_large_; }

  // Returns the message, and leaves none. Requires that the message is not too large.
  std::string Take();

 private:
  void AppendVarint(uint64_t value);
  // Returns true if `bytes` more may be appended. Otherwise counts them.
  bool Grow(size_t bytes) {
    if (bytes <= most_ - bytes_.size() && !is_too_large_) return true;
    Overflow(bytes);
    return false;
  }
  void Overflow(size_t bytes);

  size_t most_;
  bool is_too_large_ = false;
  size_t size_ = 0;  // set if the message is too large
  std::string bytes_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_WIRE_WRITER_H_
