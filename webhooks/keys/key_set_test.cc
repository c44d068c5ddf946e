#include "webhooks/keys/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/json/hex.h"
#include "webhooks/keys/jwk_set.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The public key of the seed 00 01 ... 1f, in hex and in base64url.
constexpr char kPublicKey[] = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";
constexpr char kX[] = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg";
// Another public key, which tests/vectors/webhooks.json also contains.
constexpr char kOtherX[] = "TYqvxXBsOVT1wgZApdargB-iP-YOcnRpablSW5Q9Gpg";

std::string Key(absl::string_view kid, absl::string_view x, absl::string_view more = "") {
  return absl::StrCat(R"({"kid":")", kid, R"(","kty":"OKP","crv":"Ed25519","x":")", x, "\"", more, "}");
}

std::string Set(absl::string_view keys) { return absl::StrCat(R"({"keys":[)", keys, "]}"); }

std::string EncodeKey(absl::string_view hex) { return absl::WebSafeBase64Escape(DecodeHex(hex).value()); }

std::string ErrorOf(std::string json) {
  absl::StatusOr<KeySet> set = KeySet::Parse(std::move(json), "Service");
  if (set.ok()) return "OK";
  EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(set.status().message());
}

// Parses a set with a usable key and `key`. Returns why `key` was left out, or an empty text if `key` is usable.
std::string RefusalOf(absl::string_view key) {
  absl::StatusOr<KeySet> set = KeySet::Parse(Set(absl::StrCat(Key("good", kX), ",", key)), "Service");
  if (!set.ok()) return absl::StrCat("ERROR ", set.status().message());
  EXPECT_NE(set->Find("good"), nullptr);
  if (set->refused().empty()) return "";
  EXPECT_EQ(set->refused().size(), 1);
  return set->refused().front();
}

TEST(KeySetTest, ReadsAKeySetInUpstreamsForm) {
  absl::StatusOr<KeySet> set = KeySet::Parse(R"({"keys": [
    {"kid":"webhook-key-1","kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig",
     "x":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg",
     "turnkey_signature_algorithm":"ed25519","turnkey_signature_version":"v1"},
    {"kid":"0b6f6c0e-6d0e-4a0f-9a3c-3d1f5f0c8a11","kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig",
     "x":"TYqvxXBsOVT1wgZApdargB-iP-YOcnRpablSW5Q9Gpg",
     "turnkey_signature_algorithm":"ed25519","turnkey_signature_version":"v1"}]})",
                                             "Turnkey");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->refused(), IsEmpty());
  const VerificationKey* key = set->Find("webhook-key-1");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(absl::BytesToHexString({reinterpret_cast<const char*>(key->public_key.data()), key->public_key.size()}),
            kPublicKey);
  EXPECT_EQ(key->signature_algorithm, "ed25519");
  EXPECT_EQ(key->signature_version, "v1");
  EXPECT_NE(set->Find("0b6f6c0e-6d0e-4a0f-9a3c-3d1f5f0c8a11"), nullptr);
  EXPECT_EQ(set->Find("webhook-key-2"), nullptr);
  EXPECT_EQ(set->Find("Webhook-Key-1"), nullptr);
  EXPECT_EQ(set->Find(""), nullptr);
}

TEST(KeySetTest, AcceptsAKeyThatHasOnlyIdTypeCurveAndPoint) {
  absl::StatusOr<KeySet> set =
      KeySet::Parse(Set(Key("a", kX, R"(,"key_ops":["verify"],"x5c":null,"d":1e400)")), "Service");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_NE(set->Find("a"), nullptr);
  EXPECT_EQ(set->Find("a")->signature_algorithm, "ed25519");
  EXPECT_EQ(set->Find("a")->signature_version, "v1");
}

TEST(KeySetTest, KeepsTheAlgorithmAndVersionOfAKey) {
  const std::string json = Set(Key("a", kX, R"(,"service_signature_algorithm":"x","service_signature_version":"v2",
                                                "other_signature_version":"v3","Service_signature_version":"v4")"));
  absl::StatusOr<KeySet> set = KeySet::Parse(json, "SERVICE");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->Find("a")->signature_algorithm, "x");
  EXPECT_EQ(set->Find("a")->signature_version, "v2");
}

