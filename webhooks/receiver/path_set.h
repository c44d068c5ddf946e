// Compares a target with the paths that a server accepts. The time that this takes does not reveal the paths.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns whether `target` equals one of the paths, byte for byte. A path is a secret, because a peer that knows it can
// send deliveries: the time that this takes depends only on the paths and on the length of `target`.
bool HasPath(const std::vector<std::string>& paths, absl::string_view target);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
