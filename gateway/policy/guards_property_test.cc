// Compares random decisions about guarded requests with those of a second, independent implementation. The requests are
// of operations that the program contains and that files of the operator extend: a file adds fields with and without
// guards, changes options, and reserves fields. The second implementation reads messages by Protocol Buffers'
// reflection, and knows the guards from tables in this file. It uses neither the plans nor the options of the protos.
//
// There are 150,000 random requests, and 5,000,000 with STAMPGATE_LONG=1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/policy/guard_rules.h"
#include "gateway/policy/guards_testing.pb.h"
#include "gateway/policy/testing.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "translate/operation_set/merge.h"
#include "translate/operation_set/unreviewed.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/small_set.h"
#include "translate/validator.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptor;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Random = std::mt19937_64;

template <typename T>
const T& Pick(Random& random, const std::vector<T>& list) {
  return list[random() % list.size()];
}
bool OneIn(Random& random, size_t n) { return random() % n == 0; }

constexpr char kPackage[] = ".stampgate.testing.shop.";

// What a field states, as a reviewer would write it down.
enum class States { kNothing, kAmount, kChain, kContract, kKey, kDestination, kDanger, kUnreviewed };

const std::map<std::string, States>& OfProgram() {
  static const auto& fields = *new std::map<std::string, States>{
      {"Payment.amount", States::kAmount},
      {"Payment.chain", States::kChain},
      {"Payment.contract", States::kContract},
      {"Payment.to", States::kDestination},
      {"Leg.amounts", States::kAmount},
      {"Leg.chains", States::kChain},
      {"Leg.key", States::kKey},
      {"Leg.force", States::kDanger},
  };
  return fields;
}

// A field that a file can add.
struct Addition {
  const char* message;
  const char* name;
  const char* type;  // "string", "bool", or the name of a message or enum
  bool is_list;
  States states;                   // if the file gives it the guard `guard`
  v1::FieldGuard guard;            // the one that a reviewer would give it
  const char* replaces = nullptr;  // the field of which it is a newer name; it has no guard then
};
const std::vector<Addition>& Additions() {
  static const auto& additions = *new std::vector<Addition>{
      {"Payment", "caip2", "string", false, States::kChain, v1::FIELD_GUARD_CHAIN},
      {"Payment", "value", "string", false, States::kAmount, v1::FIELD_GUARD_AMOUNT},
      {"Payment", "vault", "string", false, States::kContract, v1::FIELD_GUARD_CONTRACT},
      {"Payment", "vaults", "string", true, States::kContract, v1::FIELD_GUARD_CONTRACT},
      {"Payment", "receivers", "string", true, States::kDestination, v1::FIELD_GUARD_DESTINATION},
      {"Payment", "networks", "Chain", true, States::kChain, v1::FIELD_GUARD_CHAIN},
      {"Leg", "target", "string", false, States::kKey, v1::FIELD_GUARD_EXPORT_KEY},
      {"Leg", "hasty", "bool", false, States::kDanger, v1::FIELD_GUARD_DANGEROUS},
      {"Note", "extra", "string", false, States::kNothing, v1::FIELD_GUARD_NONE},
      {"PayRequest", "second", "Payment", false, States::kNothing, v1::FIELD_GUARD_NONE},
      {"LookRequest", "extra", "string", false, States::kNothing, v1::FIELD_GUARD_NONE},
      {"Payment", "network", "string", false, States::kChain, {}, "chain"},
      {"Payment", "sum", "string", false, States::kAmount, {}, "amount"},
      {"Payment", "payee", "string", false, States::kDestination, {}, "to"},
      {"Leg", "public_key", "string", false, States::kKey, {}, "key"},
  };
  return additions;
}

DescriptorProto& MessageIn(FileDescriptorProto& file, const std::string& name) {
  for (DescriptorProto& message : *file.mutable_message_type()) {
    if (message.name() == name) return message;
  }
  ADD_FAILURE() << name;
  return *file.add_message_type();
}

