#include "gateway/server/health.h"

#include "gateway/server/measured_methods.h"
#include "gateway/server/version.h"

namespace stampgate {

Health::Health(const OperationSet& operations) : metrics(registry, kVersion) {
  metrics.calls.AddMethods(MeasuredMethods(operations));
}

void Health::Show(Readiness::Obstacle obstacle, bool is_there) {
  if (is_there) {
    readiness.Set(obstacle);
  } else {
    readiness.Clear(obstacle);
  }
}

absl::StatusOr<std::unique_ptr<AdminServer>> StartAdmin(const config::v1::Config& config, Health& health) {
  if (config.admin().listen_address().empty()) return nullptr;
  return AdminServer::Start({.listen_address = config.admin().listen_address()},
                            {{"/livez", [&health] { return health.liveness.Answer(); }},
                             {"/readyz", [&health] { return health.readiness.Answer(); }},
                             {"/readyz/webhooks", [&health] { return health.readiness.AnswerForWebhooks(); }},
                             {"/metrics", [&health]() -> AdminAnswer {
                                return {200, health.registry.Render(), MetricRegistry::kContentType};
                              }}});
}

}  // namespace stampgate
