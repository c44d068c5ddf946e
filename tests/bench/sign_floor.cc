// Measures the signing part of the minimum cost of a call: the CPU that OpenSSL needs for the SHA-256 of a body and a
// P-256 signature of the hash, with a reused context.

#include <openssl/ec.h>
#include <openssl/evp.h>

#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"

ABSL_FLAG(std::string, body, "", "file to sign");
ABSL_FLAG(absl::Duration, measure, absl::Seconds(1), "duration of the measurement");

namespace stampgate::bench {
namespace {

int Main() {
  const std::string body = ReadFile(absl::GetFlag(FLAGS_body));
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr);
  EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  if (body.empty() || sha256 == nullptr || context == nullptr || EVP_PKEY_sign_init(context) != 1) return 1;

  int calls = 0;
  const absl::Time end = absl::Now() + absl::GetFlag(FLAGS_measure);
  const absl::Duration before = ProcessCpu(0).value();
  while (absl::Now() < end) {
    unsigned char digest[32];
    unsigned char signature[72];
    size_t size = sizeof(signature);
    if (EVP_Digest(body.data(), body.size(), digest, nullptr, sha256, nullptr) != 1 ||
        EVP_PKEY_sign(context, signature, &size, digest, sizeof(digest)) != 1) {
      return 1;
    }
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