void Add(const Addition& addition, v1::FieldGuard guard, FileDescriptorProto& file) {
  DescriptorProto& message = MessageIn(file, addition.message);
  FieldDescriptorProto& field = *message.add_field();
  field.set_name(addition.name);
  field.set_number(50 + message.field_size());
  field.set_label(addition.is_list ? FieldDescriptorProto::LABEL_REPEATED : FieldDescriptorProto::LABEL_OPTIONAL);
  const std::string type = addition.type;
  field.set_type(type == "string"  ? FieldDescriptorProto::TYPE_STRING
                 : type == "bool"  ? FieldDescriptorProto::TYPE_BOOL
                 : type == "Chain" ? FieldDescriptorProto::TYPE_ENUM
                                   : FieldDescriptorProto::TYPE_MESSAGE);
  if (field.type() == FieldDescriptorProto::TYPE_ENUM || field.type() == FieldDescriptorProto::TYPE_MESSAGE) {
    field.set_type_name(absl::StrCat(kPackage, type));
  } else if (!addition.is_list && absl::NullSafeStringView(addition.replaces) != "chain") {  // which has no presence
    field.set_proto3_optional(true);
    field.set_oneof_index(message.oneof_decl_size());
    message.add_oneof_decl()->set_name(absl::StrCat("_", addition.name));
  }
  if (guard != v1::FIELD_GUARD_UNSPECIFIED) field.mutable_options()->MutableExtension(v1::field)->set_guard(guard);
  if (addition.replaces == nullptr) return;
  field.mutable_options()->MutableExtension(v1::field)->set_replaces(addition.replaces);
  field.mutable_options()->MutableExtension(v1::field)->set_since("2026-10-21");
}

v1::FieldRule& RuleOf(FileDescriptorProto& file, const std::string& message, int index) {
  return *MessageIn(file, message).mutable_field(index)->mutable_options()->MutableExtension(v1::field);
}

// Reserves the number and the name of the last field of `message`, and removes the field.
void Reserve(const std::string& message, FileDescriptorProto& file) {
  DescriptorProto& type = MessageIn(file, message);
  const FieldDescriptorProto field = type.field(type.field_size() - 1);
  type.mutable_field()->RemoveLast();
  type.add_reserved_name(field.name());
  type.add_reserved_range()->set_start(field.number());
  type.mutable_reserved_range()->rbegin()->set_end(field.number() + 1);
}

// Changes that a file attempts on what the program has. None has an effect.
using Attempt = void (*)(FileDescriptorProto& file);
const std::vector<Attempt>& Attempts() {
  static const auto& attempts = *new std::vector<Attempt>{
      [](FileDescriptorProto&) {},
      [](FileDescriptorProto& file) { RuleOf(file, "Payment", 0).clear_guard(); },
      [](FileDescriptorProto& file) { RuleOf(file, "Payment", 1).set_guard(v1::FIELD_GUARD_NONE); },
      [](FileDescriptorProto& file) { RuleOf(file, "Payment", 3).set_guard(v1::FIELD_GUARD_CONTRACT); },
      [](FileDescriptorProto& file) { RuleOf(file, "Leg", 2).set_json_name("other"); },
      [](FileDescriptorProto& file) {
        auto& value = *file.mutable_enum_type(0)->mutable_value(2);
        value.mutable_options()->MutableExtension(v1::enum_value)->set_json_name("eip155:137");
      },
      [](FileDescriptorProto& file) { Reserve("Leg", file); },
      [](FileDescriptorProto& file) { Reserve("Payment", file); },
      [](FileDescriptorProto& file) {
        MessageIn(file, "Payment").clear_field(), MessageIn(file, "Payment").clear_oneof_decl();
      },
  };
  return attempts;
}

FileDescriptorProto ProgramFile() {
  FileDescriptorProto file;
  testing::shop::Payment::descriptor()->file()->CopyTo(&file);
  return file;
}

