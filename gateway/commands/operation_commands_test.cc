#include "gateway/commands/operation_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/testing/status_is.h"
#include "base/testing/temporary_file.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptorProto;
using ::stampgate::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Returns the element of `list` with this name.
template <typename Element>
Element& Named(google::protobuf::RepeatedPtrField<Element>& list, absl::string_view name) {
  const auto found = absl::c_find_if(list, [&](const Element& each) { return each.name() == name; });
  EXPECT_NE(found, list.end()) << name;
  return *found;
}

// The operations of the program, which a test changes and writes to a file.
class Operations {
 public:
  Operations() {
    for (const auto& [name, bytes] : OperationSet::BuiltIn()->files()) {
      EXPECT_TRUE(files_.add_file()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    }
  }

  // Returns the message of earn.proto with this name.
  DescriptorProto& Message(absl::string_view name) {
    return Named(*File("stampgate/v1/earn.proto").mutable_message_type(), name);
  }

  // Adds an operation with the request of EarnWithdraw, which has guards, and returns its options.
  v1::OperationRule& AddOperation() {
    auto& methods = *File("stampgate/v1/earn_service.proto").mutable_service(0)->mutable_method();
    MethodDescriptorProto method = Named(methods, "EarnWithdraw");
    method.set_name("EarnLeave");
    MethodDescriptorProto& added = *methods.Add();
    added = std::move(method);
    v1::OperationRule& rule = *added.mutable_options()->MutableExtension(v1::operation);
    rule.set_path("/public/v1/submit/earn_leave");
    rule.set_activity_type("ACTIVITY_TYPE_EARN_LEAVE");
    rule.set_since("2099-01-01");
    return rule;
  }

  std::string Write(absl::string_view name = "operations.binpb") const {
    return WriteTemp(name, files_.SerializeAsString());
  }

 private:
  FileDescriptorProto& File(absl::string_view name) { return Named(*files_.mutable_file(), name); }

  FileDescriptorSet files_;
};

// Adds a field to the request of EarnWithdraw.
FieldDescriptorProto& AddChain(Operations& operations) {
  FieldDescriptorProto& field = *operations.Message("EarnWithdrawParameters").add_field();
  field.set_name("chain");
  field.set_number(70);
  field.set_type(FieldDescriptorProto::TYPE_STRING);
  field.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
  return field;
}

// Returns the lines of a report. Expects this exit status.
std::vector<std::string> Lines(const absl::StatusOr<OperationsReport>& report, int exit_status) {
  if (!report.ok()) return {report.status().ToString()};
  EXPECT_EQ(report->exit_status, exit_status);
  return absl::StrSplit(report->text, '\n', absl::SkipEmpty());
}

TEST(OperationCommandsTest, ListsTheOperationsOfTheProgramInColumns) {
  const std::vector<std::string> lines = Lines(ListOperations({}), 0);
  EXPECT_EQ(lines.size(),
            static_cast<size_t>(absl::c_count_if(OperationSet::BuiltIn()->methods(), [](const ApiMethod& method) {
              return method.kind != v1::OPERATION_KIND_LOCAL;
            })));
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : lines) {
    EXPECT_FALSE(absl::EndsWith(line, " "));
    rows.push_back(absl::StrSplit(line, ' ', absl::SkipEmpty()));
  }
  EXPECT_THAT(rows, Contains(ElementsAre("PolicyService/GetPolicy", "query", "query", "-", "query/get_policy", "-")));
  EXPECT_THAT(rows,
              Contains(ElementsAre("AuthenticationService/StampLogin", "submit", "login", "-", "submit/stamp_login",
                                   "ACTIVITY_TYPE_STAMP_LOGIN", "stamped", "by", "client")));
  EXPECT_THAT(rows,
              Contains(ElementsAre("TransactionService/EthSendRawTransaction", "submit", "dangerous", "2026-09-22",
                                   "submit/eth_send_raw_transaction", "ACTIVITY_TYPE_ETH_SEND_RAW_TRANSACTION",
                                   "internal,", "moves", "unread", "amount")));
  EXPECT_THAT(rows, Contains(ElementsAre("WebhookService/GetWebhookKeySet", "discovery", "query", "-",
                                         "discovery/webhooks/jwks", "-")));
}

TEST(OperationCommandsTest, ListsTheOperationsOfFilesToo) {
  Operations operations;
  operations.AddOperation();
  EXPECT_THAT(Lines(ListOperations({operations.Write()}), 0), Contains(StartsWith("EarnService/EarnLeave ")));
}

TEST(OperationCommandsTest, TheProgramsOwnOperationsChangeNothingAndNeedNoDecision) {
  const std::string file = Operations().Write();
  EXPECT_THAT(Lines(CompareOperations({file}), 0), IsEmpty());
  EXPECT_THAT(Lines(ReviewOperations({file}), 0), IsEmpty());
}

