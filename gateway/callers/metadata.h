// Checks the metadata of a call against gRPC's specification.
//
// gRPC 1.51 forwards header bytes that the specification forbids, and enforces its size limit only on peers that
// announce support for it.
#ifndef STAMPGATE_GATEWAY_CALLERS_METADATA_H_
#define STAMPGATE_GATEWAY_CALLERS_METADATA_H_

#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <map>

#include "absl/status/status.h"

namespace stampgate {

// The type of ServerContextBase::client_metadata.
using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// The limit for all names and values together, plus 32 bytes for each entry, as HTTP/2 counts.
inline constexpr size_t kMaxMetadataBytes = 8 << 10;

// Errors: INVALID_ARGUMENT (INVALID_REQUEST) for more than kMaxMetadataBytes, and for names and values with bytes that
// gRPC's specification forbids. Also rejects upstream's stamp headers: they are never forwarded, so the caller must
// learn this before the gateway signs with its own key.
absl::Status CheckMetadata(const CallMetadata& metadata);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_METADATA_H_
