// The tables of the store on a PostgreSQL server.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_STORE_TABLES_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_STORE_TABLES_H_

#include "base/postgres/schema.h"

namespace stampgate {

// The steps of this program: the event log, the call store, the shares and quotas, and the seals of all of them.
const StoreSteps& StepsOfThisProgram();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_STORE_TABLES_H_
