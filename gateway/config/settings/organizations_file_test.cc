#include "gateway/config/settings/organizations_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kUuid[] = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

std::vector<std::string> IdsIn(absl::string_view text) {
  const auto parsed = ParseOrganizations(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  std::vector<std::string> ids;
  if (parsed.ok()) (*parsed)->ForEach([&ids](absl::string_view id) { ids.emplace_back(id); });
  return ids;
}

absl::Status FaultOf(absl::string_view text) { return ParseOrganizations(text).status(); }

TEST(OrganizationsFileTest, HasOneIdInEachLineAndMayHaveCommentsAndEmptyLines) {
  EXPECT_THAT(IdsIn("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(IdsIn(absl::StrCat("# ours\r\n\r\na\r\n  \t\r\n  b  \n#c\n   # d\n\n", kUuid)),
              ElementsAre(kUuid, "a", "b"));
}

TEST(OrganizationsFileTest, AFileWithoutIdsMustStateIt) {
  for (const char* text : {"", "\n", "# nobody\n", "\r\n\r\n", "# no organization", "no organizations #"}) {
    EXPECT_EQ(FaultOf(text).code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(FaultOf("# a comment\n").message(),
            "it lists no organization; if this is meant, it must have the line '# no organizations'");
  for (const char* text : {"# no organizations", "# of us\n\n  # no organizations \r\n"}) {
    EXPECT_THAT(IdsIn(text), IsEmpty());
  }
}

// Otherwise the line could stay in the file forever, and would protect nothing.
TEST(OrganizationsFileTest, AFileWithIdsMustNotStateThatItHasNone) {
  EXPECT_EQ(FaultOf("# no organizations\na\n").message(),
            "it has the line '# no organizations', but it also lists ids");
}

TEST(OrganizationsFileTest, ReportsTheLineOfAFaultyId) {
  EXPECT_EQ(FaultOf("a\n\n#\na b\nc d\n"), absl::InvalidArgumentError("line 4 is not an exact id"));
  EXPECT_EQ(FaultOf("a # comment\n"), absl::InvalidArgumentError("line 1 is not an exact id"));
  for (const std::string& bad : {std::string("*"), std::string("a,b"), std::string("a\rb"), std::string("a\0b", 3),
                                 std::string("\xEF\xBB\xBF") + "a", std::string("é"), std::string(129, 'a'),
                                 std::string("\"a\""), std::string("- a"), std::string("a/b")}) {
    EXPECT_EQ(FaultOf("ok\n" + bad + "\n"), absl::InvalidArgumentError("line 2 is not an exact id")) << bad;
  }
  EXPECT_EQ(FaultOf(std::string(128, 'a')), absl::OkStatus());
}

class OrganizationsFileOnDiskTest : public ::testing::Test {
 protected:
  absl::Status Fault() { return ReadOrganizationsFile(path_).status(); }

  const std::string folder_ = NewTestFolder();
  const std::string path_ = folder_ + "/ids";
};

TEST_F(OrganizationsFileOnDiskTest, MustBeReadable) {
  EXPECT_EQ(Fault(), absl::UnavailableError("it cannot be opened: No such file or directory"));
  std::filesystem::create_directory(path_);
  EXPECT_EQ(Fault(), absl::UnavailableError("it is not a regular file"));
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Fault(), absl::UnavailableError("it is not a regular file"));
}

TEST_F(OrganizationsFileOnDiskTest, MayHaveMillionsOfIdsUpToALimitThatTheErrorNames) {
  std::string large;
  constexpr int kIds = 500'000;  // more than 16 MiB, the limit of other files
  for (int i = 0; i < kIds; ++i) absl::StrAppendFormat(&large, "7c9e6679-7425-40de-944b-%012x\n", i * 7);
  PutTestFile(path_, large);
  const auto ids = ReadOrganizationsFile(path_);
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ((*ids)->size(), kIds);
  EXPECT_TRUE((*ids)->Contains("7c9e6679-7425-40de-944b-00000000000e"));
  EXPECT_FALSE((*ids)->Contains("7c9e6679-7425-40de-944b-00000000000f"));
  std::filesystem::resize_file(path_, kMaxOrganizationsFileBytes + 1);
  EXPECT_EQ(Fault(), absl::UnavailableError("it is larger than 536870912 bytes"));
}

TEST_F(OrganizationsFileOnDiskTest, MayBeASymbolicLink) {
  PutTestFile(folder_ + "/there", "a\n");
  std::filesystem::create_symlink("there", path_);
  EXPECT_EQ(Fault(), absl::OkStatus());
}

TEST(IsOrganizationIdTest, IsAnExactId) {
  for (const std::string& good : {std::string("a"), std::string("A.b_c:d-9"), std::string(128, 'x')}) {
    EXPECT_TRUE(IsOrganizationId(good)) << good;
  }
  for (const std::string& bad : {std::string(), std::string(129, 'x'), std::string("*"), std::string("a "),
                                 std::string("a\n"), std::string("a\0", 2), std::string("\xC3\xA9")}) {
    EXPECT_FALSE(IsOrganizationId(bad)) << bad;
  }
}

}  // namespace
}  // namespace stampgate
