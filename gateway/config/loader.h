// Reads a config and the files that the config names, and makes from them the objects that decide about calls.
#ifndef STAMPGATE_GATEWAY_CONFIG_LOADER_H_
#define STAMPGATE_GATEWAY_CONFIG_LOADER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/callers/access.h"
#include "gateway/config/config.h"
#include "gateway/config/snapshot.h"
#include "gateway/tokens/key_pool.h"

namespace stampgate {

struct Loaded {
  Config config;
  std::shared_ptr<const Access> access;
};

// Parses the snapshot, which must contain the files of kAll or kReloaded. Reads no files. For token issuers with a
// jwks_url, takes the keys from `token_keys`. `in_force` is that of ParseConfig. Errors: those of ParseConfig and of
// TokenKeyPool.
absl::StatusOr<Loaded> LoadSnapshot(const ConfigSnapshot& snapshot, TokenKeyPool& token_keys,
                                    const Config* in_force = nullptr);

// Reads a config and all files that it names with `source`, which has read nothing before. Then does the same as
// LoadSnapshot. Errors: those of InitializeKeyMemory, ConfigSource::Read and LoadSnapshot.
absl::StatusOr<Loaded> Load(ConfigSource& source, TokenKeyPool& token_keys);

// Reads the config at `path` and its organizations files, but no secret file. Errors: those of ConfigSource::Read and
// ParseConfig.
absl::StatusOr<Config> LoadPolicy(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_LOADER_H_
