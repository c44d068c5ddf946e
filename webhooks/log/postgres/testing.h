// A store for tests of the event log on a PostgreSQL server.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_TESTING_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_TESTING_H_

#include "base/postgres/schema.h"

namespace stampgate {

// The steps of a store that has only an event log. As in the store of a gateway, events need seals if the log is
// created after the last step; but the server accepts others too.
const StoreSteps& LogSteps();

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_TESTING_H_
