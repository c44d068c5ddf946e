#include "gateway/commands/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Command = CommandLine::Command;

TEST(CommandLineTest, ParsesEveryCommand) {
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

  EXPECT_EQ(ParseCommandLine({"check", "--as", "ci", "--config=b.yaml"})->as, "ci");

  absl::StatusOr<CommandLine> verify = ParseCommandLine({"audit", "verify", "a.1", "--key", "k", "a.2", "--head=7:00"});
  ASSERT_TRUE(verify.ok());
  EXPECT_EQ(verify->command, Command::kAuditVerify);
  EXPECT_EQ(verify->key, "k");
  EXPECT_EQ(verify->head, "7:00");
  EXPECT_THAT(verify->files, ElementsAre("a.1", "a.2"));
  EXPECT_EQ(verify->from, "");
  EXPECT_EQ(ParseCommandLine({"audit", "verify", "--key=k", "a"})->head, "");
  EXPECT_EQ(ParseCommandLine({"audit", "verify", "--key=k", "--from", "5:00", "a"})->from, "5:00");

  EXPECT_FALSE(ParseCommandLine({"audit", "verify", "--key=k", "a"})->closed_files);
  EXPECT_FALSE(ParseCommandLine({"audit", "verify", "--key=k", "--files=all", "a"})->closed_files);
  EXPECT_TRUE(ParseCommandLine({"audit", "verify", "--key=k", "--files", "closed", "a"})->closed_files);
  EXPECT_EQ(ParseCommandLine({"audit", "keygen", "--out", "k"})->command, Command::kAuditKeygen);

  EXPECT_EQ(ParseCommandLine({"store", "keygen", "--out", "k"})->command, Command::kStoreKeygen);
  EXPECT_EQ(ParseCommandLine({"store", "keygen", "--out", "k"})->out, "k");

  absl::StatusOr<CommandLine> migrate = ParseCommandLine({"store", "migrate", "--config", "f.yaml", "--grant-to=role"});
  ASSERT_TRUE(migrate.ok());
  EXPECT_EQ(migrate->command, Command::kStoreMigrate);
  EXPECT_EQ(migrate->config, "f.yaml");
  EXPECT_EQ(migrate->grant_to, "role");
  EXPECT_EQ(ParseCommandLine({"store", "migrate", "--config", "f.yaml"})->grant_to, "");

  absl::StatusOr<CommandLine> store_check = ParseCommandLine({"store", "check", "--config", "f.yaml"});
  ASSERT_TRUE(store_check.ok());
  EXPECT_EQ(store_check->command, Command::kStoreCheck);
  EXPECT_EQ(store_check->config, "f.yaml");

  absl::StatusOr<CommandLine> restored = ParseCommandLine({"store", "restored", "--config", "f.yaml"});
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored->command, Command::kStoreRestored);
  EXPECT_EQ(restored->config, "f.yaml");

  absl::StatusOr<CommandLine> copy = ParseCommandLine({"store", "copy", "--to", "b.yaml", "--from", "a.yaml"});
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->command, Command::kStoreCopy);
  EXPECT_EQ(copy->from, "a.yaml");
  EXPECT_EQ(copy->to, "b.yaml");
  EXPECT_EQ(ParseCommandLine({"audit", "keygen", "--out", "k"})->out, "k");

  EXPECT_EQ(ParseCommandLine({"operations", "list"})->command, Command::kOperationsList);
  EXPECT_THAT(ParseCommandLine({"operations", "list"})->files, IsEmpty());
  EXPECT_THAT(ParseCommandLine({"operations", "list", "a.binpb"})->files, ElementsAre("a.binpb"));
  EXPECT_EQ(ParseCommandLine({"operations", "diff", "a.binpb"})->command, Command::kOperationsDiff);
  EXPECT_THAT(ParseCommandLine({"operations", "diff", "a.binpb", "b.binpb"})->files, ElementsAre("a.binpb", "b.binpb"));
  EXPECT_EQ(ParseCommandLine({"operations", "lint", "a.binpb"})->command, Command::kOperationsLint);
  EXPECT_THAT(ParseCommandLine({"operations", "lint", "a.binpb"})->files, ElementsAre("a.binpb"));
  EXPECT_EQ(ParseCommandLine({"operations", "export"})->command, Command::kOperationsExport);

  EXPECT_EQ(ParseCommandLine({"--version"})->command, Command::kVersion);
}

TEST(CommandLineTest, AcceptsHelpAtAnyPlace) {
  EXPECT_EQ(ParseCommandLine({"--help"})->command, Command::kHelp);
  EXPECT_EQ(ParseCommandLine({"help"})->command, Command::kHelp);
  EXPECT_EQ(ParseCommandLine({"serve", "--help"})->command, Command::kHelp);
  for (const auto& [arguments, topic] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--help"}, ""},
           {{"help"}, ""},
           {{"-h", "serve"}, ""},
           {{"serve", "--help"}, "serve"},
           {{"serve", "--config", "a", "-h"}, "serve"},
           {{"help", "audit", "verify"}, "audit verify"},
           {{"audit", "verify", "a.log", "--help"}, "audit verify a.log"},
           {{"subscriptions", "show", "--help"}, "subscriptions show"},
       }) {
    EXPECT_EQ(ParseCommandLine(arguments)->topic, topic);
  }
}