const OperationSet::Shared& Program() {
  static const auto& program = *new OperationSet::Shared(testing::SetOfFiles({ProgramFile()}));
  return program;
}

// The operations of the program with a file of the operator.
class Scene {
 public:
  Scene(const FileDescriptorProto& file, std::map<std::string, States> fields)
      : set_(MergeOperationSets(Program(), testing::SetOfFiles({file})).value().set),
        plans_("Service", UnreviewedFields(*set_)),
        fields_(std::move(fields)) {
    fields_.insert(OfProgram().begin(), OfProgram().end());
    for (const char* name : {"PayRequest", "LookRequest"}) EXPECT_TRUE(plans_.Compile(TypeOf(name)).ok());
  }

  std::unique_ptr<Message> New(const std::string& name) { return std::unique_ptr<Message>(prototype(name).New()); }
  const MessagePlan& PlanOf(const Message& message) const { return *plans_.Find(message.GetDescriptor()); }

  States StatesOf(const FieldDescriptor& field) const {
    const auto found = fields_.find(absl::StrCat(field.containing_type()->name(), ".", field.name()));
    return found == fields_.end() ? States::kNothing : found->second;
  }

 private:
  const google::protobuf::Descriptor* TypeOf(const std::string& name) const {
    return set_->pool().FindMessageTypeByName(absl::StrCat(absl::string_view(kPackage).substr(1), name));
  }
  const Message& prototype(const std::string& name) { return *factory_.GetPrototype(TypeOf(name)); }

  const OperationSet::Shared set_;
  MessagePlans plans_;
  std::map<std::string, States> fields_;
  google::protobuf::DynamicMessageFactory factory_;
};

std::unique_ptr<Scene> RandomScene(Random& random) {
  FileDescriptorProto file = ProgramFile();
  Pick(random, Attempts())(file);
  std::map<std::string, States> fields;
  for (const Addition& addition : Additions()) {
    if (OneIn(random, 4)) continue;
    if (addition.replaces != nullptr) {
      Add(addition, v1::FIELD_GUARD_UNSPECIFIED, file);
      fields[absl::StrCat(addition.message, ".", addition.name)] = addition.states;
      continue;
    }
    const v1::FieldGuard guard = OneIn(random, 4)   ? v1::FIELD_GUARD_UNSPECIFIED
                                 : OneIn(random, 6) ? v1::FIELD_GUARD_NONE
                                                    : addition.guard;
    Add(addition, guard, file);
    // No request with a guard contains LookRequest, so nobody need review its fields.
    const bool is_unreviewed =
        guard == v1::FIELD_GUARD_UNSPECIFIED && addition.message != absl::string_view("LookRequest");
    fields[absl::StrCat(addition.message, ".", addition.name)] = is_unreviewed             ? States::kUnreviewed
                                                                 : guard == addition.guard ? addition.states
                                                                                           : States::kNothing;
  }
  return std::make_unique<Scene>(file, std::move(fields));
}

// Returns the name of the field that `field` replaces, or an empty text.
std::string ReplacedBy(const FieldDescriptor& field) {
  for (const Addition& addition : Additions()) {
    if (addition.replaces != nullptr && field.name() == addition.name) return addition.replaces;
  }
  return "";
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), tolower);
  return text;
}

const std::vector<std::string> kAmounts = {"0", "9", "10", "11", "100", "MAX"};
const std::vector<std::string> kChains = {"eip155:1", "eip155:8453", "eip155:137"};
const std::vector<std::string> kContracts = {"0xaa", "0xAA", "0xbb"};
const std::vector<std::string> kDestinations = {"0xcc", "0xCC", "0xdd", "So1ana"};

