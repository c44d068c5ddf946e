#include "webhooks/verification/delivery_headers.h"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "webhooks/keys/identifier.h"

namespace stampgate {
namespace {

constexpr absl::string_view kVersion = "v1";
constexpr absl::string_view kAlgorithm = "ed25519";
constexpr size_t kMaxTimestampDigits = 16;
constexpr int64_t kMaxTimestampMs =
    (int64_t{1} << 53) - 1;  // the largest exact integer in JavaScript, which upstream uses

bool IsVisible(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

bool IsVisibleOrSpace(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

bool ReadSignature(absl::string_view value, std::array<uint8_t, 64>& signature) {
  size_t size = 0;
  // sodium_hex2bin fails if it cannot decode the whole value.
  return sodium_hex2bin(signature.data(), signature.size(), value.data(), value.size(), nullptr, &size, nullptr) == 0 &&
         size == signature.size();
}

// The signed headers, in the order in which they are checked.
enum Signed : size_t { kTimestamp, kEventId, kKeyId, kSignatureAlgorithm, kSignatureVersion, kSignature };

// Their names without "x-<operator>-".
constexpr absl::string_view kSignedHeaders[] = {"timestamp",           "event-id",          "signature-key-id",
                                                "signature-algorithm", "signature-version", "signature"};

std::string Prefix(absl::string_view operator_name) {
  return absl::StrCat("x-", absl::AsciiStrToLower(operator_name), "-");
}

bool IsSigned(absl::string_view header_name, absl::string_view prefix) {
  return absl::StartsWithIgnoreCase(header_name, prefix) &&
         std::any_of(std::begin(kSignedHeaders), std::end(kSignedHeaders), [&](absl::string_view name) {
           return absl::EqualsIgnoreCase(header_name.substr(prefix.size()), name);
         });
}

}  // namespace

std::optional<int64_t> ReadTimestamp(absl::string_view text) {
  int64_t timestamp_ms;
  if (text.size() > kMaxTimestampDigits ||
      !std::all_of(text.begin(), text.end(),
                   [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }) ||
      !absl::SimpleAtoi(text, &timestamp_ms) || timestamp_ms > kMaxTimestampMs) {
    return std::nullopt;
  }
  return timestamp_ms;
}

std::variant<SignedHeaders, Rejection> ReadSignedHeaders(const std::vector<HeaderField>& headers,
                                                         absl::string_view operator_name) {
  const std::string prefix = Prefix(operator_name);
  std::array<absl::string_view, std::size(kSignedHeaders)> values;
  std::array<int, std::size(kSignedHeaders)> counts = {};
  for (const HeaderField& header : headers) {
    absl::string_view name = header.name;
    if (!absl::StartsWithIgnoreCase(name, prefix)) continue;
    name.remove_prefix(prefix.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!absl::EqualsIgnoreCase(name, kSignedHeaders[i])) continue;
      ++counts[i];
      if (!header.value.empty()) values[i] = header.value;
    }
  }
  auto reject = [&](RejectionReason reason, size_t i) {
    return Rejection{reason, absl::StrCat(prefix, kSignedHeaders[i])};
  };
  const auto differs = [&](Signed i, absl::string_view known) {
    return counts[i] == 1 && !values[i].empty() && values[i] != known;
  };
  if (differs(kSignatureVersion, kVersion)) return Rejection{RejectionReason::kUnsupportedSignatureVersion, ""};
  if (differs(kSignatureAlgorithm, kAlgorithm)) return Rejection{RejectionReason::kUnsupportedSignatureAlgorithm, ""};
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) return reject(RejectionReason::kMissingHeader, i);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (counts[i] > 1) return reject(RejectionReason::kDuplicateHeader, i);
  }
  SignedHeaders read;
  const std::optional<int64_t> timestamp_ms = ReadTimestamp(values[kTimestamp]);
  if (!timestamp_ms.has_value()) return reject(RejectionReason::kMalformedHeader, kTimestamp);
  if (!ReadSignature(values[kSignature], read.signature)) return reject(RejectionReason::kMalformedHeader, kSignature);
  for (const Signed id : {kEventId, kKeyId}) {
    if (!IsIdentifier(values[id])) return reject(RejectionReason::kUnsupportedIdentifier, id);
  }
  read.timestamp = std::string(values[kTimestamp]);
  read.timestamp_ms = *timestamp_ms;
  read.event_id = std::string(values[kEventId]);
  read.key_id = std::string(values[kKeyId]);
  read.signature_algorithm = std::string(values[kSignatureAlgorithm]);
  read.signature_version = std::string(values[kSignatureVersion]);
  return read;
}

std::vector<HeaderField> KeepOperatorHeaders(std::vector<HeaderField> headers, absl::string_view operator_name) {
  const std::string prefix = Prefix(operator_name);
  const auto size_of = [](const HeaderField& header) { return header.name.size() + header.value.size(); };
  // Counts the signed headers first, so that other headers cannot displace them. The signed headers always fit, because
  // each occurs once and its form limits its length.
  size_t count = 0;
  size_t bytes = 0;
  for (const HeaderField& header : headers) {
    if (!IsSigned(header.name, prefix)) continue;
    ++count;
    bytes += size_of(header);
  }
  std::vector<HeaderField> kept;
  for (HeaderField& header : headers) {
    if (!IsSigned(header.name, prefix)) {
      if (!absl::StartsWithIgnoreCase(header.name, prefix) || !IsVisible(header.name) ||
          !IsVisibleOrSpace(header.value) || count >= kMaxKeptHeaders ||
          bytes + size_of(header) > kMaxKeptHeaderBytes) {
        continue;
      }
      ++count;
      bytes += size_of(header);
    }
    kept.push_back(std::move(header));
  }
  return kept;
}

std::string SignedTimestampOf(const std::vector<HeaderField>& kept, absl::string_view operator_name,
                              int64_t timestamp_ms) {
  const std::string name = absl::StrCat(Prefix(operator_name), "timestamp");
  for (const HeaderField& header : kept) {
    if (absl::EqualsIgnoreCase(header.name, name) && ReadTimestamp(header.value) == timestamp_ms) return header.value;
  }
  return absl::StrCat(timestamp_ms);
}

}  // namespace stampgate
