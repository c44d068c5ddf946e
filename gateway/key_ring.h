// Which key signs for which organization.
#ifndef STAMPGATE_GATEWAY_KEY_RING_H_
#define STAMPGATE_GATEWAY_KEY_RING_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "gateway/config.pb.h"
#include "stamp/signer.h"

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

  // The key of `organization_id`, or null if none is configured.
  const NamedSigner* Find(absl::string_view organization_id) const;

 private:
  absl::flat_hash_map<std::string, NamedSigner> by_organization_;
  std::optional<NamedSigner> for_all_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_KEY_RING_H_
