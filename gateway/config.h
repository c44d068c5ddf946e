// The gateway's config: read, checked and complete.
#ifndef STAMPGATE_GATEWAY_CONFIG_H_
#define STAMPGATE_GATEWAY_CONFIG_H_

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/config.pb.h"
#include "gateway/tls_files.h"
#include "google/protobuf/duration.pb.h"

namespace stampgate {

// Reads the key file that `key` names and gives the public half in hex. The error's message goes into the report: it
// holds no key material.
using OpenKey = absl::FunctionRef<absl::StatusOr<std::string>(const config::v1::Key& key)>;

// A config that keeps every rule. Immutable.
class Config {
 public:
  // Every field with a default is set. Paths of files do not depend on the config file's folder any more.
  const config::v1::Config& operator*() const { return values_; }
  const config::v1::Config* operator->() const { return &values_; }

 private:
  friend absl::StatusOr<Config> ParseConfig(absl::string_view text, const std::string& path, OpenKey open_key);

  explicit Config(config::v1::Config values) : values_(std::move(values)) {}

  config::v1::Config values_;
};

// Reads and checks the file at `path`. `open_key` is called once for each key whose `file` is well formed, in the order
// of the file, whether or not there are faults elsewhere.
//
// Errors: kInvalidArgument. The message names every fault at once, one a line, in the order of the file:
//
//   stampgate.yaml:12:13: upstream.base_url: must start with https://
//
// Line and column count from 1. A field that is missing has the place of the mapping that it is missing from. No values
// are quoted.
absl::StatusOr<Config> LoadConfig(const std::string& path, OpenKey open_key);

// LoadConfig for a text that is already read from `path`.
absl::StatusOr<Config> ParseConfig(absl::string_view text, const std::string& path, OpenKey open_key);

TlsFiles FilesOf(const config::v1::Tls& tls);

absl::Duration ToDuration(const google::protobuf::Duration& duration);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_H_
