// Checks the metadata of a call against gRPC's specification.
//
// These checks are needed because gRPC 1.51 accepted header bytes that the specification forbids. It also enforced its
// size limit only on peers that announce support for the limit.
#ifndef STAMPGATE_GATEWAY_CALLERS_METADATA_H_
#define STAMPGATE_GATEWAY_CALLERS_METADATA_H_

#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <map>

#include "absl/status/status.h"

namespace stampgate {

// The type of ServerContextBase::client_metadata.
using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// The limit for the size of a call's metadata: the bytes of all names and values, plus 32 bytes for each entry, as
// HTTP/2 counts.
inline constexpr size_t kMaxMetadataBytes = 8 << 10;

// Returns INVALID_ARGUMENT (INVALID_REQUEST) if `metadata` is larger than kMaxMetadataBytes, or if a name or value
// contains bytes that gRPC's specification forbids. Also rejects upstream's stamp headers. The gateway never forwards
// these headers, so without this error it would sign the request with its own key, although the caller has sent a
// stamp.
absl::Status CheckMetadata(const CallMetadata& metadata);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_METADATA_H_
