#include "base/json/writer.h"

#include <array>
#include <cstdint>

namespace stampgate {
namespace {

constexpr std::array<bool, 256> MustEscape() {
  std::array<bool, 256> must{};
  for (int c = 0; c < 0x20; ++c) must[c] = true;
  must['"'] = true;
  must['\\'] = true;
  return must;
}

constexpr std::array<bool, 256> kMustEscape = MustEscape();

// How many bytes more than the character itself the escape of each character has.
constexpr std::array<uint8_t, 256> EscapeGrowth() {
  std::array<uint8_t, 256> growth{};
  for (int c = 0; c < 0x20; ++c) growth[c] = 5;
  for (const char c : {'"', '\\', '\b', '\f', '\n', '\r', '\t'}) growth[static_cast<unsigned char>(c)] = 1;
  return growth;
}

constexpr std::array<uint8_t, 256> kEscapeGrowth = EscapeGrowth();

void AppendEscape(char c, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out.append("\\\"");
      break;
    case '\\':
      out.append("\\\\");
      break;
    case '\b':
      out.append("\\b");
      break;
    case '\f':
      out.append("\\f");
      break;
    case '\n':
      out.append("\\n");
      break;
    case '\r':
      out.append("\\r");
      break;
    case '\t':
      out.append("\\t");
      break;
    default:
      out.append("\\u00");
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 0xf]);
  }
}

}  // namespace

size_t JsonStringSize(absl::string_view value) {
  size_t size = value.size() + 2;
  for (const char c : value) size += kEscapeGrowth[static_cast<unsigned char>(c)];
  return size;
}

void AppendJsonString(absl::string_view value, std::string& out) {
  out.push_back('"');
  size_t plain = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if (!kMustEscape[static_cast<unsigned char>(value[i])]) continue;
    out.append(value.data() + plain, i - plain);
    AppendEscape(value[i], out);
    plain = i + 1;
  }
  out.append(value.data() + plain, value.size() - plain);
  out.push_back('"');
}

}  // namespace stampgate
