#include "gateway/audit/chain.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gateway/audit/testing.h"

namespace stampgate {
namespace {

// The MACs were computed with Python: hmac.new(bytes(range(32)), previous + text, hashlib.sha256).
constexpr struct {
  const char* members;
  const char* mac;
} kKnown[] = {
    {R"("time":"2026-01-02T03:04:05.678901Z","kind":"start","format":2,"version":"0.1.0","closed":0)",
     "b99890ce3257da971191b14e083459de3aca5ecd77dd930043489dd1003bdddb"},
    {R"("time":"2026-01-02T03:04:05.678901Z","kind":"allow","caller":"payments",)"
     R"("method":"/stampgate.v1.PolicyService/GetPolicy","organization_id":"org-1","key":"main",)"
     R"("body_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","policy_version":"v7")",
     "e292c4a0c0462345a75f2ddd7d2a82dec7e6725cf90ab71d011ca16ba9947093"},
    {R"("time":"2026-01-02T03:04:05.678901Z","kind":"outcome","allow":2,"code":"OK","activity_id":"act-1",)"
     R"("duration_us":1500)",
     "fa6e739ad9d507ed3247837a7fd8b13380ae999a3a90bb40e83209ce6440799f"},
};

AuditChain Chain(uint8_t first = 0) { return AuditChain::Create(TestAuditKey(first)).value(); }

std::vector<std::string> KnownLines() {
  std::vector<std::string> lines;
  for (const auto& known : kKnown) {
    lines.push_back(absl::StrCat("{\"seq\":", lines.size() + 1, ",", known.members, ",\"mac\":\"", known.mac, "\"}"));
  }
  return lines;
}

TEST(AuditChainTest, AppendLineWritesTheKnownLines) {
  AuditChain chain = Chain();
  AuditPosition position;
  std::string out;
  for (const auto& known : kKnown) {
    chain.AppendLine(known.members, &position, out);
    EXPECT_EQ(MacHex(position.mac), known.mac);
  }
  EXPECT_EQ(position.sequence, 3);
  const std::vector<std::string> lines = KnownLines();
  EXPECT_EQ(out, absl::StrCat(lines[0], "\n", lines[1], "\n", lines[2], "\n"));
}

TEST(AuditChainTest, FollowsAcceptsTheKnownLines) {
  AuditChain chain = Chain();
  AuditMac mac{};
  for (const std::string& line : KnownLines()) {
    const AuditMac previous = mac;
    ASSERT_TRUE(chain.Follows(line, previous, &mac)) << line;
  }
}

TEST(AuditChainTest, AChangedLineDoesNotFollow) {
  AuditChain chain = Chain();
  const std::string line = KnownLines()[0];
  AuditMac mac;
  ASSERT_TRUE(chain.Follows(line, AuditMac{}, &mac));
  for (size_t i = 0; i < line.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = line;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(chain.Follows(changed, AuditMac{}, &mac)) << changed;
    }
    EXPECT_FALSE(chain.Follows(line.substr(0, i), AuditMac{}, &mac)) << i;
    EXPECT_FALSE(chain.Follows(line.substr(i + 1), AuditMac{}, &mac)) << i;
  }
}

TEST(AuditChainTest, ALineFollowsOnlyOneRecordAndOnlyWithOneKey) {
  AuditMac mac;
  EXPECT_FALSE(Chain().Follows(KnownLines()[1], AuditMac{}, &mac));
  EXPECT_FALSE(Chain(1).Follows(KnownLines()[0], AuditMac{}, &mac));
  // At another place in the chain, a record with the same members has another MAC.
  AuditChain chain = Chain();
  AuditPosition position;
  std::string out;
  chain.AppendLine(kKnown[0].members, &position, out);
  const AuditMac first = position.mac;
  chain.AppendLine(kKnown[0].members, &position, out);
  EXPECT_NE(position.mac, first);
}

TEST(AuditChainTest, RefusesAKeyOfAnotherSize) {
  EXPECT_EQ(AuditChain::Create(SecretBytes::Create(31).value()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AuditChain::Create(SecretBytes::Create(33).value()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(AuditHeadTest, ParseAuditHeadReadsTheTextOfToString) {
  const std::string text = absl::StrCat("18446744073709551615:", kKnown[0].mac);
  absl::StatusOr<AuditHead> head = ParseAuditHead(text);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->sequence, 18446744073709551615u);
  EXPECT_EQ(head->mac_hex, kKnown[0].mac);
  EXPECT_EQ(head->ToString(), text);
}

TEST(AuditHeadTest, ParseAuditHeadRefusesOtherText) {
  const std::string mac = kKnown[0].mac;
  for (const std::string& text :
       {std::string(), mac, ":" + mac, std::string("7:"), "7:" + mac + "0", "7:" + mac.substr(1), "-7:" + mac,
        "7x:" + mac, "7:" + std::string(64, 'A'), "18446744073709551616:" + mac}) {
    EXPECT_EQ(ParseAuditHead(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace stampgate
