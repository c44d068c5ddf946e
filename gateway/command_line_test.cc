#include "gateway/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using Command = CommandLine::Command;

TEST(CommandLineTest, ReadsEveryCommand) {
  absl::StatusOr<CommandLine> serve = ParseCommandLine({"serve", "--config", "a.yaml"});
  ASSERT_TRUE(serve.ok());
  EXPECT_EQ(serve->command, Command::kServe);
  EXPECT_EQ(serve->config, "a.yaml");

  absl::StatusOr<CommandLine> check = ParseCommandLine({"check", "--config=b.yaml"});
  ASSERT_TRUE(check.ok());
  EXPECT_EQ(check->command, Command::kCheck);
  EXPECT_EQ(check->config, "b.yaml");

  absl::StatusOr<CommandLine> keygen = ParseCommandLine({"keygen", "--out=k", "--curve", "ed25519"});
  ASSERT_TRUE(keygen.ok());
  EXPECT_EQ(keygen->command, Command::kKeygen);
  EXPECT_EQ(keygen->curve, Curve::kEd25519);
  EXPECT_EQ(keygen->out, "k");

  EXPECT_EQ(ParseCommandLine({"--version"})->command, Command::kVersion);
}

TEST(CommandLineTest, AsksForHelpAnywhere) {
  EXPECT_EQ(ParseCommandLine({"--help"})->command, Command::kHelp);
  EXPECT_EQ(ParseCommandLine({"help"})->command, Command::kHelp);
  EXPECT_EQ(ParseCommandLine({"serve", "--help"})->command, Command::kHelp);
}

TEST(CommandLineTest, RefusesWhatItDoesNotKnowAndSaysWhat) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "a command is missing"},
      {{"run"}, "unknown command: run"},
      {{"serve"}, "serve needs --config"},
      {{"serve", "--config"}, "--config needs a value"},
      {{"serve", "--config="}, "--config needs a value"},
      {{"serve", "--config", "a", "--config", "b"}, "repeated flag: --config"},
      {{"serve", "--config", "a", "--out", "b"}, "unknown or repeated flag: --out"},
      {{"serve", "a.yaml"}, "unexpected argument: a.yaml"},
      {{"keygen", "--out", "k"}, "keygen needs --curve"},
      {{"keygen", "--curve", "p256"}, "keygen needs --out"},
      {{"keygen", "--curve", "P256", "--out", "k"}, "--curve must be"},
  };
  for (const auto& [arguments, message] : cases) {
    const absl::Status status = ParseCommandLine(arguments).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace stampgate
