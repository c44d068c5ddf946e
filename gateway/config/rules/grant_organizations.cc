#include "gateway/config/rules/grant_organizations.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "translate/wire/serialize.h"

namespace stampgate {
namespace {

using Ids = std::shared_ptr<const OrganizationIds>;

const OrganizationsFile& FileAt(const OrganizationsFiles& files, const std::string& path) {
  static const auto& unread = *new OrganizationsFile{absl::UnavailableError("it was not read"), false};
  const auto found = files.find(path);
  return found == files.end() ? unread : found->second;
}

// Returns everything in `config` that decides what the grant allows to whom, except the content of files, as a text.
std::string TextOf(const config::v1::Config& config, const config::v1::Caller& caller, const config::v1::Grant& grant) {
  config::v1::Config part;
  config::v1::Caller& same = *part.add_callers();
  same = caller;
  same.clear_grants();
  *same.add_grants() = grant;
  if (!grant.classes().empty()) {
    part.set_class_grants_as_of(config.class_grants_as_of());
    *part.mutable_operations() = config.operations();
  }
  for (const config::v1::Key& key : config.keys()) {
    // Without a name, the organization selects the key.
    if (grant.key().empty() || key.name() == grant.key()) *part.add_keys() = key;
  }
  for (const config::v1::TokenIssuer& issuer : config.token_issuers()) {
    if (issuer.name() == caller.token().issuer()) *part.add_token_issuers() = issuer;
  }
  return SerializeDeterministically(part);
}

// Returns the organizations in force of a grant that is the same as `grant`, or null if there is none.
Ids InForce(const config::v1::Config& config, const config::v1::Caller& caller, const config::v1::Grant& grant,
            const OrganizationsInForce& in_force) {
  const std::string text = TextOf(config, caller, grant);
  for (int i = 0; i < in_force.config->callers_size(); ++i) {
    const config::v1::Caller& earlier = in_force.config->callers(i);
    if (earlier.name() != caller.name()) continue;
    for (int n = 0; n < earlier.grants_size(); ++n) {
      if (TextOf(*in_force.config, earlier, earlier.grants(n)) != text) continue;
      return FindOrganizations(*in_force.ids, static_cast<size_t>(i), static_cast<size_t>(n));
    }
  }
  return nullptr;
}

}  // namespace

GrantOrganizations FindGrantOrganizations(const config::v1::Config& config, const OrganizationsFiles& files,
                                          OrganizationsUse use, const OrganizationsInForce& in_force,
                                          ConfigReport& report) {
  static const Ids& none = *new Ids(std::make_shared<const OrganizationIds>());
  GrantOrganizations found;
  found.ids.resize(static_cast<size_t>(config.callers_size()));
  for (int i = 0; i < config.callers_size(); ++i) {
    const config::v1::Caller& caller = config.callers(i);
    std::vector<Ids>& of_caller = found.ids[static_cast<size_t>(i)];
    of_caller.resize(static_cast<size_t>(caller.grants_size()));
    for (int n = 0; n < caller.grants_size(); ++n) {
      const config::v1::Grant& grant = caller.grants(n);
      if (grant.organizations_file().empty()) continue;
      const OrganizationsFile& file = FileAt(files, grant.organizations_file());
      Ids& ids = of_caller[static_cast<size_t>(n)];
      if (file.ids.ok() && !file.is_held) {
        ids = *file.ids;
        continue;
      }
      const std::string why(file.ids.ok() ? "it is being written" : file.ids.status().message());
      const std::string path = absl::StrCat("callers[", i, "].grants[", n, "].organizations_file");
      if (use == OrganizationsUse::kReview && !absl::IsInvalidArgument(file.ids.status())) {
        found.unread.push_back({i, n, why});
      } else if (use != OrganizationsUse::kReload) {
        report.Add(path, why);
      } else {
        ids = InForce(config, caller, grant, in_force);
        if (ids != nullptr && file.ids.ok()) {
          ++found.held;
          continue;
        }
        if (ids == nullptr) ids = none;
        found.not_applied.push_back(absl::StrCat(path, ": ", why,
                                                 ids->empty() ? "; until then, the grant allows no organization"
                                                              : "; the earlier organizations stay in force"));
      }
    }
  }
  return found;
}

}  // namespace stampgate
