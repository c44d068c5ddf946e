// All callers of the config, found by who is at the other end.
#ifndef STAMPGATE_GATEWAY_CALLERS_DIRECTORY_H_
#define STAMPGATE_GATEWAY_CALLERS_DIRECTORY_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/callers/caller.h"
#include "gateway/callers/peer.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Immutable; gives out pointers that live as long as it does.
class CallerDirectory {
 public:
  using Callers = std::vector<const Caller*>;

  CallerDirectory() = default;
  // `config` is checked: of those that have one identity, at most one wants no token.
  explicit CallerDirectory(const config::v1::Config& config);

  // Those that `peer` may be by its connection, without repetition. A token says which of them it is.
  Callers Find(const Peer& peer) const;

 private:
  std::vector<std::unique_ptr<const Caller>> callers_;
  std::map<std::string, Callers, std::less<>> by_spiffe_id_;
  std::map<std::string, Callers, std::less<>> by_dns_name_;
  Callers on_loopback_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DIRECTORY_H_
