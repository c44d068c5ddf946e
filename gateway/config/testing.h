// Snapshots of configs that tests write.
#ifndef STAMPGATE_GATEWAY_CONFIG_TESTING_H_
#define STAMPGATE_GATEWAY_CONFIG_TESTING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "gateway/config/named_files.h"
#include "gateway/config/snapshot.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// The bytes of `text`, which is not empty, in locked memory.
SecretBytes TestSecret(absl::string_view text);

// The snapshot of a config that would stand at `path` and have this text. The files that it names are read.
ConfigSnapshot ReadTestSnapshot(absl::string_view text, const std::string& path, ConfigFiles files = ConfigFiles::kAll);

// The same, but key files are not read: each holds `key_text`.
ConfigSnapshot TestSnapshot(
    absl::string_view text, const std::string& path, ConfigFiles files = ConfigFiles::kAll,
    absl::string_view key_text = "0000000000000000000000000000000000000000000000000000000000000001");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_TESTING_H_
