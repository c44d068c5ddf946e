#include "gateway/subscriptions/holder_task.h"

#include <cstdint>

#include "gateway/subscriptions/holder_request.pb.h"

namespace stampgate {
namespace {

using subscriptions::SettleDeliveries;

// More than a call can have. Larger requests could make changes that the store refuses again and again.
constexpr int kMostEntries = 1000;
constexpr size_t kMaxReasonBytes = 4096;
constexpr absl::Duration kMaxDelay = absl::Hours(24);

SettleDeliveries::Outcome ToProto(SettleOutcome outcome) {
  switch (outcome) {
    case SettleOutcome::kDone:
      return SettleDeliveries::OUTCOME_DONE;
    case SettleOutcome::kRetry:
      return SettleDeliveries::OUTCOME_RETRY;
    case SettleOutcome::kPark:
      return SettleDeliveries::OUTCOME_PARK;
    case SettleOutcome::kExtend:
      return SettleDeliveries::OUTCOME_EXTEND;
  }
  return SettleDeliveries::OUTCOME_UNSPECIFIED;
}

std::optional<SettleOutcome> FromProto(SettleDeliveries::Outcome of_proto) {
  for (const SettleOutcome outcome :
       {SettleOutcome::kDone, SettleOutcome::kRetry, SettleOutcome::kPark, SettleOutcome::kExtend}) {
    if (ToProto(outcome) == of_proto) return outcome;
  }
  return std::nullopt;
}

std::optional<HolderTask> FromProto(const SettleDeliveries& of_proto, size_t partition) {
  const std::optional<SettleOutcome> outcome = FromProto(of_proto.outcome());
  if (!outcome.has_value() || of_proto.deliveries_size() > kMostEntries) return std::nullopt;
  if (of_proto.reason().size() > kMaxReasonBytes) return std::nullopt;
  if (of_proto.delay_us() < 0 || absl::Microseconds(of_proto.delay_us()) > kMaxDelay) return std::nullopt;
  SettleTask task = {{}, *outcome, absl::Microseconds(of_proto.delay_us()), of_proto.reason()};
  for (const SettleDeliveries::Delivery& delivery : of_proto.deliveries()) {
    task.deliveries.push_back({partition, delivery.position(), delivery.number(), delivery.incarnation()});
  }
  return task;
}

std::optional<HolderTask> FromProto(const subscriptions::Positions& positions, ParkedChange change) {
  if (positions.positions_size() > kMostEntries) return std::nullopt;
  return ParkedTask{{positions.positions().begin(), positions.positions().end()}, change};
}

}  // namespace

std::string EncodeTask(const HolderTask& task) {
  subscriptions::HolderRequest request;
  if (const auto* settle = std::get_if<SettleTask>(&task)) {
    SettleDeliveries& settles = *request.mutable_settle();
    settles.set_outcome(ToProto(settle->outcome));
    settles.set_delay_us(absl::ToInt64Microseconds(settle->delay));
    settles.set_reason(settle->reason);
    for (const DeliveryId& id : settle->deliveries) {
      SettleDeliveries::Delivery& delivery = *settles.add_deliveries();
      delivery.set_position(id.position);
      delivery.set_number(id.number);
      delivery.set_incarnation(id.incarnation);
    }
  } else if (const auto* parked = std::get_if<ParkedTask>(&task)) {
    subscriptions::Positions& positions =
        parked->change == ParkedChange::kRetry ? *request.mutable_retry_parked() : *request.mutable_skip_parked();
    positions.mutable_positions()->Assign(parked->positions.begin(), parked->positions.end());
  }
  return request.SerializeAsString();
}

std::optional<HolderTask> DecodeTask(absl::string_view request, size_t partition) {
  subscriptions::HolderRequest parsed;
  if (!parsed.ParseFromArray(request.data(), static_cast<int>(request.size()))) return std::nullopt;
  switch (parsed.kind_case()) {
    case subscriptions::HolderRequest::kSettle:
      return FromProto(parsed.settle(), partition);
    case subscriptions::HolderRequest::kRetryParked:
      return FromProto(parsed.retry_parked(), ParkedChange::kRetry);
    case subscriptions::HolderRequest::kSkipParked:
      return FromProto(parsed.skip_parked(), ParkedChange::kSkip);
    case subscriptions::HolderRequest::KIND_NOT_SET:
      break;
  }
  return std::nullopt;
}

std::string EncodeResult(const TaskResult& result) {
  subscriptions::HolderAnswer answer;
  answer.mutable_refused()->Assign(result.refused.begin(), result.refused.end());
  answer.set_too_many_parked(result.too_many_parked);
  answer.set_not_read_yet(result.not_read_yet);
  return answer.SerializeAsString();
}

std::string NotUnderstood() {
  subscriptions::HolderAnswer answer;
  answer.set_not_understood(true);
  return answer.SerializeAsString();
}

std::optional<TaskResult> DecodeResult(absl::string_view answer) {
  subscriptions::HolderAnswer parsed;
  if (!parsed.ParseFromArray(answer.data(), static_cast<int>(answer.size()))) return std::nullopt;
  if (parsed.not_understood()) return std::nullopt;
  return TaskResult{
      {parsed.refused().begin(), parsed.refused().end()}, parsed.too_many_parked(), parsed.not_read_yet()};
}

}  // namespace stampgate
