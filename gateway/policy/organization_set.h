// Sets of organizations, which match by their exact ids.
#ifndef STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_
#define STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// A set of ids. There can be millions of them, and nearly all are UUIDs, so a UUID in lower case takes 16 bytes.
// Immutable, so every function is thread-safe.
class OrganizationIds {
 public:
  // An id can be given several times.
  explicit OrganizationIds(const std::vector<absl::string_view>& ids = {});

  bool Contains(absl::string_view id) const;
  bool empty() const { return size() == 0; }
  size_t size() const { return uuids_.size() + others_.size(); }
  // A digest of the ids. Different sets have different digests.
  const std::array<uint8_t, 32>& digest() const { return digest_; }

  // Calls `visit` with each id, in ascending order.
  void ForEach(absl::FunctionRef<void(absl::string_view id)> visit) const;

  // Whether `id` is a UUID in lower case, with its four hyphens.
  static bool IsUuid(absl::string_view id);

 private:
  struct Uuid {
    uint64_t high = 0;
    uint64_t low = 0;

    friend auto operator<=>(const Uuid&, const Uuid&) = default;
  };

  static std::optional<Uuid> ParseUuid(absl::string_view id);
  static std::string TextOf(const Uuid& uuid);

  // Both are in ascending order, without repetitions.
  std::vector<Uuid> uuids_;
  std::vector<std::string> others_;
  std::array<uint8_t, 32> digest_;
};

struct OrganizationSet {
  // If true, the set contains every organization, even if the config does not list it. The set then contains the empty
  // id too.
  bool all = false;
  // The set contains the ids of each part. No part is null. Several sets can share a part.
  std::vector<std::shared_ptr<const OrganizationIds>> parts;

  bool Contains(absl::string_view id) const;
  // Whether the set contains no organization.
  bool empty() const;
};

// The ids in the organizations files of a config's grants. The first index is that of the caller in the config, the
// second that of its grant. The pointer is null if the grant has no such file. A missing element has the same meaning.
using FileOrganizations = std::vector<std::vector<std::shared_ptr<const OrganizationIds>>>;

// Returns the element of `organizations` for a grant, or null if it is missing.
std::shared_ptr<const OrganizationIds> FindOrganizations(const FileOrganizations& organizations, size_t caller,
                                                         size_t grant);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_