TEST(CommandLineTest, ParsesTheCommandsOfSubscriptions) {
  const absl::StatusOr<CommandLine> list =
      ParseCommandLine({"subscriptions", "list", "--gateway", "a:1", "--ca", "ca.pem", "--certificate", "c.pem",
                        "--key", "c.key", "--token", "t"});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->command, Command::kSubscriptionsList);
  EXPECT_EQ(list->gateway.address, "a:1");
  EXPECT_EQ(list->gateway.ca, "ca.pem");
  EXPECT_EQ(list->gateway.certificate, "c.pem");
  EXPECT_EQ(list->gateway.key, "c.key");
  EXPECT_EQ(list->gateway.token, "t");
  for (const auto& [name, command] :
       {std::pair("show", Command::kSubscriptionsShow), std::pair("parked", Command::kSubscriptionsParked),
        std::pair("delete", Command::kSubscriptionsDelete)}) {
    const absl::StatusOr<CommandLine> line = ParseCommandLine({"subscriptions", name, "payouts", "--gateway=a:1"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->command, command);
    EXPECT_EQ(line->subscription, "payouts");
  }
  for (const auto& [name, command] :
       {std::pair("retry", Command::kSubscriptionsRetry), std::pair("skip", Command::kSubscriptionsSkip)}) {
    const absl::StatusOr<CommandLine> line =
        ParseCommandLine({"subscriptions", name, "payouts", "--gateway=a:1", "x", "y"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->command, command);
    EXPECT_THAT(line->cursors, ElementsAre("x", "y"));
  }
  const absl::StatusOr<CommandLine> seek =
      ParseCommandLine({"subscriptions", "seek", "payouts", "--to", "latest", "--gateway", "a:1"});
  ASSERT_TRUE(seek.ok()) << seek.status();
  EXPECT_EQ(seek->command, Command::kSubscriptionsSeek);
  EXPECT_EQ(seek->to, "latest");
}

TEST(CommandLineTest, AnErrorNamesTheFaultyArgument) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "a command is missing"},
      {{"run"}, "unknown command: run"},
      {{"store"}, "store needs a command: keygen, migrate, set, seal, check, restored or copy"},
      {{"store", "list"}, "store needs a command: keygen, migrate, set, seal, check, restored or copy"},
      {{"store", "keygen"}, "keygen needs --out"},
      {{"store", "migrate", "--grant-to", "role"}, "migrate needs --config"},
      {{"store", "check"}, "check needs --config"},
      {{"store", "restored"}, "restored needs --config"},
      {{"store", "copy", "--from", "a"}, "copy needs --to"},
      {{"store", "copy", "--to", "a"}, "copy needs --from"},
      {{"store", "restored", "--config", "a", "b"}, "unexpected argument: b"},
      {{"serve"}, "serve needs --config"},
      {{"serve", "--config"}, "--config needs a value"},
      {{"serve", "--config="}, "--config needs a value"},
      {{"serve", "--config", "a", "--config", "b"}, "repeated flag: --config"},
      {{"serve", "--config", "a", "--out", "b"}, "unknown or repeated flag: --out"},
      {{"serve", "a.yaml"}, "unexpected argument: a.yaml: write --config a.yaml"},
      {{"check", "--as", "ci", "b.yaml"}, "unexpected argument: b.yaml: write --config b.yaml"},
      {{"check", "--config", "a.yaml", "b.yaml"}, "unexpected argument: b.yaml"},
      {{"keygen", "main.key"}, "unexpected argument: main.key"},
      {{"serve", "--config", "a", "--as", "b"}, "unknown or repeated flag: --as"},
      {{"check", "--as", "b"}, "check needs --config"},
      {{"check", "--config", "a", "--as", "b", "--as", "c"}, "repeated flag: --as"},
      {{"audit"}, "audit needs a command"},
      {{"audit", "show"}, "audit needs a command"},
      {{"audit", "keygen"}, "keygen needs --out"},
      {{"audit", "verify", "a", "--from"}, "--from needs a value"},
      {{"audit", "verify", "a"}, "verify needs --key"},
      {{"audit", "verify", "--key", "k"}, "verify needs a file"},
      {{"audit", "verify", "--key", "k", "--files", "open", "a"}, "--files must be all or closed"},
      {{"operations"}, "operations needs a command: list, diff, lint or export"},
      {{"operations", "merge"}, "operations needs a command: list, diff, lint or export"},
      {{"operations", "diff"}, "diff needs a file"},
      {{"operations", "lint"}, "lint needs a file"},
      {{"operations", "list", "--config", "a"}, "unknown or repeated flag: --config"},
      {{"operations", "export", "a.binpb"}, "unexpected argument: a.binpb"},
      {{"subscriptions"}, "subscriptions needs a command: list, show, parked, retry, skip, seek or delete"},
      {{"subscriptions", "list"}, "list needs --gateway"},
      {{"subscriptions", "list", "a", "--gateway", "g"}, "unexpected argument: a"},
      {{"subscriptions", "show", "--gateway", "g"}, "show needs the name of a subscription"},
      {{"subscriptions", "show", "a", "b", "--gateway", "g"}, "unexpected argument: b"},
      {{"subscriptions", "retry", "a", "--gateway", "g"}, "retry needs the cursors of parked events, or all"},
      {{"subscriptions", "skip", "a", "--gateway", "g"}, "skip needs the cursors of parked events, or all"},
      {{"subscriptions", "seek", "a", "--gateway", "g"}, "seek needs --to"},
      {{"subscriptions", "delete", "a", "--to", "latest", "--gateway", "g"}, "unknown or repeated flag: --to"},
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
