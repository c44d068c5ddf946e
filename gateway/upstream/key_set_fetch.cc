#include "gateway/upstream/key_set_fetch.h"

#include <chrono>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "webhooks/keys/cache_lifetime.h"

namespace stampgate {

FetchKeySet FetchKeySetThrough(UpstreamClient& client, std::string path) {
  return [&client, path = std::move(path)](absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)> done) {
    UpstreamClient::CallOptions options;
    options.lane = UpstreamClient::Lane::kKeySet;
    options.deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kKeySetTime);
    client.Get({path}, options, [done = std::move(done)](UpstreamOutcome outcome) mutable {
      if (const auto* failure = std::get_if<TransportFailure>(&outcome)) {
        return done(absl::UnavailableError(failure->detail));
      }
      auto& answer = std::get<HttpAnswer>(outcome);
      if (answer.status != 200) return done(absl::UnavailableError(absl::StrCat("HTTP status ", answer.status)));
      done(KeySetAnswer{std::move(answer.body), std::move(answer.cache_control), ReadAge(answer.age)});
    });
  };
}

}  // namespace stampgate
