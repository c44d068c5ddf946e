#include "gateway/policy/organization_set.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/secret/sha256.h"

namespace stampgate {
namespace {

constexpr size_t kUuidSize = 36;

constexpr bool IsHyphen(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

// Returns the value of a hex digit in lower case, or -1.
constexpr int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

template <typename Value>
void SortWithoutRepetitions(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  values.shrink_to_fit();
}

}  // namespace

OrganizationIds::OrganizationIds(const std::vector<absl::string_view>& ids) {
  uuids_.reserve(ids.size());
  for (const absl::string_view id : ids) {
    if (const std::optional<Uuid> uuid = ParseUuid(id)) {
      uuids_.push_back(*uuid);
    } else {
      others_.emplace_back(id);
    }
  }
  SortWithoutRepetitions(uuids_);
  SortWithoutRepetitions(others_);
  // Of the UUIDs, which can be many, only their digest is copied.
  const std::array<uint8_t, 32> of_uuids =
      Sha256(absl::string_view(reinterpret_cast<const char*>(uuids_.data()), uuids_.size() * sizeof(Uuid)));
  std::string text(reinterpret_cast<const char*>(of_uuids.data()), of_uuids.size());
  for (const std::string& id : others_) absl::StrAppendFormat(&text, "%d %s\n", id.size(), id);
  digest_ = Sha256(text);
}

bool OrganizationIds::Contains(absl::string_view id) const {
  if (const std::optional<Uuid> uuid = ParseUuid(id)) return std::binary_search(uuids_.begin(), uuids_.end(), *uuid);
  const auto place = std::lower_bound(others_.begin(), others_.end(), id);
  return place != others_.end() && *place == id;
}

void OrganizationIds::ForEach(absl::FunctionRef<void(absl::string_view id)> visit) const {
  auto other = others_.begin();
  for (const Uuid& uuid : uuids_) {
    const std::string text = TextOf(uuid);
    for (; other != others_.end() && *other < text; ++other) visit(*other);
    visit(text);
  }
  for (; other != others_.end(); ++other) visit(*other);
}

bool OrganizationIds::IsUuid(absl::string_view id) { return ParseUuid(id).has_value(); }

std::optional<OrganizationIds::Uuid> OrganizationIds::ParseUuid(absl::string_view id) {
  if (id.size() != kUuidSize) return std::nullopt;
  Uuid uuid;
  for (size_t at = 0; at < kUuidSize; ++at) {
    if (IsHyphen(at)) {
      if (id[at] != '-') return std::nullopt;
      continue;
    }
    const int digit = DigitOf(id[at]);
    if (digit < 0) return std::nullopt;
    uuid.high = uuid.high << 4 | uuid.low >> 60;
    uuid.low = uuid.low << 4 | static_cast<uint64_t>(digit);
  }
  return uuid;
}

std::string OrganizationIds::TextOf(const Uuid& uuid) {
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", uuid.high >> 32, uuid.high >> 16 & 0xffff, uuid.high & 0xffff,
                         uuid.low >> 48, uuid.low & 0xffffffffffff);
}

bool OrganizationSet::Contains(absl::string_view id) const {
  return all || std::any_of(parts.begin(), parts.end(), [id](const auto& part) { return part->Contains(id); });
}

bool OrganizationSet::empty() const {
  return !all && std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part->empty(); });
}

std::shared_ptr<const OrganizationIds> FindOrganizations(const FileOrganizations& organizations, size_t caller,
                                                         size_t grant) {
  if (caller >= organizations.size() || grant >= organizations[caller].size()) return nullptr;
  return organizations[caller][grant];
}

}  // namespace stampgate
