#include "gateway/callers/metadata.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "translate/error.h"
#include "translate/violations.h"

namespace stampgate {
namespace {

constexpr size_t kOverheadBytes = 32;
constexpr absl::string_view kBinary = "-bin";
constexpr absl::string_view kStamp = "x-stamp";

absl::string_view View(const grpc::string_ref& text) { return {text.data(), text.size()}; }

bool IsName(absl::string_view name) {
  return !name.empty() && absl::c_all_of(name, [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_' || c == '-' || c == '.';
  });
}

bool IsText(absl::string_view value) {
  return absl::c_all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
}

void Check(absl::string_view name, absl::string_view value, Violations& violations) {
  if (!IsName(name)) {
    violations.Add([] {
      return Violation{"metadata", "names consist of lower-case letters, digits, \"_\", \"-\" and \".\""};
    });
    return;
  }
  const auto add = [&](const char* rule) {
    violations.Add([&] { return Violation{absl::StrCat("metadata[", name, "]"), rule}; });
  };
  if (absl::StartsWith(name, kStamp)) add("is not forwarded: put an end user's stamp into client_stamp");
  // gRPC has already decoded binary values, so they can contain any byte.
  if (!absl::EndsWith(name, kBinary) && !IsText(value)) add("must be printable ASCII");
}

}  // namespace

absl::Status CheckMetadata(const CallMetadata& metadata) {
  size_t bytes = 0;
  for (const auto& [name, value] : metadata) bytes += name.size() + value.size() + kOverheadBytes;
  Violations violations;
  if (bytes > kMaxMetadataBytes) {
    violations.Add([] {
      return Violation{"metadata", absl::StrCat("must be ", kMaxMetadataBytes, " bytes or fewer in all")};
    });
  } else {
    for (const auto& [name, value] : metadata) Check(View(name), View(value), violations);
  }
  return violations.empty() ? absl::OkStatus() : ViolationError(std::move(violations));
}

}  // namespace stampgate
