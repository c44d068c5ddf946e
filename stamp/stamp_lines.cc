// A program that stamps bodies for tests in other languages. Each line of standard input is the hex of a body. For each
// body, the program writes a line with the value of the X-Stamp header to standard output.
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/escaping.h"
#include "base/json/hex.h"
#include "stamp/key_file.h"
#include "stamp/make_signer.h"
#include "stamp/request_body.h"
#include "stamp/stamper.h"

ABSL_FLAG(std::string, key, "", "The key file.");

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  absl::StatusOr<stampgate::PrivateKey> key = stampgate::ReadKeyFile(absl::GetFlag(FLAGS_key));
  if (!key.ok()) {
    std::cerr << key.status() << "\n";
    return EXIT_FAILURE;
  }
  const std::shared_ptr<const stampgate::Signer> signer = stampgate::MakeSigner(*std::move(key)).value();
  for (std::string line; std::getline(std::cin, line);) {
    stampgate::Stamper::Stamp(
        signer, "/", stampgate::RequestBody(stampgate::DecodeHex(line).value()),
        [](absl::StatusOr<stampgate::StampedRequest> request) { std::cout << request.value().header_value() << "\n"; });
  }
}
