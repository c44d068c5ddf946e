#include "gateway/grpc_port/grpc_release.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace stampgate {
namespace {

constexpr std::pair<int, int> kOldestMaintained = {1, 83};

}  // namespace

bool IsMaintainedGrpc(absl::string_view release) {
  const std::vector<absl::string_view> parts = absl::StrSplit(release, '.');
  std::pair<int, int> number;
  return parts.size() >= 2 && absl::SimpleAtoi(parts[0], &number.first) && absl::SimpleAtoi(parts[1], &number.second) &&
         number >= kOldestMaintained;
}

absl::Status CheckGrpcRelease(absl::string_view release, const config::v1::Config& config) {
  if (IsMaintainedGrpc(release) || !config.has_tls() || config.allow_old_grpc()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this gateway is built with gRPC ", release,
                   ", whose HTTP/2 has known faults, so that it serves only without `tls`, on loopback; to serve "
                   "nevertheless, set `allow_old_grpc: true`"));
}

}  // namespace stampgate
