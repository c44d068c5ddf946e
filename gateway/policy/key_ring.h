// Finds the key that signs for an organization.
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

// A key of the gateway.
struct NamedSigner {
  std::string name;  // the key's name in the config
  std::shared_ptr<const Signer> signer;
};

// Thread-safe once Add is no longer called.
class KeyRing {
 public:
  // Adds `key`. Requires that `key` comes from a checked config.
  void Add(const config::v1::Key& key, std::shared_ptr<const Signer> signer);

  // Returns the key called `name`, or null if no key has this name or the key may not sign for the organization. If
  // `name` is empty, returns the first key that lists the organization. If no key lists it, returns the first key for
  // all organizations, or null if there is no such key.
  const NamedSigner* Find(absl::string_view organization_id, absl::string_view name) const;

 private:
  struct Entry {
    NamedSigner key;
    OrganizationSet organizations;
  };

  const Entry* FirstFor(absl::string_view organization_id) const;

  std::vector<std::unique_ptr<const Entry>> entries_;  // in the order of the config
  std::map<std::string, const Entry*, std::less<>> by_name_;
  std::map<std::string, const Entry*, std::less<>> by_organization_;  // for each organization, the first entry with it
  const Entry* for_all_ = nullptr;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_KEY_RING_H_
