// The seals of the events of a log on a PostgreSQL server.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_EVENT_SEAL_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_EVENT_SEAL_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/postgres/seals.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/row.h"

namespace stampgate {

// A gateway seals an event after it has verified upstream's signature. The seal covers the log's id and the content of
// the event, which has the event's id and scope, the signature and the SHA-256 of the body: see EncodeContent. It does
// not cover the position of the event, which the server chooses. The key is derived from the log's cursor key.
// Thread-safe.
class EventSeals {
 public:
  explicit EventSeals(const LogIdentity& log);

  std::string Make(const EventRow& row) const;
  bool IsValid(absl::string_view seal, const EventRow& row) const;

 private:
  std::string Content(const EventRow& row) const;

  const std::string log_id_;
  const Seals seals_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_EVENT_SEAL_H_
