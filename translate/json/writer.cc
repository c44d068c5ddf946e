#include "translate/json/writer.h"

#include <array>

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