TEST(KeySetTest, LeavesOutKeysThatCannotBeUsed) {
  const std::string good = Key("b", kOtherX, R"(,"alg":"EdDSA","use":"sig")");
  ASSERT_EQ(RefusalOf(good), "");
  struct {
    const char *from, *to, *refusal;
  } const cases[] = {
      {"\"OKP\"", "\"EC\"", "kty is not OKP"},
      {"\"OKP\"", "\"okp\"", "kty is not OKP"},
      {"\"kty\"", "\"kt\"", "kty is not OKP"},
      {"\"Ed25519\"", "\"X25519\"", "crv is not Ed25519"},
      {"\"Ed25519\"", "\"Ed448\"", "crv is not Ed25519"},
      {"\"crv\"", "\"cr\"", "crv is not Ed25519"},
      {"\"EdDSA\"", "\"ES256\"", "alg is not EdDSA"},
      {"\"EdDSA\"", "\"none\"", "alg is not EdDSA"},
      {"\"EdDSA\"", "\"\"", "alg is not EdDSA"},
      {"\"sig\"", "\"enc\"", "use is not sig"},
      {"\"kid\"", "\"id\"", "kid is missing or not 1 to 1024 visible characters"},
      {"\"b\"", "\"\"", "kid is missing or not 1 to 1024 visible characters"},
      {"\"b\"", "\"b \"", "kid is missing or not 1 to 1024 visible characters"},
      {"\"b\"", "\"b\\u0000\"", "kid is missing or not 1 to 1024 visible characters"},
      {"\"b\"", "\"\xc3\xa9\"", "kid is missing or not 1 to 1024 visible characters"},
      {"\"x\"", "\"y\"", "x is not 32 bytes in canonical base64url"},
      {"\"b\"", "1", "a member of another type than text"},
      {"\"b\"", "\"\\ud800\"", "a member of another type than text"},
      {"\"EdDSA\"", "null", "a member of another type than text"},
      {"\"sig\"", "[\"sig\"]", "a member of another type than text"},
      {"\"sig\"", "\"sig\",\"service_signature_version\":1", "a member of another type than text"},
  };
  for (const auto& one : cases) {
    const std::string key = absl::StrReplaceAll(good, {{one.from, one.to}});
    ASSERT_NE(key, good);
    EXPECT_EQ(RefusalOf(key), absl::StrCat("key 1: ", one.refusal)) << key;
    EXPECT_THAT(ErrorOf(Set(key)), HasSubstr(one.refusal)) << key;
  }
  for (const char* key : {"1", "null", "[]", "\"text\""}) EXPECT_EQ(RefusalOf(key), "key 1: not an object");
  EXPECT_EQ(RefusalOf(Key(std::string(1024, 'k'), kOtherX)), "");
  EXPECT_EQ(RefusalOf(Key("a+b/c= .d", kOtherX)), "");
  EXPECT_THAT(RefusalOf(Key(std::string(1025, 'k'), kOtherX)), HasSubstr("kid is missing"));
}

TEST(KeySetTest, RefusesAPointThatIsNotInCanonicalBase64Url) {
  ASSERT_EQ(RefusalOf(Key("b", kX)), "");
  const std::string x = kX;
  const std::string padded = x + "=";
  const std::string standard = absl::StrReplaceAll(x, {{"_", "/"}, {"-", "+"}});
  ASSERT_NE(standard, x);
  // The last character encodes four bits of the point, and its other two bits must be zero.
  const std::string loose_bits = x.substr(0, 42) + "h";
  ASSERT_EQ(x.back(), 'g');
  std::string bytes;
  ASSERT_TRUE(absl::WebSafeBase64Unescape(x, &bytes));
  for (const std::string& wrong :
       {padded, standard, loose_bits, std::string(), x.substr(0, 42), x + "A", x.substr(0, 21) + " " + x.substr(21),
        x.substr(0, 42) + " ", "\\n" + x.substr(1), absl::WebSafeBase64Escape(bytes.substr(0, 31)),
        absl::WebSafeBase64Escape(bytes + '\0'), std::string(kPublicKey), std::string(43, '.')}) {
    EXPECT_EQ(RefusalOf(Key("b", wrong)), "key 1: x is not 32 bytes in canonical base64url") << wrong;
  }
}

