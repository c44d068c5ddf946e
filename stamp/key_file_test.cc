#include "stamp/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/secret/file.h"
#include "base/testing/temporary_file.h"
#include "gtest/gtest.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

constexpr absl::StatusCode kBadContent = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kDenied = absl::StatusCode::kPermissionDenied;

constexpr char kHex[] = "cf9c72915ea8bf71d8993d21d2dac3474508567ae98952cee6390556cdd0b739";
constexpr char kHexPublic[] = "0294a0ca4705304fd9c41f570a33c4cef457bfd34619d621e0fcff191b1c3d7cfd";
constexpr char kEdSeed[] = "664a17f49568fbd80b435f30562789f9395e1560daf1551fd4ea96d761872f27";
constexpr char kEdPublic[] = "040401746fe71cfdd266ec99f1c4fc5113b70ff0fb7cdb33201086d1092ec6dd";

// Expects that ReadKeyFile fails with this code and rule. Compares the whole message, and so proves that the message
// quotes nothing of the file's content.
void ExpectRefused(const std::string& path, absl::StatusCode code, absl::string_view rule) {
  const absl::Status status = ReadKeyFile(path).status();
  EXPECT_EQ(status.code(), code) << path;
  EXPECT_EQ(status.message(), absl::StrCat("key file ", path, ": ", rule));
}

TEST(KeyFileTest, ReadsKeysInHex) {
  const std::string hex = kHex;
  struct {
    std::string content;
    Curve curve;
    const char* public_key;
  } const cases[] = {
      {hex, Curve::kP256, kHexPublic},
      {hex + "\n", Curve::kP256, kHexPublic},
      {hex + "\r\n", Curve::kP256, kHexPublic},
      {absl::AsciiStrToUpper(hex), Curve::kP256, kHexPublic},
      {hex + ":p256", Curve::kP256, kHexPublic},
      {hex + ":p256\n", Curve::kP256, kHexPublic},
      {"a357884bb899dc98810964005e5518256b90e3d3e110550871a8c8c237a15e23:secp256k1", Curve::kSecp256k1,
       "0221447781737a79edfebe52ee923f6303f5fa080e1ef8c6675fc55c2e443bed24"},
      {absl::StrCat(kEdSeed, ":ed25519\r\n"), Curve::kEd25519, kEdPublic},
      {absl::StrCat(kEdSeed, kEdPublic, ":ed25519"), Curve::kEd25519, kEdPublic},
  };
  for (const auto& expected : cases) {
    absl::StatusOr<PrivateKey> key = ReadKeyFile(WriteTemp("hex.key", expected.content));
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(key->curve, expected.curve);
    EXPECT_EQ(key->scalar.size(), kScalarBytes);
    EXPECT_EQ(DerivePublicKey(*key).value().Hex(), expected.public_key);
  }
}

TEST(KeyFileTest, ReadsKeysInPem) {
  const std::string path = WriteTemp("pem.key", "");
  ASSERT_TRUE(RunCommand(absl::StrCat("openssl ecparam -name secp256k1 -genkey -noout -out ", path)));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(ReadKeyFile(path).value().curve, Curve::kSecp256k1);
}

TEST(KeyFileTest, TheErrorForBadContentNamesItsFault) {
  const std::string hex = kHex;
  const std::string shape = "it is neither PEM nor <hex>[:<curve>] with 64 hex digits (64 or 128 for ed25519)";
  const std::string curve = "the curve after the colon is not p256, secp256k1 or ed25519";
  const std::string digits = "it has a character that is not a hex digit where hex digits are expected";
  const std::string range = "its scalar is not between 1 and the curve's order";
  const std::string pair = "its public key does not belong to its private key";
  std::string with_nul = hex;
  with_nul[10] = '\0';
  struct {
    std::string content, rule;
  } const cases[] = {
      {"", "it is empty"},
      {"\n", shape},
      {std::string(4097, 'a'), "it is larger than 4096 bytes"},
      {std::string(4096, 'a'), shape},
      {hex.substr(1), shape},
      {hex.substr(2), shape},
      {hex + "0", shape},
      {"0x" + hex, shape},
      {hex + "\n\n", shape},
      {"\n" + hex, shape},
      {" " + hex, shape},
      {hex + " ", shape},
      {hex + "\n" + hex + "\n", shape},
      {hex + hex, shape},
      {absl::StrCat("\xef\xbb\xbf", hex), shape},
      {hex + ":p256\n\n", curve},
      {hex + ":p256 ", curve},
      {hex + ":P256", curve},
      {hex + ":", curve},
      {hex + ":p384", curve},
      {hex + ":p256:p256", curve},
      {hex + hex + ":p256", shape},
      {std::string(63, '1') + "g", digits},
      {with_nul, digits},
      {hex.substr(0, 32) + "\n" + hex.substr(33), digits},
      {std::string(64, '0'), range},
      {std::string(64, '0') + ":secp256k1", range},
      {std::string(64, 'f'), range},
      {"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", range},
      {"fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141:secp256k1", range},
      {std::string(64, '0') + ":ed25519", "its seed is all zero"},
      {absl::StrCat(kEdSeed, kEdSeed, ":ed25519"), pair},
      {absl::StrCat(kEdPublic, kEdSeed, ":ed25519"), pair},
      {absl::StrCat(kEdSeed, std::string(64, 'z'), ":ed25519"), digits},
      {"{\"privateKey\":\"" + hex + "\"}", curve},
      {hex + "\n-----BEGIN PRIVATE KEY-----\n", "it has text before the PEM block"},
  };
  for (const auto& bad : cases) ExpectRefused(WriteTemp("bad.key", bad.content), kBadContent, bad.rule);
}