std::string RandomText(Random& random, States states) {
  if (OneIn(random, 40)) return "";
  switch (states) {
    case States::kAmount:
      return OneIn(random, 40) ? "01" : Pick(random, kAmounts);
    case States::kChain:
      return OneIn(random, 2) ? kChains[0] : Pick(random, kChains);
    case States::kContract:
      return OneIn(random, 2) ? kContracts[0] : Pick(random, kContracts);
    case States::kKey:
      return OneIn(random, 3) ? kPointOfTwo : kPointOfOne;
    case States::kDestination:
      return Pick(random, kDestinations);
    default:
      return "text";
  }
}

constexpr int kDepth = 4;  // how deep messages are nested

void FillRandomly(const Scene& scene, Message& message, Random& random, int depth) {
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const States states = scene.StatesOf(*field);
    const bool is_rare = states == States::kNothing || states == States::kUnreviewed || states == States::kDanger ||
                         !ReplacedBy(*field).empty();
    const bool leads_on = field->message_type() != nullptr && depth == kDepth;
    if (!leads_on && (field->message_type() != nullptr || is_rare ? !OneIn(random, 6) : OneIn(random, 3))) continue;
    const auto number = [&] { return OneIn(random, 60) ? 77 : OneIn(random, 3) ? 2 : 1; };
    for (size_t n = field->is_repeated() ? 1 + random() % 2 : 1; n > 0; --n) {
      if (field->message_type() != nullptr) {
        if (depth == 0) break;
        FillRandomly(scene,
                     field->is_repeated() ? *reflection.AddMessage(&message, field)
                                          : *reflection.MutableMessage(&message, field),
                     random, depth - 1);
      } else if (field->type() == FieldDescriptor::TYPE_BOOL) {
        reflection.SetBool(&message, field, OneIn(random, 2));
      } else if (field->type() == FieldDescriptor::TYPE_ENUM) {
        field->is_repeated() ? reflection.AddEnumValue(&message, field, number())
                             : reflection.SetEnumValue(&message, field, number());
      } else {
        field->is_repeated() ? reflection.AddString(&message, field, RandomText(random, states))
                             : reflection.SetString(&message, field, RandomText(random, states));
      }
    }
  }
}

// The second implementation.
class Oracle {
 public:
  Oracle(const Scene& scene, const config::v1::Grant& grant) : scene_(scene), grant_(grant) {}

  // Returns whether nobody may send the request.
  bool IsInvalid(const Message& message) const {
    std::map<States, std::set<std::string>> single;
    for (const FieldDescriptor* field : Set(message)) {
      const States states = scene_.StatesOf(*field);
      const std::vector<std::string> texts = Texts(message, *field);
      if (const std::string older = ReplacedBy(*field); !older.empty()) {
        for (const FieldDescriptor* other : Set(message)) {
          if (other->name() == older) return true;
        }
        if (older == "chain" && texts[0] != "eip155:1" && texts[0] != "eip155:8453") return true;
      }
      for (const std::string& text : texts) {
        if (text == "?") return true;
        if (states == States::kAmount && !IsAmountText(text)) return true;
        const bool in_hex = states == States::kContract || states == States::kKey;
        if (!field->is_repeated()) single[states].insert(in_hex ? Lower(text) : text);
      }
      for (const Message* inside : Inside(message, *field)) {
        if (IsInvalid(*inside)) return true;
      }
    }
    for (const States states : {States::kAmount, States::kChain, States::kContract, States::kKey}) {
      if (single[states].size() > 1) return true;
    }
    return false;
  }

  bool Allows(const Message& request) {
    states_destination_ = false;
    if (!AllowsMessage(request)) return false;
    const bool can_state = request.GetDescriptor()->name() == "PayRequest";
    return grant_.destinations().empty() || states_destination_ || !can_state;
  }

