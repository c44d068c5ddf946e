// Pages of events, and the messages that are made from the encoded events of a page.
#ifndef STAMPGATE_GATEWAY_FEED_PAGE_H_
#define STAMPGATE_GATEWAY_FEED_PAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "gateway/feed/encoder.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The events that one read has found and that pass the filter of the read.
struct EventPage {
  std::vector<std::shared_ptr<const EncodedEvent>> events;
  // The point of the last event that the read compared with the filter, whether or not the event passed.
  LogPoint through;
};

struct PageLimits {
  size_t max_events = 256;
  // The limit for the total size of the encoded events. If the first event is larger, the page contains only this
  // event.
  size_t max_bytes = 256 << 10;
};

// Adds `event` to `page` if the event passes `filter`. Moves `page.through` to the event, whether it passes or not. If
// the event passes but does not fit into the page, does nothing and returns false. `bytes` is the total size of the
// events in the page; AddToPage updates it.
bool AddToPage(const std::shared_ptr<const EncodedEvent>& event, const EventFilter& filter, const PageLimits& limits,
               size_t& bytes, EventPage& page);

// Returns a serialized ListEventsResponse with `at_end`. If `at_end` is false, the bytes are also a valid
// SubscribeResponse. The result shares the bytes of the encoded events, which `encoder` has encoded.
grpc::ByteBuffer EncodePage(const EventEncoder& encoder, const EventPage& page, bool at_end = false);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_PAGE_H_
