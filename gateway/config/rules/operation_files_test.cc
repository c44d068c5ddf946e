#include "gateway/config/rules/operation_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the serialized files of a set.
std::string BytesOf(const OperationSet& set) {
  FileDescriptorSet files;
  for (const auto& [name, bytes] : set.files()) EXPECT_TRUE(files.add_file()->ParseFromString(std::string(bytes)));
  return files.SerializeAsString();
}

FileDescriptorSet Program() {
  FileDescriptorSet files;
  EXPECT_TRUE(files.ParseFromString(BytesOf(*OperationSet::BuiltIn())));
  return files;
}

FileDescriptorProto& FileIn(FileDescriptorSet& files, const std::string& name) {
  for (FileDescriptorProto& file : *files.mutable_file()) {
    if (file.name() == name) return file;
  }
  ADD_FAILURE() << name;
  return *files.add_file();
}

// Returns the message of stampgate.v1 with this name.
DescriptorProto& MessageIn(FileDescriptorSet& files, const std::string& name) {
  for (FileDescriptorProto& file : *files.mutable_file()) {
    if (file.package() != "stampgate.v1") continue;
    for (DescriptorProto& message : *file.mutable_message_type()) {
      if (message.name() == name) return message;
    }
  }
  ADD_FAILURE() << name;
  return *files.add_file()->add_message_type();
}

// Adds a string.
FieldDescriptorProto& AddField(DescriptorProto& message, const std::string& name) {
  FieldDescriptorProto& field = *message.add_field();
  field.set_name(name);
  field.set_number(500);
  field.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
  field.set_type(FieldDescriptorProto::TYPE_STRING);
  return field;
}

// Returns the files of the program and a file with one more service.
FileDescriptorSet WithKettles() {
  FileDescriptorSet files = Program();
  auto& kettle = *files.add_file();
  kettle.set_name("kettle.proto");
  kettle.set_package("kitchen");
  kettle.add_service()->set_name("KettleService");
  return files;
}

class OperationFilesTest : public ::testing::Test {
 protected:
  // Parses a config that names a file with these bytes.
  absl::StatusOr<ParsedConfig> Parse(const std::string& bytes, const std::string& name = "added.binpb",
                                     const OperationSet::Shared& base = OperationSet::BuiltIn()) {
    std::ofstream(folder_ + "added.binpb", std::ios::binary) << bytes;
    return ParseConfig(TestSnapshot(absl::StrCat("upstream: {base_url: 'https://host'}\n"
                                                 "keys: [{name: all, file: a.key, all_organizations: true}]\n"
                                                 "callers: [{name: c, loopback: true}]\n"
                                                 "operations: [",
                                                 name, "]\n"),
                                    folder_ + "f"),
                       base);
  }

  // Returns the warnings about the setting `operations`, without the name of the config file.
  static std::vector<std::string> WarningsOf(const absl::StatusOr<ParsedConfig>& parsed) {
    std::vector<std::string> warnings;
    for (const std::string& warning : parsed->config.warnings()) {
      const size_t place = warning.find("operations");
      if (place != std::string::npos) warnings.push_back(warning.substr(place));
    }
    return warnings;
  }

  std::string FaultOf(const std::string& bytes, const std::string& name = "added.binpb") {
    return std::string(Parse(bytes, name).status().message());
  }

  const std::string folder_ = ::testing::TempDir();
};

