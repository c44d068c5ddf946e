#include "gateway/events/request.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/calls/request_message.h"
#include "gateway/feed/error.h"
#include "stampgate/v1/event_service.pb.h"
#include "translate/error.h"
#include "translate/validator.h"

namespace stampgate {
namespace {

using absl::StatusCode;

constexpr int kMaxConditions = 1000;

absl::StatusOr<Cursor> ReadCursor(const LogIdentity& log, const std::string& text) {
  absl::StatusOr<Cursor> cursor = DecodeCursor(log, text);
  if (cursor.ok()) return cursor;
  if (absl::IsFailedPrecondition(cursor.status())) {
    return ToStatus(GatewayError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_CURSOR_OF_ANOTHER_LOG,
                                 "the cursor belongs to another event log"));
  }
  return ToStatus(GatewayError(StatusCode::kInvalidArgument, v1::ERROR_REASON_CURSOR_INVALID,
                               "the gateway did not make this cursor"));
}

absl::Time TimeOf(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

}  // namespace

absl::Status ReadEventRequest(const EventEnvironment& environment, const grpc::ByteBuffer& bytes,
                              google::protobuf::Message& request) {
  if (absl::Status status = DecodeRequest(bytes, request); !status.ok()) return status;
  grpc::Slice joined;
  google::protobuf::Arena arena;
  const MessagePlan& plan = *environment.plans.Find(request.GetDescriptor());
  const absl::StatusOr<ParsedMessage> parsed = ParseRequest(bytes, plan, joined, arena);
  if (!parsed.ok()) return parsed.status();
  Violations violations;
  Validate(*parsed, violations);
  if (!violations.empty()) return ViolationError(std::move(violations));
  if (environment.source != nullptr) return absl::OkStatus();
  if (environment.is_configured) return LogUnavailable();
  return ToStatus(GatewayError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_EVENTS_NOT_CONFIGURED,
                               "this gateway has no event log"));
}

template <typename Request>
absl::StatusOr<EventStart> StartOf(const LogIdentity& log, const Request& request) {
  switch (request.start_case()) {
    case Request::kCursor: {
      absl::StatusOr<Cursor> cursor = ReadCursor(log, request.cursor());
      if (!cursor.ok()) return cursor.status();
      return EventStart(*cursor);
    }
    case Request::kTime:
      return EventStart(TimeOf(request.time()));
    case Request::kEnd:
      return EventStart(request.end());
    case Request::START_NOT_SET:
      break;
  }
  Violations violations;
  violations.Add([] { return Violation{"start", "is required: cursor, time or end"}; });
  return ViolationError(std::move(violations));
}

template absl::StatusOr<EventStart> StartOf(const LogIdentity&, const v1::SubscribeRequest&);
template absl::StatusOr<EventStart> StartOf(const LogIdentity&, const v1::ListEventsRequest&);

absl::StatusOr<EventPlace> Locate(const EventStart& start, EventReader& reader) {
  if (const auto* time = std::get_if<absl::Time>(&start)) {
    const absl::StatusOr<Position> position = reader.PlaceOf(*time);
    if (!position.ok()) return position.status();
    return PlaceAt(reader, *position);
  }
  const absl::StatusOr<LogExtent> extent = reader.Extent();
  if (!extent.ok()) return extent.status();
  if (const auto* end = std::get_if<v1::LogEnd>(&start)) {
    return PlaceAt(reader, *end == v1::LOG_END_LATEST ? extent->latest : extent->earliest - 1);
  }
  const Cursor cursor = std::get<Cursor>(start);
  if (cursor.position < extent->earliest - 1) return absl::OutOfRangeError("trimmed");
  if (cursor.position > extent->latest) {
    return NotOfThisHistory("the cursor is ahead of the event log: the log was restored to an earlier state");
  }
  const absl::StatusOr<ChainDigest> there = reader.DigestAt(cursor.position);
  // A cursor at a damaged event is valid: the subscriber continues after the damaged event. If the log no longer has
  // the event, the cursor is an error.
  if (absl::IsDataLoss(there.status()) && !reader.Lost().gone) return EventPlace{cursor.position, {}};
  if (!there.ok()) return there.status();
  if (cursor.Fits(*there)) return EventPlace{cursor.position, *there};
  return NotOfThisHistory(
      "the event log has another event at the cursor's place: the log was restored to an earlier state");
}

absl::StatusOr<std::shared_ptr<const EventFilter>> FilterOf(const v1::EventFilter& filter,
                                                            std::shared_ptr<const OrganizationIds> visible) {
  Violations violations;
  const auto check = [&](int count, const char* field) {
    if (count <= kMaxConditions) return;
    violations.Add([&] {
      return Violation{absl::StrCat("filter.", field), absl::StrCat("must have no more than ", kMaxConditions)};
    });
  };
  check(filter.organization_ids_size(), "organization_ids");
  check(filter.types_size(), "types");
  if (!violations.empty()) return ViolationError(std::move(violations));
  auto result = std::make_shared<EventFilter>();
  result->organization_ids.insert(filter.organization_ids().begin(), filter.organization_ids().end());
  result->types.insert(filter.types().begin(), filter.types().end());
  result->visible = std::move(visible);
  return std::shared_ptr<const EventFilter>(std::move(result));
}

}  // namespace stampgate
