// The state that a receiver and its connections share.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_STATE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_STATE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "base/http/current_tls.h"
#include "webhooks/receiver/body_account.h"
#include "webhooks/receiver/delivery_count.h"
#include "webhooks/receiver/peer_table.h"
#include "webhooks/receiver/proven_sources.h"
#include "webhooks/receiver/receiver_options.h"

namespace stampgate {

// The receiver and its connections own the state together. A pending Answer owns its connection, and may be called
// after the receiver was destroyed; then it does nothing.
struct ReceiverState {
  ReceiverState(ReceiverOptions receiver_options, TakeDelivery take_delivery, std::unique_ptr<CurrentTls> current_tls)
      : options(std::move(receiver_options)),
        take(std::move(take_delivery)),
        tls(std::move(current_tls)),
        peers(PlacesOf(options), *proven),
        bodies(
            std::make_shared<BodyAccount>(options.max_bytes - PlacesOf(options) * ConnectionBytes(options), proven)) {}

  const ReceiverOptions options;
  const TakeDelivery take;
  const std::unique_ptr<CurrentTls> tls;  // null for plain HTTP
  const std::shared_ptr<ProvenSources> proven = std::make_shared<ProvenSources>();
  PeerTable peers;
  const std::shared_ptr<BodyAccount> bodies;
  DeliveryCount deliveries;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_STATE_H_
