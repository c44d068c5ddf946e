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

// The limit for the bytes of all names and values, plus 32 bytes for each entry, as in HTTP/2.
inline constexpr size_t kMaxMetadataBytes = 8 << 10;

// Errors: INVALID_ARGUMENT (INVALID_REQUEST) for more than kMaxMetadataBytes, and for names and values with bytes that
// gRPC's specification forbids. Also rejects upstream's stamp headers. The gateway never forwards them, so without this
// error it would sign the request with its own key instead.
absl::Status CheckMetadata(const CallMetadata& metadata);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_METADATA_H_
