#include "gateway/grpc_port/grpc_experiments.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace stampgate {

void ChooseGrpcExperiments() {
  constexpr char kVariable[] = "GRPC_EXPERIMENTS";
  const char* others = getenv(kVariable);
  // If an experiment is named twice, the later one counts.
  const std::string all =
      absl::StrCat("fuse_filters,", others == nullptr ? "" : others, ",skip_clear_peer_on_cancellation");
  setenv(kVariable, all.c_str(), /*replace=*/1);
}

}  // namespace stampgate
