// The config file and all that it names, read into what the gateway works with.
#ifndef STAMPGATE_GATEWAY_CONFIG_LOADER_H_
#define STAMPGATE_GATEWAY_CONFIG_LOADER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/access.h"
#include "gateway/config/config.h"
#include "gateway/tokens/key_pool.h"

namespace stampgate {

struct Loaded {
  Config config;
  std::shared_ptr<const Access> access;
};

// Reads the config at `path`, its keys and the files of its grants and token issuers, as they were at one moment:
// again, until two readings agree, so that files that are replaced meanwhile give no mixture of old and new. A reading
// of `known_version` is good at once. Keys of token issuers that are fetched come from `token_keys`. `files` is kAll or
// kReloaded. Errors: those of LoadConfig, and of memory that cannot be locked; kAborted if the files change faster than
// they can be read.
absl::StatusOr<Loaded> Load(const std::string& path, TokenKeyPool& token_keys, ConfigFiles files = ConfigFiles::kAll,
                            absl::string_view known_version = "");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_LOADER_H_
