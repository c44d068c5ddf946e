#include "gateway/audit/later_group.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/audit/record.h"
#include "gateway/audit/testing.h"

namespace stampgate {
namespace {

const absl::Time kTime = absl::FromUnixMicros(1767323045678901);

class AuditLaterGroupTest : public ::testing::Test {
 protected:
  AuditLaterGroupTest() : path_(NewFolder() + "audit.log") {
    std::string ignored;
    chain_.AppendLine(StartText(kTime, "0.1.0", 0), &position_, ignored);  // record 1
    first_ = Line(FirstOfGroup(StopText(kTime), MacHex(position_.mac)));   // record 2
    second_ = Line(StopText(kTime));                                       // record 3
  }

  // Returns the line of the next record, without its line feed.
  std::string Line(const std::string& text) {
    std::string line;
    chain_.AppendLine(text, &position_, line);
    line.pop_back();
    return line;
  }

  absl::StatusOr<bool> Holds(const std::string& content, uint64_t sequence = 1, int64_t from = 0) {
    WriteTestFile(path_, content);
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    absl::StatusOr<bool> holds = HoldsLaterGroup(fd, from, static_cast<int64_t>(content.size()), sequence, chain_);
    close(fd);
    return holds;
  }

  const std::string path_;
  AuditChain chain_ = AuditChain::Create(TestAuditKey()).value();
  AuditPosition position_;
  std::string first_;   // record 2, the first of a group
  std::string second_;  // record 3, of the same group
};

TEST_F(AuditLaterGroupTest, TheFirstRecordOfALaterGroupIsFoundWhereverItBegins) {
  EXPECT_TRUE(Holds(first_).value());
  for (const std::string before : {"", "\n", "x", "{\"seq\":", "{\"seq\":2,", "{\"se"}) {
    for (const std::string behind : {"", "\n", "\n{\"seq\":", "{\"seq\":9"}) {
      EXPECT_TRUE(Holds(absl::StrCat(before, first_, behind)).value()) << before << "|" << behind;
    }
  }
  EXPECT_FALSE(Holds(first_, 1, 1).value());
}

TEST_F(AuditLaterGroupTest, ARecordThatSpansTwoReadsIsFound) {
  for (size_t shift = 0; shift <= first_.size() + 1; ++shift) {
    const std::string before((256 << 10) - shift, '\0');
    ASSERT_TRUE(Holds(absl::StrCat(before, first_, "\n")).value()) << shift;
    ASSERT_TRUE(Holds(absl::StrCat(before, first_)).value()) << shift;
  }
}

TEST_F(AuditLaterGroupTest, ARecordAfterManyOtherBytesIsFound) {
  std::string many;
  while (many.size() < 1 << 20) many += "{\"seq\":";
  EXPECT_FALSE(Holds(many).value());
  EXPECT_TRUE(Holds(many + first_).value());
  const std::string begun = "{\"seq\":" + std::string(1 << 20, 'x');
  EXPECT_FALSE(Holds(begun).value());
  EXPECT_TRUE(Holds(begun + first_).value());
}

TEST_F(AuditLaterGroupTest, ARecordWithTheSameOrASmallerNumberProvesNothing) {
  EXPECT_TRUE(Holds(first_, 0).value());
  EXPECT_FALSE(Holds(first_, 2).value());
  EXPECT_FALSE(Holds(first_, 3).value());
}

TEST_F(AuditLaterGroupTest, OtherRecordsOfAGroupProveNothing) {
  EXPECT_FALSE(Holds(second_).value());
  EXPECT_FALSE(Holds("").value());
}

TEST_F(AuditLaterGroupTest, AChangedRecordProvesNothing) {
  for (size_t i = 0; i < first_.size(); ++i) {
    std::string changed = first_;
    changed[i] ^= 1;
    EXPECT_FALSE(Holds(changed).value()) << i;
  }
}

TEST_F(AuditLaterGroupTest, ReportsAFileThatCannotBeRead) {
  EXPECT_EQ(HoldsLaterGroup(-1, 0, 10, 1, chain_).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace stampgate
