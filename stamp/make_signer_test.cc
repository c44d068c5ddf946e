// Verifies that a private key is in the process's memory only once: searches the memory for the key at each step, from
// reading the key file to destroying the signer.
#include "stamp/make_signer.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/hex.h"
#include "base/testing/locked_memory.h"
#include "base/testing/temporary_file.h"
#include "gtest/gtest.h"
#include "stamp/key_file.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

// A byte pattern to search for. Its bytes are stored XORed with a constant, so that the search does not find this
// object itself.
class Hidden {
 public:
  explicit Hidden(std::vector<uint8_t> turned) : turned_(std::move(turned)) {}

  size_t size() const { return turned_.size(); }
  uint8_t byte(size_t i) const { return static_cast<uint8_t>(turned_[i] ^ kTurn); }
  Hidden Reversed() const { return Hidden({turned_.rbegin(), turned_.rend()}); }
  Hidden Hex() const {
    std::vector<uint8_t> hex;
    for (size_t i = 0; i < size(); ++i) {
      for (int digit : {byte(i) >> 4, byte(i) & 15})
        hex.push_back(static_cast<uint8_t>("0123456789abcdef"[digit] ^ kTurn));
    }
    return Hidden(std::move(hex));
  }
  bool IsAt(const uint8_t* place) const {
    // Compares single bytes. Otherwise the compiler could hold the whole pattern in a register, write the register to
    // the stack, and the search would find the pattern there.
    for (size_t i = 0; i < size(); ++i) {
      if (place[i] != byte(i)) return false;
    }
    return true;
  }

 private:
  static constexpr volatile uint8_t kTurn = 0xa5;

  std::vector<uint8_t> turned_;
};

// Returns how often the pattern occurs in this process's memory.
int CountInMemory(const Hidden& pattern) {
  constexpr size_t kWindow = 1 << 20;
  void* window = mmap(nullptr, kWindow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto window_start = reinterpret_cast<uintptr_t>(window);
  const auto* bytes = static_cast<const uint8_t*>(window);
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(memory, 0);
  // A line of /proc/self/maps may describe several adjacent mappings, one of which may be `window`, the buffer of this
  // search. The loop therefore searches the parts before and after the window.
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t start = 0, end = 0;
    char readable = '-';
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &start, &end, &readable) != 3 || readable != 'r') continue;
    const std::pair<uintptr_t, uintptr_t> parts[] = {{start, std::min(end, std::max(start, window_start))},
                                                     {std::max(start, std::min(end, window_start + kWindow)), end}};
    for (auto [from, to] : parts) {
      while (from < to) {
        const ssize_t got = pread(memory, window, std::min(kWindow, to - from), static_cast<off_t>(from));
        if (got < static_cast<ssize_t>(pattern.size())) break;
        for (const uint8_t* at = bytes; at + pattern.size() <= bytes + got; ++at) count += pattern.IsAt(at);
        from += static_cast<size_t>(got) - (pattern.size() - 1);
        if (static_cast<size_t>(got) < kWindow) break;
      }
    }
  }
  close(memory);
  sodium_memzero(window, kWindow);
  munmap(window, kWindow);
  return count;
}

struct Found {
  int big_endian, little_endian, hex;
};

bool operator==(const Found& a, const Found& b) {
  return a.big_endian == b.big_endian && a.little_endian == b.little_endian && a.hex == b.hex;
}
std::ostream& operator<<(std::ostream& out, const Found& found) {
  return out << found.big_endian << " big-endian, " << found.little_endian << " little-endian, " << found.hex << " hex";
}

Found Search(const Hidden& scalar) {
  return {CountInMemory(scalar), CountInMemory(scalar.Reversed()), CountInMemory(scalar.Hex())};
}

Hidden RandomScalar() {
  std::vector<uint8_t> turned(kScalarBytes);
  randombytes_buf(turned.data(), turned.size());
  turned[0] = 0xff;  // the XOR makes it 0x5a, so that the scalar is below the order of every curve
  return Hidden(std::move(turned));
}

std::string Der(Curve curve, absl::string_view scalar) {
  switch (curve) {
    case Curve::kP256:
      return absl::StrCat(DecodeHex("30310201010420").value(), scalar, DecodeHex("a00a06082a8648ce3d030107").value());
    case Curve::kSecp256k1:
      return absl::StrCat(DecodeHex("302e0201010420").value(), scalar, DecodeHex("a00706052b8104000a").value());
    case Curve::kEd25519:
      return absl::StrCat(DecodeHex("302e020100300506032b657004220420").value(), scalar);
  }
  return "";
}

