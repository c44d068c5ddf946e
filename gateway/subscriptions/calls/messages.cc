#include "gateway/subscriptions/calls/messages.h"

#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/events/field_finder.h"
#include "translate/wire/field_numbers.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

std::string Named(absl::string_view message, absl::string_view field) {
  return absl::StrCat("stampgate.v1.", message, ".", field);
}

// Finds the plan of a request, and the name of its subscription.
void FindRequest(const std::string& message, FieldFinder& finder, SubscriptionRequest& request) {
  request.plan = finder.Plan(message);
  request.subscription = finder.One(request.plan, "subscription", JsonForm::kString);
}

ParkedFields FindParked(const std::string& message, FieldFinder& finder) {
  ParkedFields fields;
  FindRequest(message, finder, fields);
  fields.cursors = finder.List(fields.plan, "cursors", JsonForm::kString);
  return fields;
}

std::map<uint64_t, SettleOutcome> FindOutcomes(FieldNumbers& numbers) {
  std::map<uint64_t, SettleOutcome> outcomes;
  for (const auto& [name, outcome] :
       {std::pair{"DONE", SettleOutcome::kDone}, std::pair{"RETRY", SettleOutcome::kRetry},
        std::pair{"PARK", SettleOutcome::kPark}, std::pair{"EXTEND", SettleOutcome::kExtend}}) {
    const int number = numbers.EnumValue(absl::StrCat("stampgate.v1.SETTLE_OUTCOME_", name));
    outcomes[static_cast<uint64_t>(number)] = outcome;
  }
  return outcomes;
}

std::map<DeliveryReason, uint64_t> FindReasons(FieldNumbers& numbers) {
  std::map<DeliveryReason, uint64_t> reasons;
  for (const auto& [name, reason] :
       {std::pair{"FIRST", DeliveryReason::kFirst}, std::pair{"RETRY", DeliveryReason::kRetry},
        std::pair{"TIMEOUT", DeliveryReason::kTimeout}, std::pair{"CONSUMER_LEFT", DeliveryReason::kConsumerLeft},
        std::pair{"GATEWAY_RESTARTED", DeliveryReason::kGatewayRestarted},
        std::pair{"EARLIER_EVENT", DeliveryReason::kAfterAnother}, std::pair{"UNPARKED", DeliveryReason::kUnparked},
        std::pair{"SEEK", DeliveryReason::kSeek}}) {
    const int number = numbers.EnumValue(absl::StrCat("stampgate.v1.DELIVERY_REASON_", name));
    reasons[reason] = static_cast<uint64_t>(number);
  }
  return reasons;
}

SubscriptionResponses::Delivery FindDelivery(FieldNumbers& numbers) {
  SubscriptionResponses::Delivery delivery;
  delivery.token = numbers.One(Named("Delivery", "token"), FieldDescriptor::TYPE_STRING);
  delivery.delivery_count = numbers.One(Named("Delivery", "delivery_count"), FieldDescriptor::TYPE_UINT32);
  delivery.reason = numbers.One(Named("Delivery", "reason"), FieldDescriptor::TYPE_ENUM);
  delivery.retried_after_parking = numbers.One(Named("Delivery", "retried_after_parking"), FieldDescriptor::TYPE_BOOL);
  delivery.reasons = FindReasons(numbers);
  return delivery;
}

SubscriptionResponses::Subscription FindSubscription(FieldNumbers& numbers) {
  SubscriptionResponses::Subscription subscription;
  const auto one = [&numbers](absl::string_view name, FieldDescriptor::Type type) {
    return numbers.One(Named("Subscription", name), type);
  };
  subscription.name = one("name", FieldDescriptor::TYPE_STRING);
  subscription.cursor = one("cursor", FieldDescriptor::TYPE_STRING);
  subscription.events_behind = one("events_behind", FieldDescriptor::TYPE_UINT64);
  subscription.oldest_unsettled_time = one("oldest_unsettled_time", FieldDescriptor::TYPE_MESSAGE);
  subscription.unsettled = one("unsettled", FieldDescriptor::TYPE_UINT64);
  subscription.parked = one("parked", FieldDescriptor::TYPE_UINT64);
  subscription.consumers = one("consumers", FieldDescriptor::TYPE_UINT32);
  subscription.lagging_keys = one("lagging_keys", FieldDescriptor::TYPE_UINT32);
  return subscription;
}

