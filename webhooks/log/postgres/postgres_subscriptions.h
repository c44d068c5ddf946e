// The shared subscriptions of an event log on a PostgreSQL server, which several gateways serve.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_SUBSCRIPTIONS_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_SUBSCRIPTIONS_H_

#include <cstddef>
#include <memory>

#include "base/postgres/schema.h"
#include "base/postgres/server_address.h"
#include "base/postgres/server_clock.h"
#include "webhooks/log/subscription_holds.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

struct PostgresSubscriptionsOptions {
  PostgresAddress address;
  const StoreSteps* steps = nullptr;   // must outlive the object
  size_t max_queued_bytes = 64 << 20;  // of changes that wait
  ServerClock now;
};

// A store and the holds of one gateway in it. The store refuses changes with a head, since Declare and Seek do what
// they do, and each change must name a hold of this gateway. Destroying it does not end the holds.
class PostgresSubscriptions : public SubscriptionStore, public SubscriptionHolds {
 public:
  // Writes what is queued. Later calls of Write are refused. Must not be called in a callback.
  virtual void Close() = 0;
};

// Does not wait for the server.
std::unique_ptr<PostgresSubscriptions> MakePostgresSubscriptions(PostgresSubscriptionsOptions options);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_SUBSCRIPTIONS_H_
