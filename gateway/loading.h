// The config file and all that it names, read into what the gateway works with.
#ifndef STAMPGATE_GATEWAY_LOADING_H_
#define STAMPGATE_GATEWAY_LOADING_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/access.h"
#include "gateway/config.h"

namespace stampgate {

struct Loaded {
  Config config;
  std::shared_ptr<const Access> access;
};

// Reads the config at `path`, its keys and the files of its grants. Errors: those of LoadConfig, and of memory that
// cannot be locked.
absl::StatusOr<Loaded> Load(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_LOADING_H_
