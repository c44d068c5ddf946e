// Seals of events: only gateways, which have the key of the store, can make them.
//
// The server of a shared log computes the checksums and the chain of the events, so anybody who has a role on the
// server could compute them too. The seal shows that a gateway has stored the event, which it does only after it has
// verified upstream's signature.
#ifndef STAMPGATE_WEBHOOKS_POSTGRES_LOG_EVENT_SEAL_H_
#define STAMPGATE_WEBHOOKS_POSTGRES_LOG_EVENT_SEAL_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Makes and checks the seals of one log. A seal is an HMAC-SHA-256 over the log's id and the content of the event,
// which has the id and the scope of the event, upstream's signature and the SHA-256 of the body: see EncodeContent in
// row.h. Its key is derived from the log's cursor key. The seal does not cover the place of the event, which the server
// chooses. Thread-safe.
class EventSeals {
 public:
  explicit EventSeals(const LogIdentity& log);

  std::string Make(absl::string_view content) const;
  bool IsValid(absl::string_view seal, absl::string_view content) const;

 private:
  using Bytes = std::array<uint8_t, 32>;

  Bytes SealOf(absl::string_view content) const;

  const std::array<uint8_t, 16> log_id_;
  Bytes key_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_POSTGRES_LOG_EVENT_SEAL_H_
