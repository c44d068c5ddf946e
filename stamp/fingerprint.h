// The fingerprint by which upstream identifies a body.
#ifndef STAMPGATE_STAMP_FINGERPRINT_H_
#define STAMPGATE_STAMP_FINGERPRINT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// "sha256:" and the lower-case hex SHA-256 of the exact body bytes. If upstream gets a fingerprint again, it returns
// the activity that it already has.
std::string Fingerprint(absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_FINGERPRINT_H_
