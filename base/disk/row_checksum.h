// The checksum by which a reader of a row detects damage.
#ifndef STAMPGATE_BASE_DISK_ROW_CHECKSUM_H_
#define STAMPGATE_BASE_DISK_ROW_CHECKSUM_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/disk/big_endian.h"
#include "base/secret/sha256.h"

namespace stampgate {

template <size_t kSize>
absl::string_view BytesOf(const std::array<uint8_t, kSize>& array) {
  return absl::string_view(reinterpret_cast<const char*>(array.data()), kSize);
}

// Copies `bytes` into the array. If the sizes differ, returns false and copies nothing.
template <size_t kSize>
bool FillWith(absl::string_view bytes, std::array<uint8_t, kSize>* array) {
  if (bytes.size() != kSize) return false;
  std::copy(bytes.begin(), bytes.end(), array->begin());
  return true;
}

// Computes SHA-256 over a row's columns. Each text is preceded by its length.
class RowChecksum {
 public:
  void Add(int64_t number) {
    const std::array<char, 8> encoded = ToBigEndian(static_cast<uint64_t>(number));
    bytes_.append(encoded.data(), encoded.size());
  }

  void Add(absl::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    bytes_.append(text.data(), text.size());
  }

  std::array<uint8_t, 32> Sum() const { return Sha256(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_ROW_CHECKSUM_H_