TEST(KeyFileTest, AcceptsOnlyModesThatDenyAccessToOtherUsers) {
  const std::string path = WriteTemp("mode.key", kHex);
  for (mode_t mode : {0400, 0440, 0600, 0640, 0700}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(ReadKeyFile(path).ok()) << std::oct << mode;
  }
  for (mode_t mode : {0604, 0602, 0601, 0644, 0660, 0620, 0666, 0777, 0444}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    ExpectRefused(path, kDenied, "others may use it or its group may write it: its mode must be 0600, 0400 or 0440");
  }
}

TEST(KeyFileTest, RefusesAFileOfAnotherUser) {
  const std::string path = WriteTemp("owner.key", kHex);
  if (chown(path.c_str(), 12345, static_cast<gid_t>(-1)) != 0)
    GTEST_SKIP() << "only root can change the owner of a file";
  ExpectRefused(path, kDenied,
                absl::StrCat("its owner is the user 12345, who is neither root nor the user of this process (",
                             geteuid(), "): change the owner, or list 12345 in the setting secret_file_owners"));
  EXPECT_EQ(ReadSecretFile(path, {100, 12345}).status(), absl::OkStatus());
  EXPECT_EQ(ReadSecretFile(path, {100}).status().code(), kDenied);
  ASSERT_EQ(chmod(path.c_str(), 0604), 0);
  EXPECT_EQ(ReadSecretFile(path, {12345}).status().code(), kDenied);
}

TEST(KeyFileTest, RejectsAPathThatIsNotARegularFile) {
  constexpr char kRule[] = "it is not a regular file";
  const std::string directory = TempPath("directory.key");
  ASSERT_TRUE(mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST);
  ExpectRefused(directory, absl::StatusCode::kFailedPrecondition, kRule);

  const std::string fifo = TempPath("fifo.key");
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ExpectRefused(fifo, absl::StatusCode::kFailedPrecondition,
                kRule);  // ReadKeyFile does not wait until a process writes to the FIFO

  ExpectRefused("/dev/zero", absl::StatusCode::kFailedPrecondition, kRule);
  ExpectRefused("/dev/null", absl::StatusCode::kFailedPrecondition, kRule);
}

TEST(KeyFileTest, ReportsAMissingFile) {
  ExpectRefused(TempPath("none.key"), absl::StatusCode::kNotFound, "it cannot be opened: No such file or directory");
  EXPECT_EQ(ReadKeyFile("").status().code(), absl::StatusCode::kNotFound);
}

// Kubernetes mounts a secret through symbolic links: key -> ..data/key, ..data -> ..2026_01. ReadKeyFile checks the
// mode of the file to which the links lead, not the modes of the links.
TEST(KeyFileTest, FollowsSymbolicLinks) {
  const std::string root = TempPath("mounted");
  ASSERT_TRUE(RunCommand(absl::StrCat("rm -rf ", root, " && mkdir -p ", root, "/..2026_01 && printf %s ", kHex, " > ",
                                      root, "/..2026_01/key && chmod 0440 ", root, "/..2026_01/key && ln -s ..2026_01 ",
                                      root, "/..data && ln -s ..data/key ", root, "/key")));
  EXPECT_TRUE(ReadKeyFile(root + "/key").ok());
  ASSERT_EQ(chmod((root + "/..2026_01/key").c_str(), 0444), 0);
  EXPECT_EQ(ReadKeyFile(root + "/key").status().code(), kDenied);

  const std::string link = TempPath("link.key");
  unlink(link.c_str());
  ASSERT_EQ(symlink("/dev/zero", link.c_str()), 0);
  EXPECT_EQ(ReadKeyFile(link).status().code(), absl::StatusCode::kFailedPrecondition);
  unlink(link.c_str());
  ASSERT_EQ(symlink("link.key", link.c_str()), 0);
  EXPECT_FALSE(ReadKeyFile(link).ok());
}

}  // namespace
}  // namespace stampgate
