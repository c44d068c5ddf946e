#include "gateway/telemetry/export_headers.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

constexpr absl::string_view kReserved[] = {"te",   "content-type",      "content-length", "user-agent",
                                           "host", "transfer-encoding", "connection"};

bool IsName(absl::string_view name) {
  if (name.empty() || absl::StartsWith(name, "grpc-") || absl::c_linear_search(kReserved, name)) return false;
  return absl::c_all_of(name, [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '_' || c == '.';
  });
}

bool IsValue(absl::string_view value) {
  return !value.empty() && absl::c_all_of(value, [](char c) { return absl::ascii_isprint(c); });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseExportHeaders(const SecretBytes& file) {
  std::vector<std::string> headers;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(file.text(), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    const absl::string_view name = line.substr(0, colon);
    const absl::string_view value =
        colon == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(line.substr(colon + 1));
    if (!IsName(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " must begin with a lower-case name that gRPC does not use, and ':'"));
    }
    if (!IsValue(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " must have a value of visible ASCII characters after ':'"));
    }
    headers.push_back(absl::StrCat(name, ": ", value));
  }
  return headers;
}

}  // namespace stampgate
