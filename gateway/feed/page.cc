#include "gateway/feed/page.h"

#include <vector>

#include "stampgate/v1/event_service.pb.h"
#include "webhooks/log/cursor.h"

namespace stampgate {

// Every response contains its events in field 1. SubscribeResponse and ListEventsResponse have the cursor in the same
// field.
static_assert(+v1::SubscribeResponse::kEventsFieldNumber == +v1::ListEventsResponse::kEventsFieldNumber);
static_assert(+v1::SubscribeResponse::kCursorFieldNumber == +v1::ListEventsResponse::kCursorFieldNumber);
static_assert(+v1::SubscribeResponse::kEventsFieldNumber == +v1::GetEventResponse::kEventFieldNumber);

bool AddToPage(const std::shared_ptr<const EncodedEvent>& event, const EventFilter& filter, const PageLimits& limits,
               size_t& bytes, EventPage& page) {
  if (filter.Matches(event->organization_id, event->parent_organization_id, event->type)) {
    const bool full = page.events.size() >= limits.max_events || bytes + event->field.size() > limits.max_bytes;
    if (full && !page.events.empty()) return false;
    bytes += event->field.size();
    page.events.push_back(event);
  }
  page.through = {event->position, event->digest};
  return true;
}

grpc::ByteBuffer EncodePage(const LogIdentity& log, const EventPage& page, bool at_end) {
  v1::ListEventsResponse rest;
  rest.set_cursor(EncodeCursor(log, page.through));
  rest.set_at_end(at_end);
  std::vector<grpc::Slice> slices;
  slices.reserve(page.events.size() + 1);
  for (const auto& event : page.events) slices.push_back(event->field);
  slices.emplace_back(rest.SerializeAsString());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace stampgate
