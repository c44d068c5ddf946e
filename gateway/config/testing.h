// Makes snapshots from configs that tests contain as text.
#ifndef STAMPGATE_GATEWAY_CONFIG_TESTING_H_
#define STAMPGATE_GATEWAY_CONFIG_TESTING_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/secret/bytes.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/config/snapshot.h"

namespace stampgate {

// Returns the bytes of `text`, which must not be empty, in locked memory.
SecretBytes TestSecret(absl::string_view text);

// Returns the snapshot of a config with the text `text`, as if the config file were at `path`. Reads the files that
// `text` names.
ConfigSnapshot ReadTestSnapshot(absl::string_view text, const std::string& path, ConfigFiles files = ConfigFiles::kAll);

// Does the same as ReadTestSnapshot, but reads no key files. Instead, each key file has the content `key_text`.
ConfigSnapshot TestSnapshot(
    absl::string_view text, const std::string& path, ConfigFiles files = ConfigFiles::kAll,
    absl::string_view key_text = "0000000000000000000000000000000000000000000000000000000000000001");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_TESTING_H_
