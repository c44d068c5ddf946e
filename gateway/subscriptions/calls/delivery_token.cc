#include "gateway/subscriptions/calls/delivery_token.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/disk/big_endian.h"
#include "base/json/base64url.h"
#include "translate/error.h"

namespace stampgate {
namespace {

constexpr char kVersion = 1;
constexpr size_t kNameAt = 1;
constexpr size_t kNameBytes = 16;
constexpr size_t kHiddenAt = kNameAt + kNameBytes;
constexpr size_t kHiddenBytes = 1 + 3 * sizeof(int64_t);
constexpr size_t kMacAt = kHiddenAt + kHiddenBytes;
constexpr size_t kTokenBytes = kMacAt + kMacBytes;

// Cursors are made with the cursor key itself, so no token is ever a cursor.
MacKey KeyOf(const LogIdentity& log) { return MacOf(log.cursor_key, "stampgate delivery token"); }

absl::string_view Text(const FullMac& mac, size_t size) { return {reinterpret_cast<const char*>(mac.data()), size}; }

// Returns the version and the name. A name is the MAC of a text that begins with the byte 0, with which no token
// begins.
std::string BeginOf(const MacKey& key, const LogIdentity& log, absl::string_view subscription) {
  const absl::string_view id(reinterpret_cast<const char*>(log.id.data()), log.id.size());
  const FullMac name = MacOf(key, absl::StrCat(absl::string_view("\0", 1), id, subscription));
  return absl::StrCat(absl::string_view(&kVersion, 1), Text(name, kNameBytes));
}

void MaskHidden(const MacKey& key, std::string& token) {
  auto* const bytes = reinterpret_cast<uint8_t*>(token.data());
  Mask(key, bytes + kMacAt, bytes + kHiddenAt, kHiddenBytes);
}

}  // namespace

DeliveryTokens::DeliveryTokens(const LogIdentity& log, absl::string_view subscription)
    : key_(KeyOf(log)), begin_(BeginOf(key_, log, subscription)) {}

std::string DeliveryTokens::Encode(const DeliveryId& delivery) const {
  std::string token = begin_;
  token.push_back(static_cast<char>(delivery.partition));
  for (const int64_t number : {delivery.position, delivery.number, delivery.incarnation}) {
    const std::array<char, 8> bytes = ToBigEndian(static_cast<uint64_t>(number));
    token.append(bytes.data(), bytes.size());
  }
  absl::StrAppend(&token, Text(MacOf(key_, token), kMacBytes));
  MaskHidden(key_, token);
  return absl::WebSafeBase64Escape(token);
}

std::optional<DeliveryId> DeliveryTokens::Decode(absl::string_view token) const {
  std::optional<std::string> bytes = DecodeBase64Url(token);
  if (!bytes.has_value() || bytes->size() != kTokenBytes) return std::nullopt;
  if (bytes->compare(0, kHiddenAt, begin_) != 0) return std::nullopt;
  MaskHidden(key_, *bytes);
  const FullMac mac = MacOf(key_, absl::string_view(*bytes).substr(0, kMacAt));
  if (sodium_memcmp(mac.data(), bytes->data() + kMacAt, kMacBytes) != 0) return std::nullopt;
  const auto number = [&bytes](size_t index) {
    return static_cast<int64_t>(FromBigEndian(bytes->data() + kHiddenAt + 1 + 8 * index));
  };
  return DeliveryId{.partition = static_cast<unsigned char>((*bytes)[kHiddenAt]),
                    .position = number(0),
                    .number = number(1),
                    .incarnation = number(2)};
}

absl::StatusOr<std::vector<DeliveryId>> ReadDeliveryTokens(const LogIdentity& log, absl::string_view subscription,
                                                           const FieldPlan& field, const ParsedMessage& request) {
  const DeliveryTokens tokens(log, subscription);
  std::vector<DeliveryId> deliveries;
  for (const FieldValue& value : request.Values(field)) {
    const std::optional<DeliveryId> delivery = tokens.Decode(value.text());
    if (!delivery.has_value()) {
      return ToStatus(
          GatewayError(absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_DELIVERY_TOKEN_INVALID,
                       absl::StrCat(field.field->name(), "[", deliveries.size(), "] was not made for subscription ",
                                    subscription, " of this event log")));
    }
    deliveries.push_back(*delivery);
  }
  return deliveries;
}

}  // namespace stampgate
