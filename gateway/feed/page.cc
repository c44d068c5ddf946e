#include "gateway/feed/page.h"

#include <vector>

#include "translate/wire/writer.h"
#include "webhooks/log/cursor.h"

namespace stampgate {

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

grpc::ByteBuffer EncodePage(const EventEncoder& encoder, const EventPage& page, bool at_end) {
  const EventFields::Response& fields = encoder.fields().response;
  WireWriter rest;
  rest.String(fields.cursor, EncodeCursor(encoder.log(), page.through));
  if (at_end) rest.Varint(fields.at_end, 1);
  std::vector<grpc::Slice> slices;
  slices.reserve(page.events.size() + 1);
  for (const auto& event : page.events) slices.push_back(event->field);
  slices.emplace_back(rest.Take());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace stampgate
