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

namespace stampgate {
namespace {

constexpr uint8_t kVersion = 3;
constexpr size_t kNameAt = 1;
constexpr size_t kNameBytes = 16;
constexpr size_t kPositionAt = kNameAt + kNameBytes;
constexpr size_t kDigestAt = kPositionAt + 8;
constexpr size_t kDigestBytes = 16;
constexpr size_t kMacBytes = 16;  // half of an HMAC-SHA-256, because 128 bits are enough against guessing
constexpr size_t kCursorBytes = kDigestAt + kDigestBytes + kMacBytes;

// A cursor of version 2 has its position and digest in plain bytes. A cursor of version 1 has no digest.
constexpr uint8_t kVersion2 = 2;
constexpr uint8_t kVersion1 = 1;
constexpr size_t kCursorBytes1 = kDigestAt + kMacBytes;

constexpr size_t TextBytes(size_t bytes) { return (bytes * 8 + 5) / 6; }

using CursorBytes = std::array<uint8_t, kCursorBytes>;
using Mac = std::array<uint8_t, crypto_auth_hmacsha256_BYTES>;

Mac MacOf(const LogIdentity& log, const uint8_t* bytes, size_t size) {
  static_assert(std::tuple_size_v<decltype(log.cursor_key)> == crypto_auth_hmacsha256_KEYBYTES);
  Mac mac;
  crypto_auth_hmacsha256(mac.data(), bytes, size, log.cursor_key.data());
  return mac;
}

// Returns a name that depends on the event log's id and its cursor key, so that cursors of another log or of an older
// key are recognized. The name does not reveal the key.
Mac NameOf(const LogIdentity& log) { return MacOf(log, log.id.data(), log.id.size()); }

// Hides the position and the digest, or reveals them if they are hidden. A subscriber must not learn from its cursors
// how many events other organizations have. The mask depends on the MAC, so two cursors have the same mask only if they
// are equal.
void Mask(const LogIdentity& log, const uint8_t* mac, uint8_t* position_and_digest) {
  std::array<uint8_t, 1 + kMacBytes> input = {0xff};  // no cursor begins with this byte
  std::copy_n(mac, kMacBytes, input.begin() + 1);
  const Mac mask = MacOf(log, input.data(), input.size());
  static_assert(8 + kDigestBytes <= std::tuple_size_v<Mac>);
  for (size_t i = 0; i < 8 + kDigestBytes; ++i) position_and_digest[i] ^= mask[i];
}

}  // namespace

std::string EncodeCursor(const LogIdentity& log, const LogPoint& point) {
  CursorBytes cursor;
  cursor[0] = kVersion;
  const Mac name = NameOf(log);
  std::copy_n(name.begin(), kNameBytes, cursor.begin() + kNameAt);
  const std::array<char, 8> position = ToBigEndian(static_cast<uint64_t>(point.position));
  std::copy(position.begin(), position.end(), cursor.begin() + kPositionAt);
  std::copy_n(point.digest.begin(), kDigestBytes, cursor.begin() + kDigestAt);
  constexpr size_t kMacAt = kCursorBytes - kMacBytes;
  const Mac mac = MacOf(log, cursor.data(), kMacAt);
  std::copy_n(mac.begin(), kMacBytes, cursor.begin() + kMacAt);
  Mask(log, mac.data(), cursor.data() + kPositionAt);
  return absl::WebSafeBase64Escape(absl::string_view(reinterpret_cast<const char*>(cursor.data()), cursor.size()));
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
  const Mac name = NameOf(log);
  if (!std::equal(name.begin(), name.begin() + kNameBytes, bytes.begin() + kNameAt)) {
    return absl::FailedPreconditionError("this cursor belongs to another event log");
  }
  const size_t mac_at = expected - kMacBytes;
  if (bytes[0] == kVersion) Mask(log, bytes.data() + mac_at, bytes.data() + kPositionAt);
  const Mac mac = MacOf(log, bytes.data(), mac_at);
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
