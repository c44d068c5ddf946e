#include "gateway/events/request.h"

#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/calls/request_message.h"
#include "gateway/feed/error.h"
#include "translate/error.h"
#include "translate/validator.h"

namespace stampgate {
namespace {

using absl::StatusCode;

constexpr size_t kMaxConditions = 1000;

// How often a cursor's event is searched because the log has moved to another server.
constexpr int kTries = 3;

absl::Time TimeOf(const Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds) + absl::Nanoseconds(timestamp.nanos);
}

absl::StatusOr<LogPoint> LocateOnce(const EventStart& start, EventReader& reader) {
  if (const auto* time = std::get_if<absl::Time>(&start)) {
    ABSL_ASSIGN_OR_RETURN(const Position position, reader.PositionBefore(*time));
    return PointAt(reader, position);
  }
  ABSL_ASSIGN_OR_RETURN(const LogExtent extent, reader.Extent());
  if (const auto* end = std::get_if<LogEnd>(&start)) {
    return PointAt(reader, *end == LogEnd::kLatest ? extent.latest : extent.earliest - 1);
  }
  const Cursor cursor = std::get<Cursor>(start);
  if (cursor.position < extent.earliest - 1) return absl::OutOfRangeError("trimmed");
  if (cursor.position > extent.latest) {
    return NotOfThisHistory("the cursor is ahead of the event log: the log was restored to an earlier state");
  }
  const absl::StatusOr<ChainDigest> there = reader.DigestAt(cursor.position);
  // A cursor at a damaged event is valid: the subscriber continues after the damaged event. If the log no longer has
  // the event, the cursor is an error.
  if (absl::IsDataLoss(there.status()) && !reader.Lost().gone) return LogPoint{cursor.position, {}};
  if (!there.ok()) return there.status();
  if (cursor.Fits(*there)) return LogPoint{cursor.position, *there};
  return NotOfThisHistory(
      "the event log has another event at the cursor's position: the log was restored to an earlier state");
}

}  // namespace

absl::Status EventRequest::Read(const EventEnvironment& environment, const grpc::ByteBuffer& bytes,
                                const MessagePlan& plan) {
  ABSL_ASSIGN_OR_RETURN(const ParsedMessage parsed, ParseRequest(bytes, plan, bytes_, memory_));
  message_ = parsed;
  Violations violations;
  Validate(parsed, violations);
  if (!violations.empty()) return ViolationError(std::move(violations));
  if (environment.log != nullptr) return absl::OkStatus();
  if (environment.is_configured) return LogUnavailable();
  return ToStatus(GatewayError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_EVENTS_NOT_CONFIGURED,
                               "this gateway has no event log"));
}

absl::StatusOr<Cursor> ReadCursor(const LogIdentity& log, absl::string_view text) {
  absl::StatusOr<Cursor> cursor = DecodeCursor(log, text);
  if (cursor.ok()) return cursor;
  if (absl::IsFailedPrecondition(cursor.status())) {
    return ToStatus(GatewayError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_CURSOR_OF_ANOTHER_LOG,
                                 "the cursor belongs to another event log"));
  }
  return ToStatus(GatewayError(StatusCode::kInvalidArgument, v1::ERROR_REASON_CURSOR_INVALID,
                               "the gateway did not make this cursor"));
}

absl::StatusOr<EventStart> StartOf(const LogIdentity& log, const PlaceFields& fields, const ParsedMessage& request) {
  if (request.Has(*fields.cursor)) {
    ABSL_ASSIGN_OR_RETURN(Cursor cursor, ReadCursor(log, request.Text(*fields.cursor)));
    return EventStart(cursor);
  }
  if (request.Has(*fields.time)) {
    return EventStart(TimeOf(TimestampIn(request.Values(*fields.time).front().message())));
  }
  if (request.Has(*fields.end)) {
    return EventStart(request.Number(*fields.end) == fields.latest ? LogEnd::kLatest : LogEnd::kEarliest);
  }
  Violations violations;
  violations.Add([&fields] {
    return Violation{std::string(fields.cursor->field->containing_oneof()->name()), "is required: cursor, time or end"};
  });
  return ViolationError(std::move(violations));
}

EventName NameOf(const NameFields& fields, const ParsedMessage& request) {
  EventName name{std::string(request.Text(*fields.event_id)), std::nullopt};
  if (request.Has(*fields.organization_id)) name.organization_id = std::string(request.Text(*fields.organization_id));
  return name;
}

absl::StatusOr<LogPoint> Locate(const EventStart& start, EventReader& reader) {
  for (int i = 0; i < kTries; ++i) {
    absl::StatusOr<LogPoint> point = LocateOnce(start, reader);
    if (!absl::IsDataLoss(point.status())) return point;
    // The log can have moved to another server, which has the cursor's event.
    const absl::Status status = reader.Confirm();
    if (status.ok()) return point;
    if (!absl::IsAborted(status)) return status;
  }
  return absl::UnavailableError("the log moves from server to server");
}

absl::StatusOr<std::shared_ptr<const EventFilter>> FilterOf(const StartFields& fields, const ParsedMessage& request,
                                                            std::shared_ptr<const OrganizationTest> visible) {
  Violations violations;
  auto result = std::make_shared<EventFilter>();
  result->visible = std::move(visible);
  const absl::Span<const FieldValue> filter = request.Values(*fields.filter);
  if (filter.empty()) return result;
  const auto read = [&](const FieldPlan& field, auto& conditions) {
    const absl::Span<const FieldValue> values = filter.front().message().Values(field);
    if (values.size() > kMaxConditions) {
      violations.Add([&] {
        return Violation{absl::StrCat("filter.", field.field->name()),
                         absl::StrCat("must have no more than ", kMaxConditions)};
      });
      return;
    }
    for (const FieldValue& value : values) conditions.emplace(value.text());
  };
  read(*fields.organization_ids, result->organization_ids);
  read(*fields.types, result->types);
  if (!violations.empty()) return ViolationError(std::move(violations));
  return result;
}

}  // namespace stampgate
