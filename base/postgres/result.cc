#include "base/postgres/result.h"

#include <cstddef>

namespace stampgate {
namespace {

// Returns the number that the bytes encode in big-endian order, with the sign of its type.
int64_t Decode(absl::string_view bytes) {
  if (bytes.empty()) return 0;
  uint64_t number = (bytes.size() > 1 && (bytes[0] & 0x80) != 0) ? ~uint64_t{0} : 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return static_cast<int64_t>(number);
}

}  // namespace

absl::string_view PostgresResult::Bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<size_t>(PQgetlength(result_.get(), row, column))};
}

int64_t PostgresResult::Number(int row, int column) const { return Decode(Bytes(row, column)); }

std::vector<int64_t> PostgresResult::Numbers(int row, int column) const {
  constexpr size_t kHeadBytes = 20;
  std::vector<int64_t> numbers;
  absl::string_view bytes = Bytes(row, column);
  if (bytes.size() < kHeadBytes) return numbers;  // NULL, or an array without elements
  bytes.remove_prefix(kHeadBytes);
  while (bytes.size() >= 4) {
    const auto size = static_cast<size_t>(Decode(bytes.substr(0, 4)));
    bytes.remove_prefix(4);
    if (size > bytes.size()) break;
    numbers.push_back(Decode(bytes.substr(0, size)));
    bytes.remove_prefix(size);
  }
  return numbers;
}

}  // namespace stampgate
