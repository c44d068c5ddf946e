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

constexpr size_t kMaxTimestampDigits = 16;
constexpr int64_t kMaxTimestampMs =
    (int64_t{1} << 53) - 1;  // the largest exact integer in JavaScript, which upstream uses
constexpr size_t kMaxNameBytes = 64;

bool IsVisible(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

bool IsVisibleOrSpace(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

bool ReadTimestamp(absl::string_view value, SignedHeaders& headers) {
  headers.timestamp = std::string(value);
  return value.size() <= kMaxTimestampDigits &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }) &&
         absl::SimpleAtoi(value, &headers.timestamp_ms) && headers.timestamp_ms <= kMaxTimestampMs;
}

bool ReadEventId(absl::string_view value, SignedHeaders& headers) {
  headers.event_id = std::string(value);
  return IsEventId(value);
}

bool ReadKeyId(absl::string_view value, SignedHeaders& headers) {
  headers.key_id = std::string(value);
  return IsKeyId(value);
}

bool ReadAlgorithm(absl::string_view value, SignedHeaders& headers) {
  headers.signature_algorithm = std::string(value);
  return value.size() <= kMaxNameBytes && IsVisible(value);
}

bool ReadVersion(absl::string_view value, SignedHeaders& headers) {
  headers.signature_version = std::string(value);
  return value.size() <= kMaxNameBytes && IsVisible(value);
}

bool ReadSignature(absl::string_view value, SignedHeaders& headers) {
  size_t size = 0;
  // sodium_hex2bin fails if it cannot decode the whole value.
  return sodium_hex2bin(headers.signature.data(), headers.signature.size(), value.data(), value.size(), nullptr, &size,
                        nullptr) == 0 &&
         size == headers.signature.size();
}

struct SignedHeader {
  absl::string_view name;  // without "x-<operator>-"
  bool (*read)(absl::string_view value, SignedHeaders& headers);
};

constexpr SignedHeader kSignedHeaders[] = {
    {"timestamp", ReadTimestamp},           {"event-id", ReadEventId},          {"signature-key-id", ReadKeyId},
    {"signature-algorithm", ReadAlgorithm}, {"signature-version", ReadVersion}, {"signature", ReadSignature},
};

std::string Prefix(absl::string_view operator_name) {
  return absl::StrCat("x-", absl::AsciiStrToLower(operator_name), "-");
}

bool IsSigned(absl::string_view header_name, absl::string_view prefix) {
  return absl::StartsWithIgnoreCase(header_name, prefix) &&
         std::any_of(std::begin(kSignedHeaders), std::end(kSignedHeaders), [&](const SignedHeader& header) {
           return absl::EqualsIgnoreCase(header_name.substr(prefix.size()), header.name);
         });
}

}  // namespace

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
      if (!absl::EqualsIgnoreCase(name, kSignedHeaders[i].name)) continue;
      ++counts[i];
      if (!header.value.empty()) values[i] = header.value;
    }
  }
  auto reject = [&](RejectionReason reason, size_t i) {
    return Rejection{reason, absl::StrCat(prefix, kSignedHeaders[i].name)};
  };
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) return reject(RejectionReason::kMissingHeader, i);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (counts[i] > 1) return reject(RejectionReason::kDuplicateHeader, i);
  }
  SignedHeaders read;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!kSignedHeaders[i].read(values[i], read)) return reject(RejectionReason::kMalformedHeader, i);
  }
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
    SignedHeaders read;
    if (absl::EqualsIgnoreCase(header.name, name) && ReadTimestamp(header.value, read) &&
        read.timestamp_ms == timestamp_ms) {
      return header.value;
    }
  }
  return absl::StrCat(timestamp_ms);
}

}  // namespace stampgate