// The set refuses every encoding of each point whose order divides 8. With such a key, one fixed signature would be
// valid for many messages or for all messages.
TEST(KeySetTest, RefusesAKeyOfSmallOrder) {
  for (const char* hex : {"0100000000000000000000000000000000000000000000000000000000000000",
                          "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
                          "0000000000000000000000000000000000000000000000000000000000000080",
                          "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
                          "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                          "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
                          "0000000000000000000000000000000000000000000000000000000000000000",
                          "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
                          "0100000000000000000000000000000000000000000000000000000000000080",
                          "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
                          "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                          "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
                          "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                          "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}) {
    EXPECT_EQ(RefusalOf(Key("b", EncodeKey(hex))), "key 1: x is not a point of the prime-order group") << hex;
  }
}

TEST(KeySetTest, RefusesAKeyOutsideOfThePrimeOrderGroup) {
  // The sum of a valid key and a point of order 8.
  const std::string good = DecodeHex(kPublicKey).value();
  const std::string torsion = DecodeHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a").value();
  std::string mixed(32, '\0');
  ASSERT_EQ(
      crypto_core_ed25519_add(reinterpret_cast<uint8_t*>(mixed.data()), reinterpret_cast<const uint8_t*>(good.data()),
                              reinterpret_cast<const uint8_t*>(torsion.data())),
      0);
  for (const std::string& point : {
           mixed,
           // y = 2 is not on the curve. y = 3 is on the curve but not in the group, and p + 3 is another encoding of y
           // = 3.
           DecodeHex("0200000000000000000000000000000000000000000000000000000000000000").value(),
           DecodeHex("0300000000000000000000000000000000000000000000000000000000000000").value(),
           DecodeHex("f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f").value(),
           std::string(32, '\xff'),
       }) {
    EXPECT_EQ(RefusalOf(Key("b", absl::WebSafeBase64Escape(point))), "key 1: x is not a point of the prime-order group")
        << absl::BytesToHexString(point);
  }
}

TEST(KeySetTest, UsesTheFirstOfTwoKeysWithOneId) {
  const std::string other_version = Key("a", kX, R"(,"service_signature_version":"v2")");
  for (const std::string& second : {Key("a", kOtherX), other_version}) {
    absl::StatusOr<KeySet> set =
        KeySet::Parse(Set(absl::StrCat(Key("a", kX), ",", second, ",", Key("b", kX))), "Service");
    ASSERT_TRUE(set.ok()) << set.status();
    ASSERT_NE(set->Find("a"), nullptr);
    EXPECT_EQ(absl::BytesToHexString({reinterpret_cast<const char*>(set->Find("a")->public_key.data()), 32}),
              kPublicKey);
    EXPECT_EQ(set->Find("a")->signature_version, "v1");
    EXPECT_NE(set->Find("b"), nullptr) << "the other key remains usable";
    EXPECT_THAT(set->refused(), ElementsAre("key 1: an earlier key has the same kid"));
  }
  // The first key is unusable, so the second key with the same id is used.
  absl::StatusOr<KeySet> set =
      KeySet::Parse(Set(absl::StrCat(Key("a", kOtherX, R"(,"use":"enc")"), ",", Key("a", kX))), "Service");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_NE(set->Find("a"), nullptr);
  EXPECT_THAT(set->refused(), ElementsAre("key 0: use is not sig"));
}

TEST(KeySetTest, ARepeatedKeyCountsOnce) {
  absl::StatusOr<KeySet> set = KeySet::Parse(
      Set(absl::StrCat(Key("a", kX), ",", Key("a", kX, R"(,"service_signature_version":"v1")"), ",", Key("b", kX))),
      "Service");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->refused(), IsEmpty());
  EXPECT_NE(set->Find("a"), nullptr);
  EXPECT_NE(set->Find("b"), nullptr);
}

TEST(KeySetTest, NamesTheIndexAndReasonOfEachKeyThatItLeavesOut) {
  absl::StatusOr<KeySet> set = KeySet::Parse(
      Set(absl::StrCat("7,", Key("a", kX), ",", Key("b\\tc", kX), ",", Key("d", kX, R"(,"alg":"ES256")"))), "Service");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->refused(),
              ElementsAre("key 0: not an object", "key 2: kid is missing or not 1 to 1024 visible characters",
                          "key 3: alg is not EdDSA"));
}

