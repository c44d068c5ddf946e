// Creates the parts of the server as the config wants them.
#ifndef STAMPGATE_GATEWAY_SERVER_PARTS_OF_CONFIG_H_
#define STAMPGATE_GATEWAY_SERVER_PARTS_OF_CONFIG_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "base/loop/event_loops.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/callers/access.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/store/call_store.h"
#include "gateway/store/store_metrics.h"
#include "gateway/upstream/client.h"
#include "gateway/waiting/wait_table.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// `metrics` and `loops` must outlive what these functions return.

std::shared_ptr<Admission> MakeAdmission(const config::v1::Config& config, EventLoops& loops,
                                         AdmissionMetrics& metrics);

// Returns the options of the client, which charges `admission` for each fetch of a key set.
UpstreamClient::Options UpstreamOptionsOf(const config::v1::Upstream& upstream,
                                          const std::shared_ptr<Admission>& admission);

// Opens the call store, which logs what it meets, and calls `on_fatal` on any thread if it has failed and cannot
// continue. Returns null if the config has no store. Errors: those of OpenSqliteCallStore, OpenPostgresCallStore and
// ReadSymmetricKey.
absl::StatusOr<std::unique_ptr<CallStore>> OpenCallStore(const config::v1::Config& config,
                                                         const std::function<void()>& on_fatal, StoreMetrics& metrics);

// Returns the timestamps that this process may choose. `store` may be null.
TimestampLease LeaseOf(const CallStore* store, const config::v1::Replica& replica);

// Returns the smallest timestamp that the gateway may give to a submit. Without a store, the gateway does not know the
// timestamps that an earlier process has used. If the clock has not been set back, these timestamps are at most
// TimestampAllocator::kMaxAhead ahead of the clock.
uint64_t TimestampFloor(const CallStore* store);

// Returns the observer of the breaker of `lane`, which writes the log.
std::function<void(bool open)> BreakerObserver(UpstreamClient::Lane lane);

// `access` must outlive the table.
WaitTable::Options WaitOptionsOf(const config::v1::Activities& activities, const CurrentAccess& access);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_PARTS_OF_CONFIG_H_
