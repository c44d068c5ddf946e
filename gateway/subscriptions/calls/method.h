// The full names of the subscription service's methods.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_METHOD_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_METHOD_H_

namespace stampgate {

inline constexpr char kConsume[] = "/stampgate.v1.SubscriptionService/Consume";
inline constexpr char kSettle[] = "/stampgate.v1.SubscriptionService/Settle";
inline constexpr char kGetSubscription[] = "/stampgate.v1.SubscriptionService/GetSubscription";
inline constexpr char kListSubscriptions[] = "/stampgate.v1.SubscriptionService/ListSubscriptions";
inline constexpr char kListParked[] = "/stampgate.v1.SubscriptionService/ListParked";
inline constexpr char kRetryParked[] = "/stampgate.v1.SubscriptionService/RetryParked";
inline constexpr char kSkipParked[] = "/stampgate.v1.SubscriptionService/SkipParked";
inline constexpr char kSeek[] = "/stampgate.v1.SubscriptionService/Seek";
inline constexpr char kDeleteSubscription[] = "/stampgate.v1.SubscriptionService/DeleteSubscription";

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_METHOD_H_
