// Reads an activity for the calls that wait for its end.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_ACTIVITY_QUERY_H_
#define STAMPGATE_GATEWAY_OPERATIONS_ACTIVITY_QUERY_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "gateway/callers/access.h"
#include "gateway/callers/authenticator.h"
#include "gateway/memory/account.h"
#include "gateway/operations/environment.h"
#include "gateway/waiting/activity_waits.h"
#include "translate/operation_table.h"

namespace stampgate {

// Returns a function that reads the activity `activity` with ActivityService.GetActivity, and stamps this query with
// the key that has the name of `key`, which has signed the submit of `caller`. The audit log records each reading, like
// a call of the caller with the request id `request_id`, before the gateway stamps it. Neither metrics nor the log
// count a reading as a call. Upstream's responses count for `holder`.
//
// The caller needs no grant for GetActivity: the response contains only the activity of a submit that a grant allowed.
//
// The function passes nothing to `done` if the config no longer has the key for the organization, if the audit log
// cannot be written, if the query cannot be signed, or if upstream gives no valid response. `operations` are those of
// the submit. `environment` must outlive the last call of `done`.
ActivityWaits::ReadActivity ReaderOf(const CallEnvironment& environment,
                                     std::shared_ptr<const OperationTable> operations, KnownCaller caller,
                                     const NamedSigner& key, ActivityName activity, absl::string_view request_id,
                                     std::shared_ptr<MemoryHolder> holder);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_ACTIVITY_QUERY_H_
