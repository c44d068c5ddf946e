#include "gateway/failed_handshakes.h"

#include <grpc/support/log.h>

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

std::atomic<int64_t> failed_handshakes = 0;

// As ssl_transport_security.cc says it; tests/end_to_end/caller_tls_test.mjs sees whether it still does.
constexpr absl::string_view kFailed = "Handshake failed with";

}  // namespace

void CountFailedHandshakes() {
  gpr_set_log_function([](gpr_log_func_args* line) {
    if (absl::StartsWith(line->message, kFailed)) ++failed_handshakes;
  });
}

int64_t FailedHandshakes() { return failed_handshakes; }

}  // namespace stampgate
