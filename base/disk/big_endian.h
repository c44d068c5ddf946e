// Encodes numbers as bytes in big-endian order.
#ifndef STAMPGATE_BASE_DISK_BIG_ENDIAN_H_
#define STAMPGATE_BASE_DISK_BIG_ENDIAN_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace stampgate {

constexpr std::array<char, 8> ToBigEndian(uint64_t number) {
  std::array<char, 8> bytes = {};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
  return bytes;
}

// Reads 8 bytes.
constexpr uint64_t FromBigEndian(const char* bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_BIG_ENDIAN_H_
