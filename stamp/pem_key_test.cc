#include "stamp/pem_key.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/json/hex.h"
#include "base/testing/temporary_file.h"
#include "gtest/gtest.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

constexpr char kScalar[] = "cf9c72915ea8bf71d8993d21d2dac3474508567ae98952cee6390556cdd0b739";
constexpr char kPublic[] =
    "0494a0ca4705304fd9c41f570a33c4cef457bfd34619d621e0fcff191b1c3d7cfd1415e572d00efe9ccb24209c3b3b0e56632ab4250356b433"
    "d68d"
    "e53901ad7290";
constexpr char kNamedP256[] = "a00a06082a8648ce3d030107";

std::string Pem(absl::string_view label, absl::string_view der) {
  return absl::StrCat("-----BEGIN ", label, "-----\n", absl::Base64Escape(der), "\n-----END ", label, "-----\n");
}

// Returns the hex of a DER element, given the hex of its tag and of its content.
std::string Element(absl::string_view tag, absl::string_view content) {
  const size_t size = content.size() / 2;
  return absl::StrCat(tag, size < 128 ? "" : "81", absl::Hex(size, absl::kZeroPad2), content);
}

std::string Sec1(absl::string_view scalar, absl::string_view rest) {
  return Pem("EC PRIVATE KEY", DecodeHex(Element("30", absl::StrCat("020101", Element("04", scalar), rest))).value());
}

std::string Sec1Public(absl::string_view public_key) {
  return Element("a1", Element("03", absl::StrCat("00", public_key)));
}

// Tests every form in which OpenSSL's command line writes a private key on a supported curve.
TEST(PemKeyTest, ReadsEveryFormThatOpensslWrites) {
  struct {
    Curve curve;
    const char* command;
  } const cases[] = {
      {Curve::kP256, "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"},
      {Curve::kP256, "openssl ecparam -name prime256v1 -genkey"},
      {Curve::kP256, "openssl ecparam -name prime256v1 -genkey -noout"},
      {Curve::kP256, "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -conv_form compressed 2>/dev/null"},
      {Curve::kP256, "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -no_public 2>/dev/null"},
      {Curve::kP256, "openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt"},
      {Curve::kSecp256k1, "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1"},
      {Curve::kSecp256k1, "openssl ecparam -name secp256k1 -genkey"},
      {Curve::kSecp256k1, "openssl ecparam -name secp256k1 -genkey -noout"},
      {Curve::kEd25519, "openssl genpkey -algorithm ed25519"},
  };
  for (const auto& expected : cases) {
    const std::string text = OutputOf(expected.command);
    const std::string path = WriteTemp("openssl.pem", text);
    const std::string spki =
        OutputOf(absl::StrCat(expected.curve == Curve::kEd25519 ? "openssl pkey" : "openssl ec -conv_form compressed",
                              " -pubout -outform DER -in ", path, " 2>/dev/null"));
    for (const std::string& variant :
         {text, absl::StrReplaceAll(text, {{"\n", "\r\n"}}), text.substr(0, text.size() - 1), text + "\n"}) {
      absl::StatusOr<PrivateKey> key = ParsePemKey(variant);
      ASSERT_TRUE(key.ok()) << key.status() << "\n" << expected.command;
      EXPECT_EQ(key->curve, expected.curve);
      EXPECT_EQ(PublicKeyDer(expected.curve, DerivePublicKey(*key).value().Hex()), spki) << expected.command;
    }
  }
}

// Uses the example of RFC 8410, section 10.3, which has an attribute and a public key.
TEST(PemKeyTest, ReadsTheVersion2KeyOfRfc8410) {
  absl::StatusOr<PrivateKey> key = ParsePemKey(
      "-----BEGIN PRIVATE KEY-----\n"
      "MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
      "oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB\n"
      "Z9w7lshQhqowtrbLDFw4rXAxZuE=\n"
      "-----END PRIVATE KEY-----\n");
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(DerivePublicKey(*key).value().Hex(), "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1");
}

