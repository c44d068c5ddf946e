#include "base/postgres/parameters.h"

#include <utility>

namespace stampgate {
namespace {

// The ids of the types in PostgreSQL's table pg_type, which never change.
constexpr unsigned kBool = 16;
constexpr unsigned kBytea = 17;
constexpr unsigned kBigint = 20;
constexpr unsigned kText = 25;
constexpr unsigned kBigintArray = 1016;
constexpr unsigned kByteaArray = 1001;

template <typename Number>
void AddBigEndian(Number number, std::string* bytes) {
  for (int shift = static_cast<int>(sizeof(Number)) * 8 - 8; shift >= 0; shift -= 8) {
    bytes->push_back(static_cast<char>(static_cast<uint64_t>(number) >> shift));
  }
}

std::string Encode(int64_t value) {
  std::string bytes;
  AddBigEndian(value, &bytes);
  return bytes;
}

// Returns the begin of an array with one dimension, no NULLs, and `size` elements.
std::string ArrayHead(unsigned element_type, size_t size) {
  std::string bytes;
  AddBigEndian(int32_t{1}, &bytes);  // dimensions
  AddBigEndian(int32_t{0}, &bytes);  // no NULLs
  AddBigEndian(static_cast<int32_t>(element_type), &bytes);
  AddBigEndian(static_cast<int32_t>(size), &bytes);
  AddBigEndian(int32_t{1}, &bytes);  // the index of the first element
  return bytes;
}

}  // namespace

PostgresParameters& PostgresParameters::Add(unsigned type, std::optional<std::string> value) {
  parameters_.push_back({type, std::move(value)});
  return *this;
}

PostgresParameters& PostgresParameters::Bool(bool value) { return Add(kBool, std::string(1, value ? 1 : 0)); }

PostgresParameters& PostgresParameters::Bigint(std::optional<int64_t> value) {
  return Add(kBigint, value.has_value() ? std::optional(Encode(*value)) : std::nullopt);
}

PostgresParameters& PostgresParameters::Text(absl::string_view value) { return Add(kText, std::string(value)); }

PostgresParameters& PostgresParameters::Bytes(absl::string_view value) { return Add(kBytea, std::string(value)); }

PostgresParameters& PostgresParameters::Bigints(const std::vector<int64_t>& values) {
  std::string bytes = ArrayHead(kBigint, values.size());
  for (const int64_t value : values) {
    AddBigEndian(int32_t{8}, &bytes);
    AddBigEndian(value, &bytes);
  }
  return Add(kBigintArray, std::move(bytes));
}

PostgresParameters& PostgresParameters::ByteArrays(const std::vector<absl::string_view>& values) {
  std::string bytes = ArrayHead(kBytea, values.size());
  size_t size = bytes.size();
  for (const absl::string_view value : values) size += 4 + value.size();
  bytes.reserve(size);
  for (const absl::string_view value : values) {
    AddBigEndian(static_cast<int32_t>(value.size()), &bytes);
    bytes.append(value.data(), value.size());
  }
  return Add(kByteaArray, std::move(bytes));
}

PostgresParameters::Arguments PostgresParameters::arguments() const {
  Arguments arguments;
  for (const Parameter& parameter : parameters_) {
    arguments.types.push_back(parameter.type);
    arguments.values.push_back(parameter.value.has_value() ? parameter.value->data() : nullptr);
    arguments.lengths.push_back(parameter.value.has_value() ? static_cast<int>(parameter.value->size()) : 0);
    arguments.formats.push_back(1);
  }
  return arguments;
}

}  // namespace stampgate