TEST(OperationCommandsTest, ComparesEachFileWithThoseBeforeIt) {
  Operations first;
  AddChain(first);
  const std::string a = first.Write("a.binpb");
  Operations second = first;
  second.AddOperation();
  const std::string b = second.Write("b.binpb");
  const std::string added = ": stampgate.v1.EarnWithdrawParameters.chain is a new field";
  const std::string operation = ": EarnService/EarnLeave is a new submit for class dangerous, of 2099-01-01";
  EXPECT_THAT(Lines(CompareOperations({a, b}), 1), ElementsAre(absl::StrCat(a, added), absl::StrCat(b, operation)));
  EXPECT_THAT(Lines(CompareOperations({b, a}), 1), ElementsAre(absl::StrCat(b, operation), absl::StrCat(b, added)));
}

v1::FieldRule& RuleOfFee(Operations& operations) {
  FieldDescriptorProto& fee = *operations.Message("EarnDeployWrapperParameters").mutable_field(2);
  EXPECT_EQ(fee.name(), "client_fee_bps");
  return *fee.mutable_options()->MutableExtension(v1::field);
}

TEST(OperationCommandsTest, StatesWhatOfALaterReleaseAcceptsMoreAndWhatIsNotUsed) {
  Operations operations;
  operations.AddOperation();
  RuleOfFee(operations).set_maximum(5000);
  RuleOfFee(operations).set_secret(true);
  const std::string file = operations.Write();
  const std::string fee = absl::StrCat(file, ": stampgate.v1.EarnDeployWrapperParameters.client_fee_bps ");
  EXPECT_THAT(Lines(CompareOperations({file}), 1),
              ElementsAre(HasSubstr("EarnLeave"), absl::StrCat(fee, "accepts more: maximum 5000, before 4000"),
                          absl::StrCat(fee,
                                       "has other options in this file, which are not used: the gateway uses its "
                                       "own")));
}

TEST(OperationCommandsTest, WhatDoesNotTakeEffectIsNoChange) {
  Operations operations;  // not of a later release
  RuleOfFee(operations).set_maximum(5000);
  EXPECT_THAT(Lines(CompareOperations({operations.Write()}), 0), ElementsAre(HasSubstr("has other options")));
}

TEST(OperationCommandsTest, StatesTheRightsAndGuardsOfANewOperation) {
  Operations operations;
  operations.AddOperation();
  EXPECT_THAT(
      Lines(ReviewOperations({operations.Write()}), 1),
      ElementsAre(
          AllOf(StartsWith("EarnService/EarnLeave is a new submit for class dangerous: "),
                HasSubstr("2099-01-01 and class_grants_as_of is not set: set it to this day or later")),
          AllOf(StartsWith("EarnService/EarnLeave has fields with a guard: "),
                HasSubstr("stampgate.v1.EarnWithdrawParameters.amount_value (amount)"),
                HasSubstr("stampgate.v1.EarnWithdrawParameters.chain_caip2 (chain)"), Not(HasSubstr("(none)"))),
          AllOf(StartsWith("EarnService/EarnLeave has texts that are not secret, so error texts can contain them: "),
                HasSubstr("stampgate.v1.EarnWithdrawParameters.sign_with"), Not(HasSubstr("organization_id")),
                Not(HasSubstr("ClientStamp")))));
}

TEST(OperationCommandsTest, AGuardThatTheProgramDoesNotKnowIsNone) {
  Operations operations;
  operations.AddOperation();
  AddChain(operations).mutable_options()->MutableExtension(v1::field)->set_guard(static_cast<v1::FieldGuard>(99));
  EXPECT_THAT(Lines(ReviewOperations({operations.Write()}), 1),
              Contains("EarnService/EarnLeave has texts and numbers without a guard, which amount_limits, destinations "
                       "and export_public_keys do not limit: stampgate.v1.EarnWithdrawParameters.chain"));
}

TEST(OperationCommandsTest, StatesWhichLimitsCannotBeChecked) {
  Operations operations;
  operations.AddOperation().set_moves_unread_amount(true);
  EXPECT_THAT(Lines(ReviewOperations({operations.Write()}), 1),
              Contains("EarnService/EarnLeave moves assets, but no field states the value that amount_limits limits: a "
                       "grant with amount_limits does not allow it"));
}

TEST(OperationCommandsTest, NamesANewFieldOfAGuardedRequestThatHasNoGuard) {
  Operations operations;
  AddChain(operations);
  EXPECT_THAT(Lines(ReviewOperations({operations.Write()}), 1),
              ElementsAre("stampgate.v1.EarnWithdrawParameters.chain has no guard: a grant with amount_limits, "
                          "destinations or export_public_keys allows no request that sets it"));
}

TEST(OperationCommandsTest, AFaultNamesTheFile) {
  Operations operations;
  operations.AddOperation().set_path("no slash");
  const std::string faulty = operations.Write();
  const std::string sound = Operations().Write("sound.binpb");
  for (const auto& report :
       {ListOperations({sound, faulty}), CompareOperations({sound, faulty}), ReviewOperations({sound, faulty})}) {
    EXPECT_THAT(report.status(), StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(std::string(report.status().message()),
                StartsWith(absl::StrCat(faulty, ": stampgate.v1.EarnService.EarnLeave must have a path")));
  }
  EXPECT_THAT(CompareOperations({"/no/such/file"}).status(), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace stampgate
