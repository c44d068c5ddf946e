// Pages of events, and their messages, which are put together from events that are encoded already.
#ifndef STAMPGATE_GATEWAY_EVENTS_PAGE_H_
#define STAMPGATE_GATEWAY_EVENTS_PAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "gateway/events/encoder.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The events of one read that pass its filter.
struct EventPage {
  std::vector<std::shared_ptr<const EncodedEvent>> events;
  // The read looked at every event up to here.
  EventPlace through;
};

struct PageLimits {
  size_t max_events = 256;
  // The sum of the encoded events. A page may hold one event of any size.
  size_t max_bytes = 256 << 10;
};

// Adds `event` to `page` if it passes `filter`, and counts it as looked at. Returns false, and does nothing, if the
// page is full. `bytes` is the page's sum so far.
bool AddToPage(const std::shared_ptr<const EncodedEvent>& event, const EventFilter& filter, const PageLimits& limits,
               size_t& bytes, EventPage& page);

// A SubscribeResponse, or a ListEventsResponse whose at_end is false. Shares the events' bytes.
grpc::ByteBuffer EncodePage(const LogIdentity& log, const EventPage& page, bool at_end = false);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_PAGE_H_
