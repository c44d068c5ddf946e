// Pages of events as messages, put together from events that are encoded already.
#ifndef STAMPGATE_GATEWAY_EVENTS_PAGE_H_
#define STAMPGATE_GATEWAY_EVENTS_PAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include "gateway/events/tail.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// A SubscribeResponse, or a ListEventsResponse whose at_end is false. Shares the events' bytes.
grpc::ByteBuffer EncodePage(const LogIdentity& log, const EventPage& page, bool at_end = false);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_PAGE_H_
