// The metadata of a call: what gRPC's specification lets a caller send, held to it.
//
// gRPC 1.51 hands on bytes that no header may have, and holds only those to its limit who say that they know it.
#ifndef STAMPGATE_GATEWAY_CALLERS_METADATA_H_
#define STAMPGATE_GATEWAY_CALLERS_METADATA_H_

#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <map>

#include "absl/status/status.h"

namespace stampgate {

// As ServerContextBase::client_metadata gives it.
using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// Of all names and values, and 32 more for each: as HTTP/2 counts.
inline constexpr size_t kMaxMetadataBytes = 8 << 10;

// Errors: INVALID_ARGUMENT (INVALID_REQUEST) for more than kMaxMetadataBytes, for names and values with bytes that
// gRPC's specification does not allow, and for names of upstream's stamps: those that are in a header are not
// forwarded, and who sends one should hear that before something else is stamped.
absl::Status CheckMetadata(const CallMetadata& metadata);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_METADATA_H_
