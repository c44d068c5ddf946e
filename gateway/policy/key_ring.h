// Which key signs for which organization.
#ifndef STAMPGATE_GATEWAY_POLICY_KEY_RING_H_
#define STAMPGATE_GATEWAY_POLICY_KEY_RING_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gateway/policy/organization_set.h"
#include "stamp/signer.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// A key that signs.
struct NamedSigner {
  std::string name;  // as the config calls it
  std::shared_ptr<const Signer> signer;
};

// Immutable once filled, then thread-safe.
class KeyRing {
 public:
  // Adds a key that a checked config names.
  void Add(const config::v1::Key& key, std::shared_ptr<const Signer> signer);

  // The key called `name`; with an empty name the first that lists the organization, else the first for all. Null if
  // there is none, or it may not sign for the organization.
  const NamedSigner* Find(absl::string_view organization_id, absl::string_view name) const;

 private:
  struct Entry {
    NamedSigner key;
    OrganizationSet organizations;
  };

  const Entry* FirstFor(absl::string_view organization_id) const;

  std::vector<std::unique_ptr<const Entry>> entries_;  // in the order of the config
  std::map<std::string, const Entry*, std::less<>> by_name_;
  std::map<std::string, const Entry*, std::less<>> by_organization_;  // the first that lists it
  const Entry* for_all_ = nullptr;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_KEY_RING_H_