TEST(PemKeyTest, TheErrorForABadKeyNamesItsFault) {
  const std::string good = Sec1(kScalar, absl::StrCat(kNamedP256, Sec1Public(kPublic)));
  ASSERT_TRUE(ParsePemKey(good).ok()) << ParsePemKey(good).status();
  std::string other_public = kPublic;
  other_public.back() = '1';
  const std::string compressed = absl::StrCat("02", absl::string_view(kPublic).substr(2, 64));
  ASSERT_TRUE(ParsePemKey(Sec1(kScalar, absl::StrCat(kNamedP256, Sec1Public(compressed)))).ok());
  std::string other_compressed = compressed;
  other_compressed[1] = '3';
  const std::string ed25519 = OutputOf("openssl genpkey -algorithm ed25519");
  // In this version 2 block, the public key does not belong to the seed.
  const std::string ed25519_other =
      Pem("PRIVATE KEY", DecodeHex(absl::StrCat("3051020101300506032b657004220420", kScalar, "812100",
                                                "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"))
                             .value());
  const std::string der = "its PEM block does not hold a well-formed private key";
  const std::string range = "its scalar is not between 1 and the curve's order";
  const std::string length = "its scalar is not 32 bytes long";
  const std::string pair = "its public key does not belong to its private key";
  const std::string curve = "its curve is none of P-256, secp256k1 and Ed25519";
  const std::string unnamed = "its curve is not given by name";
  const std::string cut = "its PEM block is incomplete, or its first or last line is malformed";
  const std::string label = "its PEM block has neither the label PRIVATE KEY nor EC PRIVATE KEY";
  const std::string nul = std::string("\n\0AAAA", 6);
  struct {
    std::string text, rule;
  } const cases[] = {
      {Sec1(kScalar, absl::StrCat(kNamedP256, Sec1Public(other_public))), pair},
      {Sec1(kScalar, absl::StrCat(kNamedP256, Sec1Public(other_compressed))), pair},
      {ed25519_other, pair},
      {Sec1(std::string(64, '0'), kNamedP256), range},
      {Sec1(std::string(64, 'f'), kNamedP256), range},
      {Sec1(std::string(62, '1'), kNamedP256), length},
      {Sec1(absl::StrCat("00", kScalar), kNamedP256), length},
      {Sec1("", kNamedP256), length},
      {Sec1(kScalar, ""), "it does not name its curve"},
      {Sec1(kScalar, absl::StrCat(kNamedP256, "0500")), der},
      {Sec1(kScalar, absl::StrCat(kNamedP256, "a100")), der},
      {Pem("EC PARAMETERS", DecodeHex("06052b8104000a").value()) + good, "it names two different curves"},
      {Pem("EC PRIVATE KEY", ""), der},
      {Pem("PRIVATE KEY", "\x30\x03\x02\x01"), der},
      {absl::StrReplaceAll(good, {{"EC PRIVATE", "PRIVATE"}}), der},
      {OutputOf("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384"), curve},
      {OutputOf("openssl genpkey -algorithm x25519"), curve},
      {OutputOf("openssl genpkey -algorithm ed448"), curve},
      {OutputOf("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 2>/dev/null"), curve},
      {OutputOf("openssl ecparam -name secp384r1 -genkey"), curve},
      {OutputOf("openssl ecparam -name prime256v1 -param_enc explicit -genkey"), unnamed},
      {OutputOf("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit"),
       unnamed},
      {OutputOf("openssl genpkey -algorithm ed25519 -aes256 -pass pass:x"), "it is encrypted"},
      {OutputOf("openssl ecparam -name prime256v1 -genkey -noout | openssl ec -aes256 -passout pass:x 2>/dev/null"),
       "it is encrypted"},
      {OutputOf("openssl genpkey -algorithm ed25519 | openssl pkey -pubout"),
       "it holds a public key, not a private one"},
      {OutputOf("openssl ecparam -name prime256v1"), label},
      {Pem("CERTIFICATE", "x"), label},
      {Pem("OPENSSH PRIVATE KEY", "x"), label},
      {good + good, "it has another PEM block after the key"},
      {ed25519 + "\n" + Pem("CERTIFICATE", "x"), "it has another PEM block after the key"},
      {good + "x", "it has text after the PEM block"},
      {good.substr(0, good.size() - 2), cut},
      {good.substr(0, 60), cut},
      {absl::StrReplaceAll(good, {{"-----END EC", "-----END"}}), cut},
      {absl::StrReplaceAll(good, {{"KEY-----\nM", "KEY-----\n*"}}), "its PEM block is not base64"},
      {absl::StrReplaceAll(good, {{"KEY-----\nM", "KEY-----\n M"}}), "its PEM block is not base64"},
      {absl::StrReplaceAll(good, {{"\n-----END", nul + "\n-----END"}}), "its PEM block is not base64"},
  };
  for (const auto& bad : cases) {
    const absl::Status status = ParsePemKey(bad.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.text;
    EXPECT_EQ(status.message(), bad.rule) << bad.text;
  }
}

// Whichever bytes of a PEM text are damaged, ParsePemKey returns the original key or an error, never another key.
TEST(PemKeyTest, NeverReadsAWrongKeyFromADamagedFile) {
  const std::string der = OutputOf(
      "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | openssl pkcs8 -topk8 -nocrypt -outform DER");
  const PrivateKey key = ParsePemKey(Pem("PRIVATE KEY", der)).value();
  for (size_t bit = 0; bit < 8 * der.size(); ++bit) {
    std::string damaged = der;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    absl::StatusOr<PrivateKey> read = ParsePemKey(Pem("PRIVATE KEY", damaged));
    EXPECT_TRUE(!read.ok() || read->scalar == key.scalar) << bit;
  }
  for (size_t size = 0; size < der.size(); ++size) {
    EXPECT_FALSE(ParsePemKey(Pem("PRIVATE KEY", der.substr(0, size))).ok()) << size;
  }
  const std::string text = Pem("PRIVATE KEY", der);
  for (size_t size = 0; size + 1 < text.size(); ++size) EXPECT_FALSE(ParsePemKey(text.substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace stampgate
