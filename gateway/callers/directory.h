// Finds the callers of the config by the peer of a connection.
#ifndef STAMPGATE_GATEWAY_CALLERS_DIRECTORY_H_
#define STAMPGATE_GATEWAY_CALLERS_DIRECTORY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "gateway/callers/caller.h"
#include "gateway/callers/peer.h"
#include "gateway/policy/organization_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Immutable. The pointers that Find returns are valid as long as the directory.
class CallerDirectory {
 public:
  using Callers = absl::InlinedVector<const Caller*, 2>;

  CallerDirectory() = default;
  // Requires a validated config: among the callers that share an identity, at most one needs no token. `of_files` has
  // the ids in the organizations files of the grants.
  CallerDirectory(const config::v1::Config& config, const OperationSet& operations,
                  const FileOrganizations& of_files = {});

  // Returns the callers whose configured identity `peer` has proven, each of them once. If there are several, the
  // bearer token of the call decides which of them calls.
  Callers Find(const Peer& peer) const;

 private:
  std::vector<std::unique_ptr<const Caller>> callers_;
  std::map<std::string, Callers, std::less<>> by_spiffe_id_;
  std::map<std::string, Callers, std::less<>> by_dns_name_;
  Callers on_loopback_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DIRECTORY_H_
