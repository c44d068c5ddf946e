// Bytes of a secret in locked memory.
#ifndef STAMPGATE_BASE_SECRET_BYTES_H_
#define STAMPGATE_BASE_SECRET_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// A fixed number of bytes in locked memory between guard pages. The memory is never swapped and is not part of core
// dumps; the destructor wipes it. An object can be moved, but neither copied nor printed. If the bytes fit into one
// page, the object uses four pages of memory, of which one is locked. Not thread-safe, like a plain array.
class SecretBytes {
 public:
  // Returns `size` zero bytes. Errors: kInvalidArgument if `size` is 0; kResourceExhausted if memory is short or cannot
  // be locked; those of InitializeKeyMemory.
  static absl::StatusOr<SecretBytes> Create(size_t size);

  SecretBytes(SecretBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SecretBytes& operator=(SecretBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  ~SecretBytes();

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  // The bytes as text, for parsers. Never copy them into a string, whose memory would not be locked.
  absl::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // Protects the bytes: any later write to them ends the process.
  void MakeReadOnly();

  // Compares in constant time: the time depends on the sizes, which are not secret, but not on the bytes.
  friend bool operator==(const SecretBytes& a, const SecretBytes& b);

  friend std::ostream& operator<<(std::ostream&, const SecretBytes&) = delete;

 private:
  SecretBytes(uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t* data_;
  size_t size_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_BYTES_H_
