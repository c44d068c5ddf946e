// Encodes and decodes delivery tokens: opaque texts with which consumers name the deliveries that they settle. Only the
// gateway can create tokens.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_TOKEN_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_TOKEN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/subscriptions/served_subscription.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Returns the token of a delivery of `subscription`. The token is valid only for this subscription, this event log and
// the log's current cursor key. It is the base64url encoding of six parts: a version; a name that is derived from the
// log's id, the name of the subscription and the cursor key; the position, the number and the incarnation; and an HMAC
// over the other parts. A mask hides the position, the number and the incarnation. All tokens have the same length, and
// equal deliveries have equal tokens.
std::string EncodeDeliveryToken(const LogIdentity& log, absl::string_view subscription, const DeliveryId& delivery);

// Returns nothing if EncodeDeliveryToken has not made `token` for this log and subscription.
std::optional<DeliveryId> DecodeDeliveryToken(const LogIdentity& log, absl::string_view subscription,
                                              absl::string_view token);

// Decodes the tokens in `field`, a list of `request`. Errors: INVALID_ARGUMENT (DELIVERY_TOKEN_INVALID) with the index
// of the first token that is not valid.
absl::StatusOr<std::vector<DeliveryId>> ReadDeliveryTokens(const LogIdentity& log, absl::string_view subscription,
                                                           const FieldPlan& field, const ParsedMessage& request);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_TOKEN_H_