TEST(KeySetTest, RefusesATextThatIsNotAKeySet) {
  for (const char* json : {"{}", R"({"keys":{}})", R"({"keys":null})", R"({"Keys":[]})"}) {
    EXPECT_EQ(ErrorOf(json), "the key set has no list of keys") << json;
  }
  EXPECT_EQ(ErrorOf(R"({"keys":[]})"), "the key set has no key that can be used");
  EXPECT_EQ(ErrorOf(Set("7,8")), "the key set has no key that can be used; key 0: not an object");
  const std::string good = Set(Key("a", kX));
  ASSERT_EQ(ErrorOf(good), "OK");
  for (const std::string& json :
       {std::string(), std::string("[]"), std::string("null"), std::string("<html></html>"), good + good, good + "x",
        good.substr(0, good.size() - 1), "\xef\xbb\xbf" + good, absl::StrReplaceAll(good, {{"\"a\"", "\"\xff\""}}),
        absl::StrReplaceAll(good, {{R"("kid")", R"("kid":"b","kid")"}}),
        absl::StrReplaceAll(good, {{R"({"keys")", R"({"keys":[],"\u006beys")"}})}) {
    EXPECT_NE(ErrorOf(json), "OK") << json;
  }
}

TEST(KeySetTest, RefusesASetThatExceedsTheLimits) {
  std::string keys = Key("k0", kX);
  for (size_t i = 1; i < kMaxKeys; ++i) absl::StrAppend(&keys, ",", Key(absl::StrCat("k", i), kX));
  EXPECT_EQ(ErrorOf(Set(keys)), "OK");
  EXPECT_EQ(ErrorOf(Set(keys + ",7")), "the key set has too many keys");

  std::string json = Set(Key("a", kX));
  json.resize(kMaxKeySetBytes, ' ');
  EXPECT_EQ(ErrorOf(json), "OK");
  EXPECT_EQ(ErrorOf(json + " "), "the key set is too large");
  EXPECT_NE(ErrorOf(absl::StrCat(R"({"keys":)", std::string(60'000, '['))), "OK");
}

TEST(KeySetTest, ErrorsNeverContainAValueOfAKey) {
  const std::string good = Key("canary", kX, R"(,"alg":"EdDSA","use":"sig")");
  for (const char* value : {"OKP", "Ed25519", "EdDSA", "sig", kX}) {
    const std::string wrong = absl::StrReplaceAll(good, {{value, "canary.canary"}});
    EXPECT_THAT(ErrorOf(Set(wrong)), Not(HasSubstr("canary"))) << value;
    EXPECT_THAT(RefusalOf(wrong), Not(HasSubstr("canary"))) << value;
  }
  EXPECT_THAT(RefusalOf(Key("good", kOtherX)), Not(HasSubstr("good")));
  EXPECT_THAT(ErrorOf(Set(good) + "canary"), Not(HasSubstr("canary")));
  EXPECT_THAT(ErrorOf(Set(R"({"canary":"canary","canary":1})")), Not(HasSubstr("canary")));
}

// Changes a key set at random. Each key that Find returns must be valid.
TEST(KeySetTest, FindsOnlyValidKeysInADamagedSet) {
  const std::string good = Set(absl::StrCat(Key("a", kX, R"(,"alg":"EdDSA","use":"sig")"), ",", Key("b", kOtherX)));
  std::mt19937 random(20231114);
  int sets = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string json = good;
    for (int i = std::uniform_int_distribution<int>(1, 3)(random); i > 0; --i) {
      const size_t at = std::uniform_int_distribution<size_t>(0, json.size() - 1)(random);
      switch (std::uniform_int_distribution<int>(0, 3)(random)) {
        case 0:
          json[at] = static_cast<char>(json[at] ^ (1 << std::uniform_int_distribution<int>(0, 7)(random)));
          break;
        case 1:
          json[at] = "{}[]\",:\\ 0aZ"[std::uniform_int_distribution<int>(0, 11)(random)];
          break;
        case 2:
          json.erase(at, 1);
          break;
        default:
          json.insert(at, json.substr(at / 2, 5));
      }
    }
    absl::StatusOr<KeySet> set = KeySet::Parse(json, "Service");
    if (!set.ok()) {
      EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ++sets;
    for (const char* id : {"a", "b"}) {
      const VerificationKey* key = set->Find(id);
      if (key == nullptr) continue;
      EXPECT_EQ(crypto_core_ed25519_is_valid_point(key->public_key.data()), 1) << json;
    }
  }
  EXPECT_GT(sets, 1000);
  EXPECT_LT(sets, 19'000);
}

}  // namespace
}  // namespace stampgate