// Writes a key file for `scalar` and returns its path. A child process writes it, so that this process's memory never
// contains the text of the file.
std::string WriteKeyFile(Curve curve, bool pem, const Hidden& scalar) {
  const std::string path = TempPath("leak.key");
  const pid_t child = fork();
  if (child == 0) {
    std::string bytes;
    for (size_t i = 0; i < scalar.size(); ++i) bytes.push_back(static_cast<char>(scalar.byte(i)));
    const char* label = curve == Curve::kEd25519 ? "PRIVATE KEY" : "EC PRIVATE KEY";
    WriteTemp("leak.key", pem ? absl::StrCat("-----BEGIN ", label, "-----\n", absl::Base64Escape(Der(curve, bytes)),
                                             "\n-----END ", label, "-----\n")
                              : absl::StrCat(absl::BytesToHexString(bytes), ":", CurveName(curve), "\n"));
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return path;
}

class KeyInMemoryTest : public testing::TestWithParam<std::pair<Curve, bool>> {};

INSTANTIATE_TEST_SUITE_P(CurvesAndFormats, KeyInMemoryTest,
                         testing::Values(std::pair(Curve::kP256, false), std::pair(Curve::kP256, true),
                                         std::pair(Curve::kSecp256k1, false), std::pair(Curve::kSecp256k1, true),
                                         std::pair(Curve::kEd25519, false), std::pair(Curve::kEd25519, true)),
                         [](const auto& info) {
                           return absl::StrCat(CurveName(info.param.first), info.param.second ? "Pem" : "Hex");
                         });

TEST_P(KeyInMemoryTest, TheKeyIsInMemoryOnceUntilItsSignerIsDestroyedAndThenNoMore) {
  if (IsSanitized()) GTEST_SKIP() << "the sanitizer keeps freed memory";
  const auto [curve, pem] = GetParam();
  const Hidden scalar = RandomScalar();
  const std::string path = WriteKeyFile(curve, pem, scalar);
  EXPECT_EQ(Search(scalar), (Found{0, 0, 0}));

  absl::StatusOr<PrivateKey> key = ReadKeyFile(path);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(Search(scalar), (Found{1, 0, 0}));

  std::shared_ptr<const Signer> signer = MakeSigner(*std::move(key)).value();
  // OpenSSL stores numbers in little-endian order.
  const Found once = curve == Curve::kEd25519 ? Found{1, 0, 0} : Found{0, 1, 0};
  EXPECT_EQ(Search(scalar), once);

  for (int i = 0; i < 100; ++i) SignNow(*signer, absl::StrCat(i));
  EXPECT_EQ(Search(scalar), once);

  signer.reset();
  EXPECT_EQ(Search(scalar), (Found{0, 0, 0}));
}

TEST(KeyInMemoryControlTest, TheSearchFindsEveryCopyOfAKey) {
  if (IsSanitized()) GTEST_SKIP() << "the sanitizer keeps freed memory";
  const Hidden pattern = RandomScalar();
  EXPECT_EQ(Search(pattern), (Found{0, 0, 0}));
  std::vector<std::unique_ptr<std::array<uint8_t, kScalarBytes>>> copies;
  for (int expected = 1; expected <= 3; ++expected) {
    copies.push_back(std::make_unique<std::array<uint8_t, kScalarBytes>>());
    for (size_t i = 0; i < kScalarBytes; ++i) (*copies.back())[i] = pattern.byte(i);
    EXPECT_EQ(Search(pattern), (Found{expected, 0, 0}));
  }
  EXPECT_EQ(Search(pattern.Reversed()), (Found{0, 3, 0}));
}

TEST(MakeSignerTest, MakesTheSignerForTheCurveOfTheKey) {
  for (Curve curve : kCurves) {
    PrivateKey key = ParseKeyText(absl::StrCat(std::string(64, '1'), ":", CurveName(curve))).value();
    const std::string public_key = DerivePublicKey(key).value().Hex();
    std::shared_ptr<const Signer> signer = MakeSigner(std::move(key)).value();
    EXPECT_EQ(signer->scheme(), StampScheme(curve));
    EXPECT_EQ(signer->public_key_hex(), public_key);
  }
}

TEST(MakeSignerTest, RefusesABadScalar) {
  for (Curve curve : kCurves) {
    EXPECT_EQ(MakeSigner(PrivateKey{curve, SecretBytes::Create(kScalarBytes).value()}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace stampgate
