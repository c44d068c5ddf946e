// The messages of the subscription service: the plans of its requests with their fields, and the numbers of the fields
// of its responses.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_MESSAGES_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_MESSAGES_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/events/messages.h"
#include "gateway/subscriptions/delivery_reason.h"
#include "gateway/subscriptions/shared_subscription.h"
#include "google/protobuf/descriptor.h"
#include "translate/message/plan.h"

namespace stampgate {

// Each field has the name that it has in the proto.

// A request about one subscription.
struct SubscriptionRequest {
  const MessagePlan* plan = nullptr;
  const FieldPlan* subscription = nullptr;  // null in ListSubscriptionsRequest
};

struct ConsumeFields : SubscriptionRequest {
  const FieldPlan* max_unsettled = nullptr;
  const FieldPlan* held_tokens = nullptr;
};

struct SettleFields : SubscriptionRequest {
  const FieldPlan* tokens = nullptr;
  const FieldPlan* outcome = nullptr;
  const FieldPlan* retry_delay_ms = nullptr;
  const FieldPlan* park_reason = nullptr;
  std::map<uint64_t, SettleOutcome> outcomes;  // by their numbers in the proto
};

struct ListParkedFields : SubscriptionRequest {
  const FieldPlan* cursor = nullptr;
  const FieldPlan* page_size = nullptr;
};

// The request of RetryParked or SkipParked.
struct ParkedFields : SubscriptionRequest {
  const FieldPlan* cursors = nullptr;
};

struct SeekFields : SubscriptionRequest {
  PlaceFields place;
};

// The numbers of the fields of the responses. EventFields has those of the event in Delivery and ParkedEvent.
struct SubscriptionResponses {
  struct Consume {
    int deliveries = 0;
    int superseded_tokens = 0;
    int settle_within_ms = 0;
  };
  struct Delivery {
    int token = 0;
    int delivery_count = 0;
    int reason = 0;
    int retried_after_parking = 0;
    std::map<DeliveryReason, uint64_t> reasons;  // their numbers in the proto
  };
  struct ListParked {
    int parked_events = 0;
    int cursor = 0;
    int at_end = 0;
  };
  struct ParkedEvent {
    int delivery_count = 0;
    int reason = 0;
    int park_time = 0;
  };
  struct Subscription {
    int name = 0;
    int cursor = 0;
    int events_behind = 0;
    int oldest_unsettled_time = 0;
    int unsettled = 0;
    int parked = 0;
    int consumers = 0;
    int lagging_keys = 0;
  };

  Consume consume;
  Delivery delivery;
  ListParked list_parked;
  ParkedEvent parked_event;
  Subscription subscription;
  int settle_superseded_tokens = 0;
  int not_parked_cursors = 0;  // of the responses of RetryParked and SkipParked
  int undeclared_names = 0;    // of the response of ListSubscriptions
  int subscriptions = 0;       // of the responses of GetSubscription, ListSubscriptions and Seek
};

// Immutable, so threads may share it.
class SubscriptionMessages {
 public:
  // Finds the messages in `pool`, which must outlive this. `operator_name` is upstream's name from the config. Errors:
  // kFailedPrecondition if a field is missing or has another form, if a message has no plan, or if responses do not
  // have their common content in the same field.
  static absl::StatusOr<std::unique_ptr<const SubscriptionMessages>> Create(
      const google::protobuf::DescriptorPool& pool, absl::string_view operator_name);

  const ConsumeFields& consume() const { return consume_; }
  const SettleFields& settle() const { return settle_; }
  const SubscriptionRequest& get_subscription() const { return get_subscription_; }
  const SubscriptionRequest& list_subscriptions() const { return list_subscriptions_; }
  const ListParkedFields& list_parked() const { return list_parked_; }
  const ParkedFields& retry_parked() const { return retry_parked_; }
  const ParkedFields& skip_parked() const { return skip_parked_; }
  const SeekFields& seek() const { return seek_; }
  const SubscriptionRequest& delete_subscription() const { return delete_subscription_; }
  const SubscriptionResponses& responses() const { return responses_; }

 private:
  explicit SubscriptionMessages(absl::string_view operator_name) : plans_(operator_name) {}

  MessagePlans plans_;
  ConsumeFields consume_;
  SettleFields settle_;
  SubscriptionRequest get_subscription_;
  SubscriptionRequest list_subscriptions_;
  ListParkedFields list_parked_;
  ParkedFields retry_parked_;
  ParkedFields skip_parked_;
  SeekFields seek_;
  SubscriptionRequest delete_subscription_;
  SubscriptionResponses responses_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_MESSAGES_H_