 private:
  static std::vector<const FieldDescriptor*> Set(const Message& message) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    return fields;
  }

  // Returns the values of a field as upstream would read them; "?" for an enum value that the proto does not list.
  static std::vector<std::string> Texts(const Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    std::vector<std::string> texts;
    const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field.type() == FieldDescriptor::TYPE_STRING) {
        texts.push_back(field.is_repeated() ? reflection.GetRepeatedString(message, &field, i)
                                            : reflection.GetString(message, &field));
      } else if (field.type() == FieldDescriptor::TYPE_ENUM) {
        const int number = field.is_repeated() ? reflection.GetRepeatedEnumValue(message, &field, i)
                                               : reflection.GetEnumValue(message, &field);
        texts.push_back(number == 1 ? "eip155:1" : number == 2 ? "eip155:8453" : "?");
      }
    }
    return texts;
  }

  static std::vector<const Message*> Inside(const Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    std::vector<const Message*> inside;
    if (field.message_type() == nullptr) return inside;
    if (!field.is_repeated()) return {&reflection.GetMessage(message, &field)};
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      inside.push_back(&reflection.GetRepeatedMessage(message, &field, i));
    }
    return inside;
  }

  static bool IsAmountText(const std::string& text) {
    return std::find(kAmounts.begin(), kAmounts.end(), text) != kAmounts.end();
  }

  bool CanState(const Message& message, States states) const {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      if (scene_.StatesOf(*message.GetDescriptor()->field(i)) == states) return true;
    }
    return false;
  }

  bool AllowsMessage(const Message& message) {
    std::map<States, std::vector<std::string>> stated;
    const bool is_limited =
        !grant_.amount_limits().empty() || !grant_.destinations().empty() || !grant_.export_public_keys().empty();
    for (const FieldDescriptor* field : Set(message)) {
      const States states = scene_.StatesOf(*field);
      if (states == States::kUnreviewed && is_limited) return false;
      if (states == States::kDanger && message.GetReflection()->GetBool(message, field)) {
        const auto& named = grant_.dangerous_fields();
        if (std::find(named.begin(), named.end(), field->name()) == named.end()) return false;
      }
      for (const std::string& text : Texts(message, *field)) stated[states].push_back(text);
      for (const Message* inside : Inside(message, *field)) {
        if (!AllowsMessage(*inside)) return false;
      }
    }
    if (!grant_.amount_limits().empty() && CanState(message, States::kAmount)) {
      if (stated[States::kAmount].empty() || stated[States::kChain].empty()) return false;
      std::vector<std::string> contracts = stated[States::kContract];
      if (contracts.empty()) contracts.emplace_back();
      for (const std::string& amount : stated[States::kAmount]) {
        for (const std::string& chain : stated[States::kChain]) {
          for (const std::string& contract : contracts) {
            if (!IsWithin(amount, chain, contract)) return false;
          }
        }
      }
    }
    if (!grant_.export_public_keys().empty() && CanState(message, States::kKey)) {
      if (stated[States::kKey].empty()) return false;
      for (const std::string& key : stated[States::kKey]) {
        if (key != grant_.export_public_keys(0)) return false;
      }
    }
    if (!grant_.destinations().empty() && CanState(message, States::kDestination)) {
      if (stated[States::kDestination].empty()) return false;
      states_destination_ = true;
      for (const std::string& to : stated[States::kDestination]) {
        bool is_listed = false;
        for (const std::string& listed : grant_.destinations()) {
          is_listed = is_listed || listed == to || (absl::StartsWith(listed, "0x") && Lower(listed) == Lower(to));
        }
        if (!is_listed) return false;
      }
    }
    return true;
  }

  bool IsWithin(const std::string& amount, const std::string& chain, const std::string& contract) const {
    for (const config::v1::AmountLimit& limit : grant_.amount_limits()) {
      if (chain.empty() || limit.chain() != chain) continue;
      if (!limit.contract().empty() && Lower(limit.contract()) != Lower(contract)) continue;
      if (limit.max_amount().empty()) return true;
      if (amount != "MAX" && std::stoi(amount) <= std::stoi(limit.max_amount())) return true;
    }
    return false;
  }

  const Scene& scene_;
  const config::v1::Grant& grant_;
  bool states_destination_ = false;
};

