// Reads the file that lists the organizations of a grant.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_ORGANIZATIONS_FILE_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_ORGANIZATIONS_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/policy/organization_set.h"

namespace stampgate {

// About 14 million UUIDs. The gateway reads the whole file into memory, so there must be a limit.
inline constexpr size_t kMaxOrganizationsFileBytes = 512 << 20;

// The line with which a file states that it lists no organization. Without this line, a file without ids counts as
// half-written.
inline constexpr absl::string_view kNoOrganizations = "# no organizations";

// Whether `text` has the form of an organization's id. An id consists of letters, digits, '.', '_', ':' and '-'.
bool IsOrganizationId(absl::string_view text);

// Returns the ids in the text of a file: one on each line. Empty lines and lines that begin with '#' have no meaning,
// except kNoOrganizations. Errors: kInvalidArgument if a line is not an id, if the text has neither an id nor
// kNoOrganizations, or if it has both.
absl::StatusOr<std::shared_ptr<const OrganizationIds>> ParseOrganizations(absl::string_view text);

// Reads the file. Errors: those of ParseOrganizations; kUnavailable, with the message of ReadPublicFile, if the file
// cannot be read or is larger than kMaxOrganizationsFileBytes.
absl::StatusOr<std::shared_ptr<const OrganizationIds>> ReadOrganizationsFile(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_ORGANIZATIONS_FILE_H_
