// Keys and tokens of an issuer, for tests. What cannot be made aborts.
#ifndef STAMPGATE_GATEWAY_TOKENS_TESTING_H_
#define STAMPGATE_GATEWAY_TOKENS_TESTING_H_

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

std::string Base64Url(absl::string_view bytes);

class TestTokenKey {
 public:
  // A new key: "RSA" with that many bits, or a curve such as "P-256".
  explicit TestTokenKey(const std::string& type, unsigned bits = 2048);

  // Of the JSON Web Key; empty where it has none.
  std::string n() const;
  std::string e() const;
  std::string x() const;
  std::string y() const;
  // The whole public key, with more members such as R"("kid":"a")".
  std::string Jwk(absl::string_view members = "") const;
  // The public key in PEM.
  std::string Pem() const;

  // As a JSON Web Signature has it, with a padding (RSA) and a hash of OpenSSL's.
  std::string Sign(absl::string_view text, const EVP_MD* hash = EVP_sha256(), int padding = 1) const;
  // What OpenSSL gives.
  std::string SignDer(absl::string_view text) const;

  // A token in the compact form.
  std::string Token(absl::string_view header, absl::string_view payload) const;

 private:
  bool is_rsa_;
  std::shared_ptr<EVP_PKEY> key_;
};

// {"keys":[...]}
std::string JwksOf(const std::vector<std::string>& keys);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_TESTING_H_