config::v1::Grant RandomGrant(Random& random) {
  config::v1::Grant grant;
  for (size_t i = OneIn(random, 2) ? 1 + random() % 2 : 0; i > 0; --i) {
    config::v1::AmountLimit& limit = *grant.add_amount_limits();
    limit.set_chain(OneIn(random, 2) ? kChains[0] : Pick(random, kChains));
    if (OneIn(random, 4)) limit.set_contract(Pick(random, kContracts));
    if (!OneIn(random, 2)) limit.set_max_amount(OneIn(random, 2) ? "10" : "100");
  }
  for (size_t i = OneIn(random, 3) ? 1 + random() % 3 : 0; i > 0; --i) {
    grant.add_destinations(Pick(random, kDestinations));
  }
  if (OneIn(random, 3)) grant.add_export_public_keys(OneIn(random, 2) ? kPointOfOne : kPointOfTwo);
  for (const char* name : {"force", "hasty"}) {
    if (OneIn(random, 2)) grant.add_dangerous_fields(name);
  }
  return grant;
}

enum class Outcome { kInvalid, kDenied, kAllowed };

Outcome Decide(const Scene& scene, const config::v1::Grant& grant, const Message& request) {
  const testing::Parsed parsed(request, scene.PlanOf(request));
  Violations violations;
  Validate(*parsed, violations);
  if (!violations.empty()) return Outcome::kInvalid;
  return GuardRules(grant).Refuse(*parsed).has_value() ? Outcome::kDenied : Outcome::kAllowed;
}

Outcome Expected(const Scene& scene, const config::v1::Grant& grant, const Message& request) {
  Oracle oracle(scene, grant);
  if (oracle.IsInvalid(request)) return Outcome::kInvalid;
  return oracle.Allows(request) ? Outcome::kAllowed : Outcome::kDenied;
}

std::unique_ptr<Message> PayRequest(Scene& scene, const std::string& parameters) {
  std::unique_ptr<Message> request = scene.New("PayRequest");
  testing::ParseTextProto(absl::StrCat("parameters {", parameters, "}"), *request);
  return request;
}

// With a limit for one chain, a request names this chain in one field and another chain in a field that a file has
// added.
TEST(GuardsPropertyTest, ASecondNameOfTheChainDoesNotLeadRoundALimit) {
  const auto grant = testing::Proto<config::v1::Grant>("amount_limits { chain: 'eip155:1' max_amount: '1000' }");
  constexpr char kBoth[] = "amount: '10' chain: CHAIN_ONE caip2: 'eip155:8453'";
  constexpr char kEqual[] = "amount: '10' chain: CHAIN_ONE caip2: 'eip155:1'";
  const auto outcome = [&](v1::FieldGuard guard, States states, const char* parameters) {
    FileDescriptorProto file = ProgramFile();
    Add(Additions()[0], guard, file);
    Scene scene(file, {{"Payment.caip2", states}});
    const auto request = PayRequest(scene, parameters);
    EXPECT_EQ(Decide(scene, grant, *request), Expected(scene, grant, *request));
    return Decide(scene, grant, *request);
  };
  EXPECT_EQ(outcome(v1::FIELD_GUARD_CHAIN, States::kChain, kBoth), Outcome::kInvalid);
  EXPECT_EQ(outcome(v1::FIELD_GUARD_CHAIN, States::kChain, kEqual), Outcome::kAllowed);
  EXPECT_EQ(outcome(v1::FIELD_GUARD_CHAIN, States::kChain, "amount: '10' caip2: 'eip155:1'"), Outcome::kAllowed);
  EXPECT_EQ(outcome(v1::FIELD_GUARD_CHAIN, States::kChain, "amount: '10' caip2: 'eip155:8453'"), Outcome::kDenied);
  EXPECT_EQ(outcome(v1::FIELD_GUARD_UNSPECIFIED, States::kUnreviewed, kBoth), Outcome::kDenied);
  EXPECT_EQ(outcome(v1::FIELD_GUARD_UNSPECIFIED, States::kUnreviewed, kEqual), Outcome::kDenied);
  EXPECT_EQ(outcome(v1::FIELD_GUARD_UNSPECIFIED, States::kUnreviewed, "amount: '10' chain: CHAIN_ONE"),
            Outcome::kAllowed);
}

