#include "gateway/subscriptions/calls/parked_calls.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "gateway/events/request.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/error.h"
#include "gateway/subscriptions/calls/encoding.h"
#include "gateway/subscriptions/calls/method.h"
#include "gateway/subscriptions/calls/unary_call.h"
#include "translate/wire/writer.h"
#include "webhooks/log/cursor.h"

namespace stampgate {
namespace {

constexpr size_t kDefaultPageSize = 100;

// Returns the event at `position` as the field of a response, or nothing if the caller may not see it: the subscription
// can have parked an event of an organization that it no longer has. If the log does not have the event any more, or
// cannot read it, the field has only a cursor, with which the caller can name the event. Errors: those of the log, if
// it cannot be read at all.
absl::StatusOr<std::optional<grpc::Slice>> ReadEvent(const UnaryCall& call, Position position, EventReader& reader) {
  const EventEncoder& encoder = *call.log().encoder;
  absl::StatusOr<EventReader::Batch> batch =
      reader.Read({position - 1, {}}, call.access().Filter(), {.max_events = 1, .max_looked_at = 1});
  if (absl::IsDataLoss(batch.status()) || absl::IsOutOfRange(batch.status())) {
    WireWriter out;
    const WireWriter::Mark mark = out.Begin(encoder.fields().response.events);
    out.String(encoder.fields().cursor, EncodeCursor(call.log().identity, PointAt(reader, position)));
    out.End(mark);
    return grpc::Slice(out.Take());
  }
  if (!batch.ok()) return ToCallerError(batch.status(), reader, call.log().identity);
  if (batch->events.empty()) return std::nullopt;
  return encoder.Encode(std::move(batch->events.front())).field;
}

std::string EncodeParked(const UnaryCall& call, const SharedSubscription::Parked& parked) {
  const SubscriptionResponses::ParkedEvent& fields = call.environment().messages.responses().parked_event;
  WireWriter out;
  out.Varint(fields.delivery_count, static_cast<uint64_t>(parked.deliveries));
  out.String(fields.reason, parked.reason);
  WriteTime(call.log().encoder->fields(), fields.park_time, parked.time, out);
  return out.Take();
}

// Returns a serialized ListParkedResponse with at most `page_size` of the parked events after `after`.
absl::StatusOr<grpc::ByteBuffer> EncodePage(const UnaryCall& call, Position after, size_t page_size,
                                            EventReader& reader) {
  const SubscriptionResponses::ListParked& fields = call.environment().messages.responses().list_parked;
  ABSL_ASSIGN_OR_RETURN(std::vector<ServedSubscription::ParkedEvent> parked,
                        call.subscription().Parked(after, page_size + 1));
  bool at_end = parked.size() <= page_size;
  if (!at_end) parked.pop_back();
  std::vector<grpc::Slice> slices;
  size_t bytes = 0;
  for (const ServedSubscription::ParkedEvent& each : parked) {
    const absl::StatusOr<std::optional<grpc::Slice>> event = ReadEvent(call, each.position, reader);
    if (!event.ok()) return event.status();
    if (event->has_value()) {
      const std::string rest = EncodeParked(call, each.parked);
      if (bytes > 0 && bytes + (*event)->size() + rest.size() + kMessageOverheadBytes > kMaxEventMessageBytes) {
        at_end = false;
        break;
      }
      bytes += AppendWithEvent(fields.parked_events, **event, rest, slices);
    }
    after = each.position;
  }
  WireWriter out;
  out.String(fields.cursor, EncodeCursor(call.log().identity, PointAt(reader, after)));
  if (at_end) out.Varint(fields.at_end, 1);
  slices.emplace_back(out.Take());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void ListPage(const std::shared_ptr<UnaryCall>& call) {
  const ListParkedFields& fields = call->environment().messages.list_parked();
  const ParsedMessage& request = call->request();
  Position after = 0;
  if (request.Has(*fields.cursor)) {
    const absl::StatusOr<Cursor> cursor = ReadCursor(call->log().identity, request.Text(*fields.cursor));
    if (!cursor.ok()) return call->End(cursor.status());
    after = cursor->position;
  }
  const size_t page_size = request.Has(*fields.page_size) ? request.Number(*fields.page_size) : kDefaultPageSize;
  if (absl::Status status = call->TakeQuery(); !status.ok()) return call->End(status);
  call->Run([call, after, page_size](EventReader& reader) { call->End(EncodePage(*call, after, page_size, reader)); });
}

void Change(const std::shared_ptr<UnaryCall>& call, const FieldPlan& field, ParkedChange change) {
  std::vector<Cursor> cursors;
  for (const FieldValue& value : call->request().Values(field)) {
    const absl::StatusOr<Cursor> cursor = ReadCursor(call->log().identity, value.text());
    if (!cursor.ok()) return call->End(cursor.status());
    cursors.push_back(*cursor);
  }
  call->Run([call, &field, change, cursors = std::move(cursors)](EventReader& reader) {
    std::vector<Position> positions;
    for (const Cursor& cursor : cursors) {
      // After a restore of the log, another event can be at the position: no event is parked at position 0.
      const absl::StatusOr<ChainDigest> digest = reader.DigestAt(cursor.position);
      positions.push_back(digest.ok() && !cursor.Fits(*digest) ? 0 : cursor.position);
    }
    call->subscription().ChangeParked(positions, change,
                                      [call, &field](const absl::StatusOr<std::vector<size_t>>& not_parked) {
                                        if (!not_parked.ok()) return call->End(not_parked.status());
                                        WireWriter out;
                                        for (const size_t index : *not_parked) {
                                          out.String(call->environment().messages.responses().not_parked_cursors,
                                                     call->request().Values(field)[index].text());
                                        }
                                        call->Respond(out.Take());
                                      });
  });
}

void Retry(const std::shared_ptr<UnaryCall>& call) {
  Change(call, *call->environment().messages.retry_parked().cursors, ParkedChange::kRetry);
}

void Skip(const std::shared_ptr<UnaryCall>& call) {
  Change(call, *call->environment().messages.skip_parked().cursors, ParkedChange::kSkip);
}

}  // namespace

void ListParked(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kListParked,
                    .request = environment.messages.list_parked(),
                    .recorded = UnaryCall::Recorded::kAsRead,
                    .step = ListPage});
}

void RetryParked(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                 const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kRetryParked,
                    .request = environment.messages.retry_parked(),
                    .recorded = UnaryCall::Recorded::kAsRead,
                    .step = Retry});
}

void SkipParked(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                const grpc::ByteBuffer& request, OnEventResponse on_response) {
  UnaryCall::Start(environment, std::move(identity), trace, request, std::move(on_response),
                   {.name = kSkipParked,
                    .request = environment.messages.skip_parked(),
                    .recorded = UnaryCall::Recorded::kAsChange,
                    .step = Skip});
}

}  // namespace stampgate
