// Finds the organizations of the grants that list them in files.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_GRANT_ORGANIZATIONS_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_GRANT_ORGANIZATIONS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/config/rules/fault_report.h"
#include "gateway/policy/organization_set.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// What is known about an organizations file.
struct OrganizationsFile {
  absl::StatusOr<std::shared_ptr<const OrganizationIds>> ids;  // the last whole content, or why it cannot be used
  bool is_held = false;  // whether the file has changed since then and is not whole yet
};
using OrganizationsFiles = std::map<std::string, OrganizationsFile>;  // by path

// A grant whose organizations_file could not be read.
struct UnreadOrganizations {
  int caller = 0;  // the index of the caller in the config; `grant` is the index of its grant; both begin at 0
  int grant = 0;
  std::string why;  // the error of ReadOrganizationsFile
};

// What the gateway uses while it runs.
struct OrganizationsInForce {
  const config::v1::Config* config = nullptr;
  const FileOrganizations* ids = nullptr;
};

struct GrantOrganizations {
  FileOrganizations ids;                    // of the grants with an organizations_file; null if it is in `unread`
  std::vector<UnreadOrganizations> unread;  // set only if a reviewer reads the config
  // Set only for kReload:
  std::vector<std::string> not_applied;  // a line for each grant whose file has a fault, or that allows no organization
  int held = 0;  // the number of other grants whose file is held, and which keep the organizations that they have
};

enum class OrganizationsUse {
  kReview,  // a file that could not be read is no fault, because a reviewer has perhaps only the config
  kStart,   // a file that cannot be used is a fault
  kReload,  // a file that cannot be used is no fault, so that it does not block other changes, such as a removed caller
};

// Returns the organizations of each grant. `config` must have resolved file names. For kReload, `in_force` must be set.
//
// A reload uses a new content only if the file is whole and has no fault. Otherwise a grant that is the same as in the
// config in force keeps the organizations that it has. A grant that differs, or whose caller is identified otherwise,
// or that has another key, or classes that cover more or other methods, allows no organization until the file can be
// used: with its earlier organizations it could allow more than the operator has ever written down.
GrantOrganizations FindGrantOrganizations(const config::v1::Config& config, const OrganizationsFiles& files,
                                          OrganizationsUse use, const OrganizationsInForce& in_force,
                                          ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_GRANT_ORGANIZATIONS_H_
