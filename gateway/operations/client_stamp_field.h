// Reads the stamp in a request's client_stamp field.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_CLIENT_STAMP_FIELD_H_
#define STAMPGATE_GATEWAY_OPERATIONS_CLIENT_STAMP_FIELD_H_

#include "absl/status/statusor.h"
#include "stamp/client_stamp.h"
#include "stampgate/v1/client_stamp.pb.h"

namespace stampgate {

// Returns the stamp in `field`. Requires that exactly one kind of stamp is set. If the stamp does not have the form of
// its kind, returns INVALID_ARGUMENT (INVALID_REQUEST), which names the field of this kind.
absl::StatusOr<ClientStamp> ReadClientStamp(const v1::ClientStamp& field);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_CLIENT_STAMP_FIELD_H_
