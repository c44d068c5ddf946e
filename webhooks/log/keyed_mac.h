// The MAC and the mask of the opaque texts that the gateway gives to callers, such as cursors.
#ifndef STAMPGATE_WEBHOOKS_LOG_KEYED_MAC_H_
#define STAMPGATE_WEBHOOKS_LOG_KEYED_MAC_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace stampgate {

using MacKey = std::array<uint8_t, 32>;
using FullMac = std::array<uint8_t, 32>;

// An opaque text has this many bytes of a MAC: half of it, because 128 bits are enough against guessing.
inline constexpr size_t kMacBytes = 16;

// Returns the HMAC-SHA-256 of `bytes`.
FullMac MacOf(const MacKey& key, absl::string_view bytes);

// Hides the `size` bytes at `hidden`, at most 32, or reveals them if they are hidden. The mask depends on the kMacBytes
// bytes at `mac`, the MAC of the text before it is hidden. So two texts have the same mask only if they are equal. No
// text of which a MAC is made with this key begins with the byte 0xff.
void Mask(const MacKey& key, const uint8_t* mac, uint8_t* hidden, size_t size);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_KEYED_MAC_H_