// A file reserves the fields of a payment, and adds a field without a guard under the JSON name of the amount.
TEST(GuardsPropertyTest, AReservedAmountKeepsItsGuardAndItsName) {
  const auto grant = testing::Proto<config::v1::Grant>("amount_limits { chain: 'eip155:1' max_amount: '10' }");
  FileDescriptorProto file = ProgramFile();
  while (MessageIn(file, "Payment").field_size() > 0) Reserve("Payment", file);
  MessageIn(file, "Payment").clear_oneof_decl();
  Scene scene(file, {});
  EXPECT_EQ(Decide(scene, grant, *PayRequest(scene, "amount: '11' chain: CHAIN_ONE")), Outcome::kDenied);
  EXPECT_EQ(Decide(scene, grant, *PayRequest(scene, "amount: '10' chain: CHAIN_ONE")), Outcome::kAllowed);

  Add(Additions()[0], v1::FIELD_GUARD_NONE, file);
  for (const char* name : {"amount", "Amount", "a_mount"}) {
    RuleOf(file, "Payment", 0).set_json_name(name);
    const absl::StatusOr<MergedOperations> merged = MergeOperationSets(Program(), testing::SetOfFiles({file}));
    ASSERT_TRUE(merged.ok()) << merged.status();
    EXPECT_THAT(merged->conflicts, ::testing::ElementsAre("stampgate.testing.shop.Payment.caip2 has the JSON name of "
                                                          "stampgate.testing.shop.Payment.amount; it is left out"));
    EXPECT_EQ(merged->set, Program());
  }
}

#ifdef STAMPGATE_SANITIZED
constexpr int kRounds = 20;
#else
constexpr int kRounds = 60;
#endif

TEST(GuardsPropertyTest, EveryDecisionMatchesTheTables) {
  Random random(20261126);
  const int rounds = std::getenv("STAMPGATE_LONG") != nullptr ? 2'000 : kRounds;
  std::map<Outcome, int> outcomes;
  std::map<Outcome, int> of_limited;
  for (int round = 0; round < rounds; ++round) {
    const std::unique_ptr<Scene> scene = RandomScene(random);
    for (int of_grant = 0; of_grant < 100; ++of_grant) {
      const config::v1::Grant grant = RandomGrant(random);
      for (int i = 0; i < 25; ++i) {
        const std::unique_ptr<Message> request = scene->New(OneIn(random, 20) ? "LookRequest" : "PayRequest");
        FillRandomly(*scene, *request, random, kDepth);
        const Outcome expected = Expected(*scene, grant, *request);
        const Outcome outcome = Decide(*scene, grant, *request);
        ASSERT_EQ(outcome, expected) << grant.DebugString() << request->DebugString();
        ++outcomes[outcome];
        if (!grant.amount_limits().empty()) ++of_limited[outcome];
      }
    }
  }
  EXPECT_EQ(outcomes[Outcome::kInvalid] + outcomes[Outcome::kDenied] + outcomes[Outcome::kAllowed], rounds * 2500);
  // Otherwise rules that always give the same answer would pass.
  for (const Outcome outcome : {Outcome::kInvalid, Outcome::kDenied, Outcome::kAllowed}) {
    EXPECT_GT(outcomes[outcome], rounds * 50) << static_cast<int>(outcome);
    EXPECT_GT(of_limited[outcome], rounds * 5) << static_cast<int>(outcome);
  }
}

}  // namespace
}  // namespace stampgate
