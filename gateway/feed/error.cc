#include "gateway/feed/error.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "webhooks/log/cursor.h"

namespace stampgate {

using absl::StatusCode;

absl::Status ToCallerError(const absl::Status& status, EventReader& reader, const LogIdentity& log) {
  if (IsGatewayError(status)) return status;
  if (status.code() == StatusCode::kOutOfRange) {
    if (const absl::StatusOr<LogExtent> extent = reader.Extent(); extent.ok()) {
      Error error = GatewayError(StatusCode::kOutOfRange, v1::ERROR_REASON_EVENTS_TRIMMED,
                                 "retention has deleted the next events");
      error.metadata.emplace_back("earliest_cursor", EncodeCursor(log, PointAt(reader, extent->earliest - 1)));
      return ToStatus(error);
    }
  }
  if (status.code() == StatusCode::kFailedPrecondition) return NotOfThisHistory(status.message());
  if (status.code() == StatusCode::kDataLoss) {
    const LostEvents lost = reader.Lost();
    Error error = lost.gone
                      ? GatewayError(StatusCode::kDataLoss, v1::ERROR_REASON_EVENTS_LOST,
                                     absl::StrCat("the gateway's disk has lost the next ", lost.last - lost.first + 1,
                                                  " events, ", lost.first, " to ", lost.last))
                      : GatewayError(StatusCode::kDataLoss, v1::ERROR_REASON_EVENT_DAMAGED,
                                     "the next event is damaged on the gateway's disk");
    error.metadata.emplace_back("next_cursor", EncodeCursor(log, PointAt(reader, lost.last)));
    return ToStatus(error);
  }
  return LogUnavailable();
}

absl::Status LogUnavailable() {
  Error error = GatewayError(StatusCode::kUnavailable, v1::ERROR_REASON_EVENT_LOG_UNAVAILABLE,
                             "the gateway cannot read the event log now");
  error.retry_delay = absl::Seconds(1);
  return ToStatus(error);
}

LogPoint PointAt(EventReader& reader, Position position) {
  const absl::StatusOr<ChainDigest> digest = reader.DigestAt(position);
  return {position, digest.ok() ? *digest : ChainDigest{}};
}

absl::Status NotOfThisHistory(absl::string_view why) {
  return ToStatus(GatewayError(StatusCode::kDataLoss, v1::ERROR_REASON_CURSOR_AHEAD_OF_LOG, std::string(why)));
}

absl::Status EventNotFound() {
  return ToStatus(GatewayError(StatusCode::kNotFound, v1::ERROR_REASON_EVENT_NOT_FOUND,
                               "the event log has no event with this event_id, or retention has deleted it"));
}

Error TokenExpired() {
  Error error =
      GatewayError(StatusCode::kUnavailable, v1::ERROR_REASON_TOKEN_EXPIRED, "the token of this call has expired");
  error.retry_delay = absl::Milliseconds(100);
  return error;
}

}  // namespace stampgate
