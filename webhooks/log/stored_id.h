// The id of a stored event, by which the event log recognizes a repetition of this event.
#ifndef STAMPGATE_WEBHOOKS_LOG_STORED_ID_H_
#define STAMPGATE_WEBHOOKS_LOG_STORED_ID_H_

#include <cstdint>
#include <string>

#include "webhooks/log/event_log.h"
#include "webhooks/log/row.h"

namespace stampgate {

struct StoredId {
  std::string event_id;
  std::string scope;  // see IdScopeOf
  Position position = 0;
  Digest body_sha256 = {};
  int64_t age_us = 0;  // when the event was stored, by the log's AgeClock
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_STORED_ID_H_
