#include "webhooks/log/cursor.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "base/disk/big_endian.h"
#include "base/json/base64url.h"
#include "webhooks/log/keyed_mac.h"

namespace stampgate {
namespace {

constexpr uint8_t kVersion = 3;
constexpr size_t kNameAt = 1;
constexpr size_t kNameBytes = 16;
constexpr size_t kPositionAt = kNameAt + kNameBytes;
constexpr size_t kDigestAt = kPositionAt + 8;
constexpr size_t kDigestBytes = 16;
constexpr size_t kCursorBytes = kDigestAt + kDigestBytes + kMacBytes;

// A cursor of version 2 has its position and digest in plain bytes. A cursor of version 1 has no digest.
constexpr uint8_t kVersion2 = 2;
constexpr uint8_t kVersion1 = 1;
constexpr size_t kCursorBytes1 = kDigestAt + kMacBytes;

constexpr size_t TextBytes(size_t bytes) { return (bytes * 8 + 5) / 6; }

using CursorBytes = std::array<uint8_t, kCursorBytes>;
absl::string_view Text(const uint8_t* bytes, size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }

// Returns a name that depends on the event log's id and its cursor key, so that cursors of another log or of an older
// key are recognized. The name does not reveal the key.
FullMac NameOf(const LogIdentity& log) { return MacOf(log.cursor_key, Text(log.id.data(), log.id.size())); }

// Hides the position and the digest, or reveals them if they are hidden. A subscriber must not learn from its cursors
// how many events other organizations have. No cursor begins with the byte with which a mask is made.
void MaskPoint(const LogIdentity& log, const uint8_t* mac, CursorBytes& cursor) {
  Mask(log.cursor_key, mac, cursor.data() + kPositionAt, 8 + kDigestBytes);
}

}  // namespace

std::string EncodeCursor(const LogIdentity& log, const LogPoint& point) {
  CursorBytes cursor;
  cursor[0] = kVersion;
  const FullMac name = NameOf(log);
  std::copy_n(name.begin(), kNameBytes, cursor.begin() + kNameAt);
  const std::array<char, 8> position = ToBigEndian(static_cast<uint64_t>(point.position));
  std::copy(position.begin(), position.end(), cursor.begin() + kPositionAt);
  std::copy_n(point.digest.begin(), kDigestBytes, cursor.begin() + kDigestAt);
  constexpr size_t kMacAt = kCursorBytes - kMacBytes;
  const FullMac mac = MacOf(log.cursor_key, Text(cursor.data(), kMacAt));
  std::copy_n(mac.begin(), kMacBytes, cursor.begin() + kMacAt);
  MaskPoint(log, mac.data(), cursor);
  return absl::WebSafeBase64Escape(Text(cursor.data(), cursor.size()));
}

bool Cursor::Fits(const ChainDigest& there) const {
  return !digest || std::equal(digest->begin(), digest->end(), there.begin());
}

absl::StatusOr<Cursor> DecodeCursor(const LogIdentity& log, absl::string_view cursor) {
  const bool is_version1 = cursor.size() == TextBytes(kCursorBytes1);
  const size_t expected = is_version1 ? kCursorBytes1 : kCursorBytes;
  if (cursor.size() != TextBytes(expected)) return absl::InvalidArgumentError("this is not a cursor");
  const std::optional<std::string> text = DecodeBase64Url(cursor);
  CursorBytes bytes = {};
  if (text.has_value()) std::copy(text->begin(), text->end(), bytes.begin());
  const bool has_version = is_version1 ? bytes[0] == kVersion1 : bytes[0] == kVersion || bytes[0] == kVersion2;
  if (!text.has_value() || !has_version) {
    return absl::InvalidArgumentError("this is not a cursor");
  }
  // Compares the name before the MAC, because the MAC of another event log's cursor cannot be verified.
  const FullMac name = NameOf(log);
  if (!std::equal(name.begin(), name.begin() + kNameBytes, bytes.begin() + kNameAt)) {
    return absl::FailedPreconditionError("this cursor belongs to another event log");
  }
  const size_t mac_at = expected - kMacBytes;
  if (bytes[0] == kVersion) MaskPoint(log, bytes.data() + mac_at, bytes);
  const FullMac mac = MacOf(log.cursor_key, Text(bytes.data(), mac_at));
  if (sodium_memcmp(mac.data(), bytes.data() + mac_at, kMacBytes) != 0) {
    return absl::InvalidArgumentError("this cursor has been altered");
  }
  Cursor decoded;
  decoded.position = static_cast<Position>(FromBigEndian(reinterpret_cast<const char*>(bytes.data()) + kPositionAt));
  if (decoded.position < 0) return absl::InvalidArgumentError("this cursor has a negative position");
  std::array<uint8_t, kDigestBytes> digest = {};
  if (!is_version1) std::copy_n(bytes.begin() + kDigestAt, kDigestBytes, digest.begin());
  if (digest != std::array<uint8_t, kDigestBytes>{}) decoded.digest = digest;
  return decoded;
}

}  // namespace stampgate