TEST_F(OperationFilesTest, AFileAddsItsServices) {
  const absl::StatusOr<ParsedConfig> parsed = Parse(WithKettles().SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_NE(parsed->config.operations()->set().pool().FindServiceByName("kitchen.KettleService"), nullptr);
  EXPECT_EQ(parsed->config.operations()->operations().size(),
            OperationTable::Create("Service", OperationSet::BuiltIn()).value()->operations().size());
}

TEST_F(OperationFilesTest, TheSameOperationsHaveTheSameDigest) {
  const absl::StatusOr<ParsedConfig> same = Parse(BytesOf(*OperationSet::BuiltIn()));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(DigestOf(same->config.operations()->set()), DigestOf(*OperationSet::BuiltIn()));
  const absl::StatusOr<ParsedConfig> more = Parse(WithKettles().SerializeAsString());
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_NE(DigestOf(more->config.operations()->set()), DigestOf(*OperationSet::BuiltIn()));
}

TEST_F(OperationFilesTest, TheTableIsMadeAgainOnlyIfAFileHasChanged) {
  const std::string kettles = WithKettles().SerializeAsString();
  const std::shared_ptr<const OperationTable> first = Parse(kettles)->config.operations();
  EXPECT_EQ(Parse(kettles)->config.operations(), first);
  EXPECT_NE(FaultOf("", "missing.binpb"), "");
  EXPECT_EQ(Parse(kettles)->config.operations(), first);
  const std::shared_ptr<const OperationTable> other = Parse(BytesOf(*OperationSet::BuiltIn()))->config.operations();
  EXPECT_NE(other, first);
  EXPECT_EQ(other->set().pool().FindServiceByName("kitchen.KettleService"), nullptr);
}

TEST_F(OperationFilesTest, AFileThatIsNoSetIsAFaultWithItsPlace) {
  EXPECT_THAT(FaultOf("\x0a"), HasSubstr("f:4:14: operations[0]: is not a serialized FileDescriptorSet"));
  EXPECT_THAT(FaultOf(""), HasSubstr("operations[0]: contains no proto file"));
}

TEST_F(OperationFilesTest, AMissingFileIsAFault) {
  EXPECT_THAT(FaultOf("", "missing.binpb"), HasSubstr("f:4:14: operations[0]: "));
}

TEST_F(OperationFilesTest, AFieldWhoseTypeAFileChangesStaysAndAWarningNamesIt) {
  FileDescriptorSet files = WithKettles();
  MessageIn(files, "EarnWithdrawParameters").mutable_field(4)->set_type(FieldDescriptorProto::TYPE_BYTES);
  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(WarningsOf(parsed),
              ElementsAre("operations[0]: stampgate.v1.EarnWithdrawParameters.amount_value has another name, number, "
                          "type, list or oneof; it stays as it is"));
  const OperationSet& set = parsed->config.operations()->set();
  EXPECT_NE(set.pool().FindServiceByName("kitchen.KettleService"), nullptr);
  EXPECT_EQ(set.files().at("stampgate/v1/earn.proto"), OperationSet::BuiltIn()->files().at("stampgate/v1/earn.proto"));
}

// Adds a submit and its messages to the service: the request has the parameters `parameters`, and the intents of
// activities contain them.
void AddSubmit(FileDescriptorSet& files, const std::string& name, const std::string& parameters) {
  FileDescriptorProto& service = FileIn(files, "stampgate/v1/earn_service.proto");
  for (const char* kind : {"Request", "Response"}) {
    DescriptorProto message = MessageIn(files, absl::StrCat("EarnWithdraw", kind));
    message.set_name(absl::StrCat(name, kind));
    for (FieldDescriptorProto& field : *message.mutable_field()) {
      if (field.name() == "parameters") field.set_type_name(absl::StrCat(".stampgate.v1.", parameters));
      const std::string own = absl::StrCat(".stampgate.v1.EarnWithdraw", kind, ".");
      if (absl::StartsWith(field.type_name(), own)) {
        field.set_type_name(absl::StrCat(".stampgate.v1.", name, kind, ".", field.type_name().substr(own.size())));
      }
    }
    *service.add_message_type() = std::move(message);
  }
  auto& method = *service.mutable_service(0)->add_method();
  method.set_name(name);
  method.set_input_type(absl::StrCat(".stampgate.v1.", name, "Request"));
  method.set_output_type(absl::StrCat(".stampgate.v1.", name, "Response"));
  auto& rule = *method.mutable_options()->MutableExtension(v1::operation);
  rule.set_kind(v1::OPERATION_KIND_SUBMIT);
  rule.set_path(absl::StrCat("/public/v1/submit/", absl::AsciiStrToLower(name)));
  rule.set_activity_type(absl::StrCat("ACTIVITY_TYPE_", absl::AsciiStrToUpper(name)));
  rule.set_since("2100-01-01");
  FieldDescriptorProto& intent = AddField(MessageIn(files, "ActivityIntent"), absl::AsciiStrToLower(name));
  intent.set_number(1000 + static_cast<int>(service.service(0).method_size()));
  intent.set_type(FieldDescriptorProto::TYPE_MESSAGE);
  intent.set_type_name(absl::StrCat(".stampgate.v1.", parameters));
  intent.set_oneof_index(0);
}

// Upstream has renamed a required member, with the number of the old one, and has two new operations. One of them uses
// the message with that member. The response of each submit has an activity, whose intent can be any message.
TEST_F(OperationFilesTest, TheNewOperationsOfAReleaseWithARenamedMemberTakeEffect) {
  FileDescriptorSet files = Program();
  FieldDescriptorProto& chain = *MessageIn(files, "EarnWithdrawParameters").mutable_field(2);
  ASSERT_EQ(chain.name(), "chain_caip2");
  chain.set_name("chain");
  chain.clear_json_name();
  chain.set_type(FieldDescriptorProto::TYPE_STRING);
  chain.clear_type_name();
  AddSubmit(files, "EarnMove", "EarnSetWrapperStateParameters");
  AddSubmit(files, "EarnLeave", "EarnWithdrawParameters");
  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string because = " is left out, because it needs stampgate.v1.EarnWithdrawParameters";
  EXPECT_THAT(WarningsOf(parsed),
              ElementsAre("operations[0]: stampgate.v1.EarnWithdrawParameters.chain_caip2 has another name, number, "
                          "type, list or oneof; it stays as it is",
                          absl::StrCat("operations[0]: stampgate.v1.EarnService.EarnLeave", because),
                          absl::StrCat("operations[0]: stampgate.v1.ActivityIntent.earnleave", because)));
  const OperationTable& table = *parsed->config.operations();
  EXPECT_NE(table.Find("/stampgate.v1.EarnService/EarnMove"), nullptr);
  EXPECT_EQ(table.Find("/stampgate.v1.EarnService/EarnLeave"), nullptr);
  const auto withdraw = [](const OperationSet& set) {
    DescriptorProto message;
    set.pool().FindMessageTypeByName("stampgate.v1.EarnWithdrawParameters")->CopyTo(&message);
    return message.SerializeAsString();
  };
  EXPECT_EQ(withdraw(table.set()), withdraw(*OperationSet::BuiltIn()));
}

TEST_F(OperationFilesTest, ALimitThatALaterReleaseRaisesTakesEffect) {
  FileDescriptorSet files = Program();
  AddSubmit(files, "EarnMove", "EarnSetWrapperStateParameters");
  FieldDescriptorProto& fee = *MessageIn(files, "EarnDeployWrapperParameters").mutable_field(2);
  ASSERT_EQ(fee.name(), "client_fee_bps");
  fee.mutable_options()->MutableExtension(v1::field)->set_maximum(5000);
  FieldDescriptorProto& wallet = *MessageIn(files, "EarnDeployWrapperParameters").mutable_field(3);
  ASSERT_EQ(wallet.name(), "client_fee_wallet");
  wallet.mutable_options()->MutableExtension(v1::field)->clear_required();
  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(WarningsOf(parsed),
              ElementsAre(HasSubstr("stampgate.v1.EarnDeployWrapperParameters.client_fee_wallet has other options")));
  const Operation* deploy = parsed->config.operations()->Find("/stampgate.v1.EarnService/EarnDeployWrapper");
  ASSERT_NE(deploy, nullptr);
  const MessagePlan& parameters = *deploy->request->Find("parameters")->message;
  EXPECT_EQ(parameters.Find("client_fee_bps")->maximum, 5000u);
  EXPECT_TRUE(parameters.Find("client_fee_wallet")->required);  // it has a guard
}

TEST_F(OperationFilesTest, NoFileMakesTheRequestsOfTheGatewayLooser) {
  FileDescriptorSet files = Program();
  AddSubmit(files, "EarnMove", "EarnSetWrapperStateParameters");
  for (const char* message : {"SubscribeRequest", "SubmitOperationRequest", "GetEventRequest"}) {
    for (FieldDescriptorProto& field : *MessageIn(files, message).mutable_field()) {
      v1::FieldRule& rule = *field.mutable_options()->MutableExtension(v1::field);
      rule.clear_required();
      if (rule.has_maximum()) rule.set_maximum(1'000'000'000);
      if (rule.has_max_bytes()) rule.set_max_bytes(1'000'000'000);
      if (rule.has_max_elements()) rule.set_max_elements(10'000);
    }
  }
  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const OperationSet& set = parsed->config.operations()->set();
  for (const char* file : {"stampgate/v1/event_service.proto", "stampgate/v1/general_service.proto"}) {
    EXPECT_EQ(set.files().at(file), OperationSet::BuiltIn()->files().at(file));
  }
}

TEST_F(OperationFilesTest, OtherOptionsOfAFileAreNotUsedAndAWarningNamesTheirElements) {
  FileDescriptorSet files = Program();
  auto& method = *FileIn(files, "stampgate/v1/policy_service.proto").mutable_service(0)->mutable_method(0);
  method.mutable_options()->MutableExtension(v1::operation)->set_policy_class(v1::POLICY_CLASS_WRITE);
  MessageIn(files, "EarnWithdrawParameters").mutable_field(4)->clear_options();
  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  constexpr char kNotUsed[] =
      "operations[0]: stampgate.v1.$0 has other options in this file, which are not used: the gateway uses its "
      "own";
  EXPECT_THAT(WarningsOf(parsed), ElementsAre(absl::Substitute(kNotUsed, "EarnWithdrawParameters.amount_value"),
                                              absl::Substitute(kNotUsed, "PolicyService.GetActivePolicies")));
  EXPECT_EQ(DigestOf(parsed->config.operations()->set()), DigestOf(*OperationSet::BuiltIn()));
}

TEST_F(OperationFilesTest, AWarningCountsTheElementsAfterTheTwentieth) {
  FileDescriptorSet files = Program();
  int changed = 0;
  for (auto& message : *FileIn(files, "stampgate/v1/wallets.proto").mutable_message_type()) {
    for (auto& field : *message.mutable_field()) {
      field.mutable_options()->MutableExtension(v1::field)->set_max_bytes(7777);
      ++changed;
    }
  }
  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(WarningsOf(parsed).size(), 21u);
  EXPECT_THAT(WarningsOf(parsed).back(),
              HasSubstr(absl::StrCat(changed - 20, " more elements: each has other options")));
}

TEST_F(OperationFilesTest, AWarningNamesEachFieldThatNobodyHasReviewed) {
  for (const v1::FieldGuard guard : {v1::FIELD_GUARD_UNSPECIFIED, v1::FIELD_GUARD_NONE, v1::FIELD_GUARD_CHAIN}) {
    FileDescriptorSet files = Program();
    FieldDescriptorProto& field = AddField(MessageIn(files, "EarnWithdrawParameters"), "chain");
    field.mutable_options()->MutableExtension(v1::field)->set_guard(guard);
    const std::string bytes = files.SerializeAsString();
    for (const char* again : {"first", "second"}) {  // the second time, the table is not made again
      const absl::StatusOr<ParsedConfig> parsed = Parse(bytes);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      if (guard == v1::FIELD_GUARD_UNSPECIFIED) {
        EXPECT_THAT(
            WarningsOf(parsed),
            ElementsAre("operations: stampgate.v1.EarnWithdrawParameters.chain has no guard: a grant "
                        "with amount_limits, destinations or export_public_keys allows no request that sets it"))
            << again;
      } else {
        EXPECT_THAT(WarningsOf(parsed), IsEmpty()) << again;
      }
    }
  }
}

// The API of 0.1.0: options have become stricter since.
TEST_F(OperationFilesTest, AFileOfTheFirstReleaseIsStillValid) {
  std::ifstream file("proto/releases/0.1.0.binpb", std::ios::binary);
  const absl::StatusOr<ParsedConfig> parsed = Parse(std::string(std::istreambuf_iterator(file), {}));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(WarningsOf(parsed),
              Contains(HasSubstr("stampgate.v1.EarnWithdrawParameters.sign_with has other options")));
  const Operation* withdraw = parsed->config.operations()->Find("/stampgate.v1.EarnService/EarnWithdraw");
  ASSERT_NE(withdraw, nullptr);
  EXPECT_EQ(withdraw->request->Find("parameters")->message->Find("sign_with")->guard, v1::FIELD_GUARD_DESTINATION);
}

// A gateway of an earlier release reads the API of this one.
TEST_F(OperationFilesTest, AnEarlierReleaseTakesTheOperationsOfThisOne) {
  for (const auto& entry : std::filesystem::directory_iterator("proto/releases")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const OperationSet::Shared released = OperationSet::Create(std::string(std::istreambuf_iterator(file), {})).value();
    const absl::StatusOr<ParsedConfig> parsed = Parse(BytesOf(*OperationSet::BuiltIn()), "added.binpb", released);
    ASSERT_TRUE(parsed.ok()) << entry << parsed.status();
    EXPECT_EQ(parsed->config.operations()->set().methods().size(), OperationSet::BuiltIn()->methods().size()) << entry;
  }
}

// A file of a release before a change of options, which also adds an operation.
TEST_F(OperationFilesTest, AFileOfAnEarlierReleaseAddsItsOperationsToALaterOne) {
  FileDescriptorSet files = WithKettles();
  MessageIn(files, "EarnWithdrawParameters").mutable_field(4)->clear_options();
  MessageIn(files, "EarnWithdrawParameters").mutable_field()->RemoveLast();
  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const OperationSet& set = parsed->config.operations()->set();
  EXPECT_NE(set.pool().FindServiceByName("kitchen.KettleService"), nullptr);
  EXPECT_EQ(set.files().at("stampgate/v1/earn.proto"), OperationSet::BuiltIn()->files().at("stampgate/v1/earn.proto"));
}

// A field by which the gateway checks, signs or records a request.
struct Protected {
  const char* message;
  const char* field;
};

class ReservedFieldTest : public OperationFilesTest, public ::testing::WithParamInterface<Protected> {
 protected:
  // Returns the program's files; the file of the field reserves its number and name, and has another field with `json`
  // as its JSON name instead.
  FileDescriptorSet Replaced(const std::string& json) {
    FileDescriptorSet files = Program();
    DescriptorProto& message = MessageIn(files, GetParam().message);
    for (int i = 0; i < message.field_size(); ++i) {
      if (message.field(i).name() != GetParam().field) continue;
      json_ = message.field(i).options().GetExtension(v1::field).json_name();
      if (json_.empty()) json_ = message.field(i).json_name();
      FieldDescriptorProto& other = AddField(message, "other_field");
      other.mutable_options()->MutableExtension(v1::field)->set_json_name(json.empty() ? json_ : json);
      other.mutable_options()->MutableExtension(v1::field)->set_guard(v1::FIELD_GUARD_NONE);
      // Only at the end, because the references above would become invalid. An `optional` leaves its oneof behind.
      const FieldDescriptorProto removed = message.field(i);
      message.mutable_field()->DeleteSubrange(i, 1);
      if (removed.proto3_optional()) RemoveOneof(removed.oneof_index(), message);
      message.add_reserved_name(removed.name());
      auto& range = *message.add_reserved_range();
      range.set_start(removed.number());
      range.set_end(removed.number() + 1);
      return files;
    }
    ADD_FAILURE() << GetParam().field;
    return files;
  }

  static void RemoveOneof(int index, DescriptorProto& message) {
    message.mutable_oneof_decl()->DeleteSubrange(index, 1);
    for (auto& field : *message.mutable_field()) {
      if (field.has_oneof_index() && field.oneof_index() > index) field.set_oneof_index(field.oneof_index() - 1);
    }
  }

  std::string json_;
};

TEST_P(ReservedFieldTest, AReservationDoesNotRemoveTheField) {
  const absl::StatusOr<ParsedConfig> parsed = Parse(Replaced("somethingElse").SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::string name = absl::StrCat("stampgate.v1.", GetParam().message, ".", GetParam().field);
  const auto* field = parsed->config.operations()->set().pool().FindFieldByName(name);
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->options().SerializeAsString(),
            OperationSet::BuiltIn()->pool().FindFieldByName(name)->options().SerializeAsString());
}

TEST_P(ReservedFieldTest, AnotherFieldWithItsJsonNameIsLeftOut) {
  // A field that is not part of the JSON has no JSON name to lose.
  if (GetParam().field == std::string("client_stamp") || GetParam().field == std::string("idempotency_key") ||
      GetParam().field == std::string("wait_until") || GetParam().field == std::string("path")) {
    return;
  }
  const std::string unchanged = DigestOf(*OperationSet::BuiltIn());
  for (const bool is_upper : {false, true}) {
    const std::string other = is_upper ? absl::AsciiStrToUpper(json_) : "";
    const absl::StatusOr<ParsedConfig> parsed = Parse(Replaced(other).SerializeAsString());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_THAT(WarningsOf(parsed),
                ElementsAre(absl::StrCat("operations[0]: stampgate.v1.", GetParam().message,
                                         ".other_field has the JSON name of stampgate.v1.", GetParam().message, ".",
                                         GetParam().field, "; it is left out")));
    EXPECT_EQ(DigestOf(parsed->config.operations()->set()), unchanged);
  }
}

std::vector<Protected> ProtectedFields() {
  std::vector<Protected> fields = {
      {"EarnWithdrawParameters", "amount_value"},
      {"EarnWithdrawRequest", "timestamp_ms"},  // optional
      {"SubmitOperationRequest", "activity_type"},
  };
  // With a sanitizer, a field takes up to ten seconds.
#ifndef STAMPGATE_SANITIZED
  fields.insert(fields.end(), {{"EarnWithdrawParameters", "chain_caip2"},
                               {"EarnWithdrawParameters", "wrapper_address"},
                               {"EarnWithdrawParameters", "sign_with"},
                               {"EarnWithdrawRequest", "client_stamp"},
                               {"EarnWithdrawRequest", "organization_id"},
                               {"EarnWithdrawRequest", "parameters"},
                               {"EarnWithdrawRequest", "idempotency_key"},
                               {"EarnWithdrawRequest", "wait_until"},
                               {"ExportWalletAccountParameters", "target_public_key"},
                               {"DeleteWalletsParameters", "delete_without_export"},
                               {"Activity", "id"},
                               {"Activity", "status"},
                               {"SubmitOperationRequest", "path"},
                               {"ApiKeyToCreate", "public_key"}});
#endif
  return fields;
}

INSTANTIATE_TEST_SUITE_P(All, ReservedFieldTest, ::testing::ValuesIn(ProtectedFields()),
                         [](const auto& info) { return absl::StrCat(info.param.message, "_", info.param.field); });

TEST_F(OperationFilesTest, AChainOfMessagesThatIsTooDeepIsAFault) {
  FileDescriptorSet files = WithKettles();
  auto& kettle = *files.mutable_file(files.file_size() - 1);
  kettle.set_syntax("proto3");
  kettle.add_dependency("stampgate/v1/earn.proto");
  for (int i = 0; i < 10'000; ++i) {
    auto& message = *kettle.add_message_type();
    message.set_name(absl::StrCat("M", i));
    if (i == 9'999) break;
    auto& next = AddField(message, "next");
    next.set_type(FieldDescriptorProto::TYPE_MESSAGE);
    next.set_type_name(absl::StrCat(".kitchen.M", i + 1));
  }
  auto& first = AddField(MessageIn(files, "EarnWithdrawParameters"), "chain");
  first.set_type(FieldDescriptorProto::TYPE_MESSAGE);
  first.set_type_name(".kitchen.M0");
  // The file with EarnWithdrawParameters must import the one with the chain.
  kettle.mutable_dependency()->Clear();
  FileIn(files, "stampgate/v1/earn.proto").add_dependency("kettle.proto");
  EXPECT_THAT(FaultOf(files.SerializeAsString()),
              AllOf(HasSubstr("operations[0]: kitchen.M"), HasSubstr(".next nests messages deeper than 64 levels")));
}

TEST_F(OperationFilesTest, AFileOfTooManyElementsIsAFault) {
  const auto fault = [&](int messages, int fields, int values) {
    FileDescriptorSet files;
    auto& file = *files.add_file();
    file.set_name("large.proto");
    file.set_syntax("proto3");
    for (int i = 0; i < messages; ++i) {
      auto& message = *file.add_message_type();
      message.set_name(absl::StrCat("M", i));
      for (int n = 0; n < fields; ++n) {
        auto& field = AddField(message, absl::StrCat("f", n));
        field.set_number(n + 1);
      }
    }
    auto& type = *file.add_enum_type();
    type.set_name("E");
    for (int n = 0; n < values; ++n) {
      auto& value = *type.add_value();
      value.set_name(absl::StrCat("V", n));
      value.set_number(n);
    }
    return FaultOf(files.SerializeAsString());
  };
  EXPECT_EQ(fault(20'000, 1, 1'000), "");
  EXPECT_THAT(fault(20'001, 0, 1), HasSubstr("operations[0]: M20000 is more than the 20000 messages of a set"));
  EXPECT_THAT(fault(1, 100'000, 1), HasSubstr("operations[0]: M0 has more than 1000 fields"));
  EXPECT_THAT(fault(0, 0, 100'000), HasSubstr("operations[0]: E has more than 1000 values"));
  EXPECT_THAT(fault(101, 1'000, 1),
              HasSubstr("operations[0]: M100 brings the fields, values and methods of the set to more than 100000"));
}

TEST_F(OperationFilesTest, AnOperationOfTheProgramGetsAnotherName) {
  FileDescriptorSet files = WithKettles();
  auto& method = *files.mutable_file(files.file_size() - 1)->mutable_service(0)->add_method();
  method.set_name("Boil");
  method.set_input_type(".stampgate.v1.GetPolicyRequest");
  method.set_output_type(".stampgate.v1.GetPolicyResponse");
  auto& rule = *method.mutable_options()->MutableExtension(v1::operation);
  rule.set_kind(v1::OPERATION_KIND_QUERY);
  rule.set_path("/public/v1/query/get_policy");
  auto& kettle = *files.mutable_file(files.file_size() - 1);
  kettle.add_dependency("stampgate/v1/options.proto");
  kettle.add_dependency("stampgate/v1/policy_service.proto");

  const absl::StatusOr<ParsedConfig> parsed = Parse(files.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(WarningsOf(parsed), ElementsAre(HasSubstr("kitchen.KettleService.Boil has other options in this file")));
  const OperationTable& table = *parsed->config.operations();
  const Operation* name = table.Find("/kitchen.KettleService/Boil");
  ASSERT_NE(name, nullptr);
  EXPECT_EQ(name->other_name_of, "/stampgate.v1.PolicyService/GetPolicy");
  EXPECT_EQ(name->policy_class, v1::POLICY_CLASS_QUERY);  // the file states none
  EXPECT_EQ(table.FindTyped(rule.path(), ""), table.Find(name->other_name_of));

  // With other requests, the method is left out alone.
  method.set_input_type(".stampgate.v1.GetPolicyResponse");
  const absl::StatusOr<ParsedConfig> other = Parse(files.SerializeAsString());
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(WarningsOf(other),
              ElementsAre(HasSubstr("kitchen.KettleService.Boil has the path of stampgate.v1.PolicyService.GetPolicy, "
                                    "but not its requests: stampgate.v1.GetPolicyResponse")));
  EXPECT_EQ(other->config.operations()->Find("/kitchen.KettleService/Boil"), nullptr);
}

TEST_F(OperationFilesTest, AFileWithTwoOperationsOfOnePathIsAFault) {
  FileDescriptorSet files = WithKettles();
  auto& kettle = *files.mutable_file(files.file_size() - 1);
  kettle.add_dependency("stampgate/v1/options.proto");
  kettle.add_dependency("stampgate/v1/policy_service.proto");
  for (const char* name : {"Boil", "Pour"}) {
    auto& method = *kettle.mutable_service(0)->add_method();
    method.set_name(name);
    method.set_input_type(".stampgate.v1.GetPolicyRequest");
    method.set_output_type(".stampgate.v1.GetPolicyResponse");
    auto& rule = *method.mutable_options()->MutableExtension(v1::operation);
    rule.set_kind(v1::OPERATION_KIND_QUERY);
    rule.set_path("/public/v1/query/boil");
  }
  EXPECT_THAT(FaultOf(files.SerializeAsString()),
              AllOf(HasSubstr("operations[0]: "), HasSubstr("has the path of another operation")));
}

}  // namespace
}  // namespace stampgate
