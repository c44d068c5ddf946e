#include "gateway/callers/peer_names.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

constexpr size_t kMaxSpiffeIdBytes = 2048;
constexpr size_t kMaxTrustDomainBytes = 255;
constexpr size_t kMaxDnsNameBytes = 253;
constexpr size_t kMaxDnsLabelBytes = 63;

bool IsTrustDomain(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxTrustDomainBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '-' || c == '_';
         });
}

bool IsSegment(absl::string_view text) {
  return !text.empty() && text != "." && text != ".." && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

bool IsLabel(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxDnsLabelBytes &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

}  // namespace

bool IsSpiffeId(absl::string_view text) {
  if (text.size() > kMaxSpiffeIdBytes || !absl::ConsumePrefix(&text, "spiffe://")) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  return parts.size() > 1 && IsTrustDomain(parts[0]) && std::all_of(parts.begin() + 1, parts.end(), IsSegment);
}

bool IsDnsName(absl::string_view text) {
  if (text.size() > kMaxDnsNameBytes) return false;
  const std::vector<absl::string_view> labels = absl::StrSplit(text, '.');
  return std::all_of(labels.begin(), labels.end(), IsLabel);
}

}  // namespace stampgate