absl::StatusOr<SubscriptionResponses> FindResponses(FieldNumbers& numbers) {
  SubscriptionResponses responses;
  responses.consume = {
      .deliveries = numbers.List(Named("ConsumeResponse", "deliveries"), FieldDescriptor::TYPE_MESSAGE),
      .superseded_tokens = numbers.List(Named("ConsumeResponse", "superseded_tokens"), FieldDescriptor::TYPE_STRING),
      .settle_within_ms = numbers.One(Named("ConsumeResponse", "settle_within_ms"), FieldDescriptor::TYPE_UINT32)};
  responses.delivery = FindDelivery(numbers);
  responses.list_parked = {
      .parked_events = numbers.List(Named("ListParkedResponse", "parked_events"), FieldDescriptor::TYPE_MESSAGE),
      .cursor = numbers.One(Named("ListParkedResponse", "cursor"), FieldDescriptor::TYPE_STRING),
      .at_end = numbers.One(Named("ListParkedResponse", "at_end"), FieldDescriptor::TYPE_BOOL)};
  responses.parked_event = {
      .delivery_count = numbers.One(Named("ParkedEvent", "delivery_count"), FieldDescriptor::TYPE_UINT32),
      .reason = numbers.One(Named("ParkedEvent", "reason"), FieldDescriptor::TYPE_STRING),
      .park_time = numbers.One(Named("ParkedEvent", "park_time"), FieldDescriptor::TYPE_MESSAGE)};
  responses.subscription = FindSubscription(numbers);
  responses.settle_superseded_tokens =
      numbers.List(Named("SettleResponse", "superseded_tokens"), FieldDescriptor::TYPE_STRING);
  responses.not_parked_cursors =
      numbers.List(Named("RetryParkedResponse", "not_parked_cursors"), FieldDescriptor::TYPE_STRING);
  responses.undeclared_names =
      numbers.List(Named("ListSubscriptionsResponse", "undeclared_names"), FieldDescriptor::TYPE_STRING);
  responses.subscriptions =
      numbers.List(Named("ListSubscriptionsResponse", "subscriptions"), FieldDescriptor::TYPE_MESSAGE);
  const int skipped = numbers.List(Named("SkipParkedResponse", "not_parked_cursors"), FieldDescriptor::TYPE_STRING);
  const int got = numbers.One(Named("GetSubscriptionResponse", "subscription"), FieldDescriptor::TYPE_MESSAGE);
  const int sought = numbers.One(Named("SeekResponse", "subscription"), FieldDescriptor::TYPE_MESSAGE);
  if (!numbers.status().ok()) return numbers.status();
  if (skipped != responses.not_parked_cursors || got != responses.subscriptions || sought != responses.subscriptions) {
    return absl::FailedPreconditionError(
        "the responses of SubscriptionService do not have their common content in the same fields");
  }
  return responses;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const SubscriptionMessages>> SubscriptionMessages::Create(
    const DescriptorPool& pool, absl::string_view operator_name) {
  std::unique_ptr<SubscriptionMessages> found(new SubscriptionMessages(operator_name));
  SubscriptionMessages& messages = *found;
  FieldFinder finder(pool, messages.plans_);
  FieldNumbers numbers(pool);
  FindRequest("ConsumeRequest", finder, messages.consume_);
  messages.consume_.max_unsettled = finder.Optional(messages.consume_.plan, "max_unsettled", JsonForm::kUint32);
  messages.consume_.held_tokens = finder.List(messages.consume_.plan, "held_tokens", JsonForm::kString);
  SettleFields& settle = messages.settle_;
  FindRequest("SettleRequest", finder, settle);
  settle.tokens = finder.List(settle.plan, "tokens", JsonForm::kString);
  settle.outcome = finder.One(settle.plan, "outcome", JsonForm::kEnum);
  settle.retry_delay_ms = finder.Optional(settle.plan, "retry_delay_ms", JsonForm::kUint32);
  settle.park_reason = finder.Optional(settle.plan, "park_reason", JsonForm::kString);
  settle.outcomes = FindOutcomes(numbers);
  FindRequest("GetSubscriptionRequest", finder, messages.get_subscription_);
  messages.list_subscriptions_.plan = finder.Plan("ListSubscriptionsRequest");
  FindRequest("ListParkedRequest", finder, messages.list_parked_);
  messages.list_parked_.cursor = finder.Optional(messages.list_parked_.plan, "cursor", JsonForm::kString);
  messages.list_parked_.page_size = finder.Optional(messages.list_parked_.plan, "page_size", JsonForm::kUint32);
  messages.retry_parked_ = FindParked("RetryParkedRequest", finder);
  messages.skip_parked_ = FindParked("SkipParkedRequest", finder);
  FindRequest("SeekRequest", finder, messages.seek_);
  messages.seek_.place = PlaceFields::Find(messages.seek_.plan, finder, numbers);
  FindRequest("DeleteSubscriptionRequest", finder, messages.delete_subscription_);
  if (!finder.status().ok()) return finder.status();
  ABSL_ASSIGN_OR_RETURN(messages.responses_, FindResponses(numbers));
  return std::unique_ptr<const SubscriptionMessages>(std::move(found));
}

}  // namespace stampgate
