#include "base/threads/control_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> FoldersOf(const std::string& controller, const std::string& membership) {
  const std::string file = testing::TempDir() + "/control_groups_test";
  std::ofstream(file) << membership;
  return ControlGroupFolders(controller, "/r", file);
}

TEST(ControlGroupsTest, AGroupAndAllAboveItLimitTheProcess) {
  EXPECT_THAT(FoldersOf("memory", "0::/a.slice/b:c\n"), ElementsAre("/r/a.slice/b:c", "/r/a.slice", "/r"));
  EXPECT_THAT(FoldersOf("memory", "0::/\n"), ElementsAre("/r"));
}

TEST(ControlGroupsTest, VersionOneHasAHierarchyForEachController) {
  const std::string membership = "12:pids:/p\n4:cpu,memory:/docker/7\n1:name=systemd:/s\n0::/\n";
  EXPECT_THAT(FoldersOf("memory", membership),
              ElementsAre("/r/memory/docker/7", "/r/memory/docker", "/r/memory", "/r"));
  EXPECT_THAT(FoldersOf("pids", membership), ElementsAre("/r/pids/p", "/r/pids", "/r"));
  EXPECT_THAT(FoldersOf("mem", membership), ElementsAre("/r"));
}

TEST(ControlGroupsTest, AFileThatCannotBeReadNamesNoGroup) {
  EXPECT_THAT(FoldersOf("memory", "no colons\n0:\n0::\n7::/named by no number of version 2\n::\n\n"), IsEmpty());
  EXPECT_THAT(ControlGroupFolders("memory", "/r", "/no/such/file"), IsEmpty());
}

}  // namespace
}  // namespace stampgate
