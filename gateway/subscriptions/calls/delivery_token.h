// Encodes and decodes delivery tokens: opaque texts with which consumers name the deliveries that they settle. Only the
// gateway can create tokens.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_DELIVERY_TOKEN_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_DELIVERY_TOKEN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/subscriptions/served_subscription.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/keyed_mac.h"

namespace stampgate {

// The tokens of the deliveries of one subscription. A token is valid only for this subscription, this event log and the
// log's current cursor key. It is the base64url encoding of seven parts: a version; a name that is derived from the
// log's id, the name of the subscription and the cursor key; the partition, the position, the number and the
// incarnation; and an HMAC over the other parts. A mask hides the partition and the next three parts. All tokens have
// the same length, and equal deliveries have equal tokens.
class DeliveryTokens {
 public:
  // Derives what all tokens of the subscription share. Encoding or decoding a token costs about as much again.
  DeliveryTokens(const LogIdentity& log, absl::string_view subscription);

  std::string Encode(const DeliveryId& delivery) const;
  // Returns nothing if Encode has not made `token` for this log and subscription.
  std::optional<DeliveryId> Decode(absl::string_view token) const;

 private:
  const MacKey key_;
  const std::string begin_;  // of every token
};

// Decodes the tokens in `field`, a list of `request`. Errors: INVALID_ARGUMENT (DELIVERY_TOKEN_INVALID) with the index
// of the first token that is not valid.
absl::StatusOr<std::vector<DeliveryId>> ReadDeliveryTokens(const LogIdentity& log, absl::string_view subscription,
                                                           const FieldPlan& field, const ParsedMessage& request);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_DELIVERY_TOKEN_H_
