// Seals of rows on a PostgreSQL server: only gateways, which have the key of the store, can make them.
//
// The server computes checksums and chains itself, so anybody who has a role on the server could compute them too. A
// seal shows that a gateway has stored the row.
#ifndef STAMPGATE_BASE_POSTGRES_SEALS_H_
#define STAMPGATE_BASE_POSTGRES_SEALS_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Makes and checks seals for one purpose. A seal is an HMAC-SHA-256 of the SHA-256 of the content, under a key that is
// derived from `key`, which has 32 bytes, and from the purpose. Thread-safe.
class Seals {
 public:
  Seals(const uint8_t* key, absl::string_view purpose);

  std::string Make(absl::string_view content) const;
  bool IsValid(absl::string_view seal, absl::string_view content) const;

 private:
  std::array<uint8_t, 32> key_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_SEALS_H_
