// Creates keys and tokens of an issuer for tests. Aborts if it cannot create one.
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
  // Generates a key. `type` is "RSA", which uses `bits`, or a curve such as "P-256".
  explicit TestTokenKey(const std::string& type, unsigned bits = 2048);

  // The members of the JSON Web Key. A member that this type of key does not have is empty.
  std::string n() const;
  std::string e() const;
  std::string x() const;
  std::string y() const;
  // Returns the public key as a JSON Web Key, with further members such as R"("kid":"a")".
  std::string Jwk(absl::string_view members = "") const;
  // Returns the public key in PEM.
  std::string Pem() const;

  // Signs `text` and returns the signature in the form of a JSON Web Signature. `hash` and `padding` (for RSA) are
  // values of OpenSSL.
  std::string Sign(absl::string_view text, const EVP_MD* hash = EVP_sha256(), int padding = 1) const;
  // Signs `text` and returns the signature in OpenSSL's form, which is DER for ECDSA.
  std::string SignDer(absl::string_view text) const;

  // Returns a signed token in the compact form.
  std::string Token(absl::string_view header, absl::string_view payload) const;

 private:
  bool is_rsa_;
  std::shared_ptr<EVP_PKEY> key_;
};

// Returns a key set: {"keys":[...]}.
std::string JwksOf(const std::vector<std::string>& keys);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_TESTING_H_
