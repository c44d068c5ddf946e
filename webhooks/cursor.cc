#include "webhooks/cursor.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "webhooks/big_endian.h"

namespace stampgate {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kNameAt = 1;
constexpr size_t kNameBytes = 16;
constexpr size_t kPositionAt = kNameAt + kNameBytes;
constexpr size_t kMacAt = kPositionAt + 8;
constexpr size_t kMacBytes = 16;  // half of SHA-256: no one guesses 128 bits
constexpr size_t kCursorBytes = kMacAt + kMacBytes;
constexpr int kBase64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
constexpr size_t kTextBytes = (kCursorBytes * 8 + 5) / 6;

using CursorBytes = std::array<uint8_t, kCursorBytes>;
using Mac = std::array<uint8_t, crypto_auth_hmacsha256_BYTES>;

Mac MacOf(const LogIdentity& log, const uint8_t* bytes, size_t size) {
  static_assert(std::tuple_size_v<decltype(log.cursor_key)> == crypto_auth_hmacsha256_KEYBYTES);
  Mac mac;
  crypto_auth_hmacsha256(mac.data(), bytes, size, log.cursor_key.data());
  return mac;
}

Mac MacOf(const LogIdentity& log, const CursorBytes& cursor) { return MacOf(log, cursor.data(), kMacAt); }

// What tells logs apart, and a log from what it was before its cursor key was changed. It tells nothing of the key.
Mac NameOf(const LogIdentity& log) { return MacOf(log, log.id.data(), log.id.size()); }

}  // namespace

std::string EncodeCursor(const LogIdentity& log, Position position) {
  CursorBytes cursor;
  cursor[0] = kVersion;
  const Mac name = NameOf(log);
  std::copy_n(name.begin(), kNameBytes, cursor.begin() + kNameAt);
  const std::array<char, 8> place = ToBigEndian(static_cast<uint64_t>(position));
  std::copy(place.begin(), place.end(), cursor.begin() + kPositionAt);
  const Mac mac = MacOf(log, cursor);
  std::copy_n(mac.begin(), kMacBytes, cursor.begin() + kMacAt);

  std::string text(kTextBytes + 1, '\0');  // libsodium writes a NUL behind it
  sodium_bin2base64(text.data(), text.size(), cursor.data(), cursor.size(), kBase64);
  text.resize(kTextBytes);
  return text;
}

absl::StatusOr<Position> DecodeCursor(const LogIdentity& log, absl::string_view cursor) {
  CursorBytes bytes;
  size_t size = 0;
  // Strict: no other alphabet, no padding, and no bits in the last digit that mean nothing.
  if (cursor.size() != kTextBytes ||
      sodium_base642bin(bytes.data(), bytes.size(), cursor.data(), cursor.size(), nullptr, &size, nullptr, kBase64) !=
          0 ||
      size != bytes.size() || bytes[0] != kVersion) {
    return absl::InvalidArgumentError("this is not a cursor");
  }
  // First, because the MAC of another log's cursor cannot be checked.
  const Mac name = NameOf(log);
  if (!std::equal(name.begin(), name.begin() + kNameBytes, bytes.begin() + kNameAt)) {
    return absl::FailedPreconditionError("this cursor belongs to another event log");
  }
  const Mac mac = MacOf(log, bytes);
  if (sodium_memcmp(mac.data(), bytes.data() + kMacAt, kMacBytes) != 0) {
    return absl::InvalidArgumentError("this cursor was changed");
  }
  const auto position = static_cast<Position>(FromBigEndian(reinterpret_cast<const char*>(bytes.data()) + kPositionAt));
  if (position < 0) return absl::InvalidArgumentError("this cursor has a negative position");
  return position;
}

}  // namespace stampgate
