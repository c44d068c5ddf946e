#include "gateway/commands/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gateway/commands/command_line.h"

namespace stampgate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kCommands = {"serve",
                                            "check",
                                            "keygen",
                                            "audit keygen",
                                            "audit verify",
                                            "store keygen",
                                            "store migrate",
                                            "store check",
                                            "store restored",
                                            "store copy",
                                            "operations list",
                                            "operations diff",
                                            "operations lint",
                                            "operations export",
                                            "subscriptions list",
                                            "subscriptions show",
                                            "subscriptions parked",
                                            "subscriptions retry",
                                            "subscriptions skip",
                                            "subscriptions seek",
                                            "subscriptions delete"};

TEST(HelpTextTest, EachCommandHasItsOwnHelp) {
  for (const std::string& command : kCommands) {
    const std::string text = HelpText(command);
    EXPECT_THAT(text, AllOf(StartsWith(absl::StrCat("stampgate ", command)), HasSubstr("\nExit status\n  0  "),
                            HasSubstr("\nExample"), HasSubstr(absl::StrCat("\n  stampgate ", command))));
    for (const std::string& other : kCommands) {
      EXPECT_EQ(absl::StrContains(text, absl::StrCat("stampgate ", other)), other == command) << command;
    }
  }
}

TEST(HelpTextTest, ListsExactlyTheOptionsOfACommand) {
  const auto is_known = [](const std::string& command, const std::string& option) {
    std::vector<std::string> arguments = absl::StrSplit(command, ' ');
    arguments.push_back(option);
    const absl::Status status = ParseCommandLine(arguments).status();
    return !absl::StrContains(status.message(), "unknown");
  };
  for (const std::string& command : kCommands) {
    for (const char* option : {"--config", "--as", "--curve", "--out", "--key", "--head", "--from", "--grant-to",
                               "--to", "--gateway", "--ca", "--certificate", "--token"}) {
      EXPECT_EQ(absl::StrContains(HelpText(command), absl::StrCat("\n  ", option, " ")), is_known(command, option))
          << command << " " << option;
    }
  }
}

TEST(HelpTextTest, TheHelpOfAGroupIsTheHelpOfItsCommands) {
  const std::string text = HelpText("audit");
  EXPECT_EQ(text, absl::StrCat(HelpText("audit keygen"), "\n", HelpText("audit verify")));
  EXPECT_EQ(HelpText("store"),
            absl::StrCat(HelpText("store keygen"), "\n", HelpText("store migrate"), "\n", HelpText("store set"), "\n",
                         HelpText("store seal"), "\n", HelpText("store check"), "\n", HelpText("store restored"), "\n",
                         HelpText("store copy")));
  EXPECT_EQ(HelpText("operations"), absl::StrCat(HelpText("operations list"), "\n", HelpText("operations diff"), "\n",
                                                 HelpText("operations lint"), "\n", HelpText("operations export")));
  EXPECT_EQ(HelpText("audit nonsense"), text);
}

TEST(HelpTextTest, IgnoresWordsAfterACommand) {
  EXPECT_EQ(HelpText("audit verify a.log"), HelpText("audit verify"));
  EXPECT_EQ(HelpText("serve now"), HelpText("serve"));
}

TEST(HelpTextTest, TheHelpOfAnyOtherTextListsAllCommands) {
  for (const char* text : {"", "nonsense", "serv", "servethis"}) {
    for (const std::string& command : kCommands) {
      EXPECT_THAT(HelpText(text), HasSubstr(absl::StrCat("\n  stampgate ", command))) << text;
    }
  }
}

TEST(HelpTextTest, NoLineHasMoreThan120Characters) {
  for (const char* command : {"", "serve", "check", "keygen", "audit", "store", "operations", "subscriptions"}) {
    for (const absl::string_view line : absl::StrSplit(HelpText(command), '\n')) EXPECT_LE(line.size(), 120u) << line;
  }
}

}  // namespace
}  // namespace stampgate
