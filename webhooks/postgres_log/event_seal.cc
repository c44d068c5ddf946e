#include "webhooks/postgres_log/event_seal.h"

#include <sodium.h>

#include "webhooks/log/state.h"

namespace stampgate {
namespace {

// No input of the cursors' HMAC, which has the same key, has this length and this first byte: see cursor.cc.
constexpr absl::string_view kPurpose = "stampgate: seals of events";

const uint8_t* Data(absl::string_view bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

}  // namespace

EventSeals::EventSeals(const LogIdentity& log) : log_id_(log.id) {
  static_assert(sizeof(Bytes) == crypto_auth_hmacsha256_BYTES);
  static_assert(std::tuple_size_v<decltype(log.cursor_key)> == crypto_auth_hmacsha256_KEYBYTES);
  crypto_auth_hmacsha256(key_.data(), Data(kPurpose), kPurpose.size(), log.cursor_key.data());
}

std::string EventSeals::Make(absl::string_view content) const {
  const Bytes seal = SealOf(content);
  return std::string(reinterpret_cast<const char*>(seal.data()), seal.size());
}

bool EventSeals::IsValid(absl::string_view seal, absl::string_view content) const {
  const Bytes expected = SealOf(content);
  return seal.size() == expected.size() && sodium_memcmp(seal.data(), expected.data(), expected.size()) == 0;
}

EventSeals::Bytes EventSeals::SealOf(absl::string_view content) const {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key_.data(), key_.size());
  crypto_auth_hmacsha256_update(&state, log_id_.data(), log_id_.size());
  crypto_auth_hmacsha256_update(&state, Data(content), content.size());
  Bytes seal;
  crypto_auth_hmacsha256_final(&state, seal.data());
  return seal;
}

}  // namespace stampgate
