#include "gateway/config/caller_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/callers/description.h"
#include "gateway/config/rules/caller_rules.h"
#include "gateway/policy/key_ring.h"
#include "gateway/policy/organization_set.h"

namespace stampgate {
namespace {

// Returns the organizations of the caller's grants that name no key and allow stamped calls. The gateway does not know
// the organizations of a grant in `unread`, so such a grant counts as a grant for all organizations.
OrganizationSet WithoutNamedKey(const config::v1::Caller& caller,
                                const std::vector<std::shared_ptr<const OrganizationIds>>& of_files,
                                const OperationSet& operations, const std::vector<UnreadOrganizations>& unread) {
  OrganizationSet set;
  for (int i = 0; i < caller.grants_size(); ++i) {
    const config::v1::Grant& grant = caller.grants(i);
    if (!grant.key().empty() || !LeadsToSignatures(grant, operations)) continue;
    set.all = set.all || grant.all_organizations() ||
              absl::c_any_of(unread, [i](const UnreadOrganizations& each) { return each.grant == i; });
    set.parts.push_back(std::make_shared<const OrganizationIds>(
        std::vector<absl::string_view>(grant.organizations().begin(), grant.organizations().end())));
    const std::shared_ptr<const OrganizationIds>& of_file = of_files[static_cast<size_t>(i)];
    if (of_file != nullptr) set.parts.push_back(of_file);
  }
  return set;
}

// The organizations for which one key signs. There can be millions, so only the first ones have their ids here.
struct SignedIds {
  static constexpr size_t kShown = 5;

  std::set<std::string, std::less<>> first;
  size_t count = 0;

  void Add(absl::string_view id) {
    ++count;
    if (first.size() == kShown && *first.rbegin() < id) return;
    first.emplace(id);
    if (first.size() > kShown) first.erase(std::prev(first.end()));
  }

  std::string ToString() const {
    const std::string text = absl::StrJoin(first, ", ");
    return count > first.size() ? absl::StrCat(text, " and ", count - first.size(), " more") : text;
  }
};

// Returns lines that state which key signs for which of `organizations`. Asks a KeyRing, as the gateway does, but this
// ring contains no signers.
std::string DescribeKeys(const config::v1::Config& config, const OrganizationSet& organizations) {
  KeyRing ring;
  OrganizationSet ids = organizations;
  for (const config::v1::Key& key : config.keys()) {
    ring.Add(key, nullptr);
    if (!organizations.all) continue;
    ids.parts.push_back(std::make_shared<const OrganizationIds>(
        std::vector<absl::string_view>(key.organizations().begin(), key.organizations().end())));
  }
  const auto key_of = [&ring](absl::string_view id) {
    const NamedSigner* key = ring.Find(id, "");
    return key == nullptr ? std::string("no key") : absl::StrCat("key ", key->name);
  };
  std::map<std::string, SignedIds> ids_of;
  for (auto part = ids.parts.begin(); part != ids.parts.end(); ++part) {
    (*part)->ForEach([&](absl::string_view id) {
      const bool is_known =
          std::any_of(ids.parts.begin(), part, [id](const auto& other) { return other->Contains(id); });
      if (!is_known) ids_of[key_of(id)].Add(id);
    });
  }
  const std::string rest = key_of("");  // the key of every organization that no key lists, such as the empty id
  if (organizations.all) ids_of.erase(rest);
  std::map<std::string, std::string> lines;
  for (const auto& [key, of_key] : ids_of) lines[key] = of_key.ToString();
  if (organizations.all) lines[rest] = ids_of.empty() ? "all organizations" : "all other organizations";
  std::string text;
  for (const auto& [key, of_key] : lines) absl::StrAppend(&text, "  ", key, ": ", of_key, "\n");
  return text;
}

// Returns lines that state with which certificates the caller connects; none if it connects without a certificate.
std::string DescribeCertificates(const config::v1::Caller& caller) {
  if (caller.spiffe_ids().empty() && caller.dns_names().empty()) return "";
  std::string text = absl::StrCat(caller.name(), " connects with a client certificate that has\n");
  for (const std::string& id : caller.spiffe_ids()) absl::StrAppend(&text, "  the only URI ", id, "\n");
  for (const std::string& name : caller.dns_names()) absl::StrAppend(&text, "  no URI, and the DNS name ", name, "\n");
  absl::StrAppend(&text,
                  "a certificate of no caller is refused in the TLS handshake, with the alert bad certificate\n");
  return text;
}

// Returns lines that state which methods the caller would gain with the newest day; none if it would gain none.
std::string DescribeUpdate(const config::v1::Caller& caller,
                           const std::vector<std::shared_ptr<const OrganizationIds>>& of_files,
                           const OperationSet& operations, absl::string_view as_of) {
  const std::vector<std::string> gains = DescribeGains(caller, operations, as_of, of_files);
  if (gains.empty()) return "";
  return absl::StrCat("would gain with class_grants_as_of: ", operations.newest_since(), "\n",
                      absl::StrJoin(gains, "\n"), "\n");
}

}  // namespace

absl::StatusOr<std::string> DescribeCaller(const Config& config, absl::string_view name) {
  const auto& callers = config->callers();
  const auto caller = absl::c_find_if(callers, [name](const auto& each) { return each.name() == name; });
  if (caller == callers.end()) return absl::NotFoundError(absl::StrCat("no caller is called ", name));
  std::vector<UnreadOrganizations> unread;
  absl::c_copy_if(config.unread(), std::back_inserter(unread),
                  [&](const auto& each) { return each.caller == caller - callers.begin(); });
  const OperationSet& operations = config.operations()->set();
  const auto& of_files = config.organizations()[static_cast<size_t>(caller - callers.begin())];
  std::string text =
      absl::StrCat(DescribeCertificates(*caller), name, " may call\n",
                   absl::StrJoin(DescribeGrants(*caller, operations, config->class_grants_as_of(), of_files), "\n"),
                   "\n", DescribeUpdate(*caller, of_files, operations, config->class_grants_as_of()));
  const std::string keys = DescribeKeys(*config, WithoutNamedKey(*caller, of_files, operations, unread));
  if (!keys.empty()) absl::StrAppend(&text, "where a grant names no key, its calls are signed with\n", keys);
  for (const UnreadOrganizations& each : unread) {
    absl::StrAppend(&text, "cannot show the organizations of grant ", each.grant + 1, ", which are in ",
                    caller->grants(each.grant).organizations_file(), ": ", each.why, "\n");
  }
  return text;
}

}  // namespace stampgate
