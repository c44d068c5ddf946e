#include "gateway/server/service_health.h"

#include <utility>

#include "absl/strings/match.h"

namespace stampgate {

void ServiceHealth::Report(const std::vector<std::string>& services) {
  std::set<std::string> serving;
  for (const std::string& name : services) {
    if (!absl::StartsWith(name, "grpc.")) serving.insert(name);
  }
  for (const std::string& name : serving_) {
    if (!serving.contains(name)) health_.SetServingStatus(name, false);
  }
  for (const std::string& name : serving) health_.SetServingStatus(name, true);
  serving_ = std::move(serving);
}

}  // namespace stampgate
