// Measures the verification part of the minimum cost of a webhook delivery: the CPU that libsodium needs to verify one
// Ed25519 signature of a message as large as a delivery.

#include <sodium.h>

#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"

ABSL_FLAG(std::string, body, "", "file with the signed message");
ABSL_FLAG(absl::Duration, measure, absl::Seconds(1), "duration of the measurement");

namespace stampgate::bench {
namespace {

int Main() {
  const std::string body = ReadFile(absl::GetFlag(FLAGS_body));
  const auto* bytes = reinterpret_cast<const unsigned char*>(body.data());
  unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
  unsigned char secret_key[crypto_sign_SECRETKEYBYTES];
  unsigned char signature[crypto_sign_BYTES];
  if (body.empty() || sodium_init() < 0 || crypto_sign_keypair(public_key, secret_key) != 0 ||
      crypto_sign_detached(signature, nullptr, bytes, body.size(), secret_key) != 0) {
    return 1;
  }
  int calls = 0;
  const absl::Time end = absl::Now() + absl::GetFlag(FLAGS_measure);
  const absl::Duration before = ProcessCpu(0).value();
  while (absl::Now() < end) {
    if (crypto_sign_verify_detached(signature, bytes, body.size(), public_key) != 0) return 1;
    ++calls;
  }
  std::printf("cpu_us=%.2f calls=%d\n", absl::ToDoubleMicroseconds(ProcessCpu(0).value() - before) / calls, calls);
  return 0;
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::Main();
}
