// No request makes a call hold more than MostBytesHeld. The test generates the requests that grow the most, for each
// field of each operation and in each form that a request can have, and counts the bytes that are really allocated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/error.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"
#include "translate/message/request_memory.h"
#include "translate/request_translator.h"
#include "translate/testing/allocated_bytes.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

using testing::NewRequest;
using testing::OperationOf;
using testing::Operations;

// The size of an attack: a bit more than what every call may hold anyway.
constexpr size_t kAttackBytes = kSmallRequestBytes + (16 << 10);

// A JSON reader needs at most this many times the bytes of a text while it reads, for its index and for names.
constexpr size_t kReaderFactor = 8;

// The reader keeps the buffers of texts up to this size for the next text. Reading one makes all counts comparable.
void Prime() {
  static std::string& text = *new std::string(absl::StrCat("{\"a\":\"", std::string((256 << 10) - 8, 'a'), "\"}"));
  ASSERT_TRUE(ReadJsonObject(text, [](JsonValue&) { return absl::OkStatus(); }).ok());
}

// What a request made its call hold.
struct Growth {
  size_t held = 0;  // the most bytes between two steps, with the request itself
  size_t peak = 0;  // the most bytes during a step
};

class Count {
 public:
  explicit Count(size_t received) : received_(received) {
    Prime();
    base_ = testing::AllocatedBytes();
    testing::ResetPeak();
  }

  void Step() {
    growth_.peak = std::max(growth_.peak, received_ + testing::PeakBytes() - base_);
    Prime();
    growth_.held = std::max(growth_.held, received_ + testing::AllocatedBytes() - base_);
  }
  void Release(size_t bytes) { received_ -= bytes; }
  const Growth& growth() const { return growth_; }

 private:
  size_t received_;
  size_t base_ = 0;
  Growth growth_;
};

enum class Form { kSent, kPrepared, kStamped };

// Carries out the steps of a call with the request `bytes`. `most` is what the call may hold at least.
Growth GrowthOf(const Operation& operation, const std::string& bytes, Form form, size_t most = MostBytesHeld(0)) {
  // The message of a Prepare call contains the bytes once more.
  const size_t received = form == Form::kPrepared ? 2 * bytes.size() : bytes.size();
  Count count(received);
  {
    RequestMemory memory(most);
    memory.Receive(bytes.size());
    memory.Count(received - bytes.size());
    absl::StatusOr<const ParsedMessage*> request = ParseMessage(*operation.request, bytes, memory);
    count.Step();
    if (!request.ok()) return count.growth();
    const bool unstamped = form == Form::kPrepared || (form == Form::kSent && operation.stamped_by_client);
    absl::StatusOr<CheckedRequest> checked =
        unstamped ? CheckedRequest::CheckUnstamped(Operations(), operation, **request, memory)
                  : CheckedRequest::Check(Operations(), operation, **request, memory);
    count.Step();
    if (!checked.ok()) return count.growth();
    if (checked->client_stamp().has_value()) {
      memory.Release(bytes.size());
      count.Release(bytes.size());
    }
    absl::StatusOr<RenderedRequest> rendered = (*std::move(checked)).Render();
    count.Step();
    if (!rendered.ok()) return count.growth();
    const std::string body = operation.is_submit() ? rendered->SubmitBody(1) : rendered->QueryBody();
    count.Step();
  }
  return count.growth();
}

using Path = std::vector<const FieldPlan*>;
using OnAttack = std::function<void(const std::string& name, const std::string& content)>;

std::string Repeat(absl::string_view part, size_t bytes) {
  std::string all;
  all.reserve(bytes + part.size());
  while (all.size() < bytes) all.append(part.data(), part.size());
  return all;
}

std::string Field(int number, absl::string_view value) {
  WireWriter out;
  out.String(number, value);
  return out.Take();
}

std::string Number(int number, uint64_t value) {
  WireWriter out;
  out.Varint(number, value);
  return out.Take();
}

bool IsNumber(const FieldPlan& field) {
  return field.message == nullptr && field.form != JsonForm::kOpaque &&
         field.field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING;
}

uint64_t SomeNumber(const FieldPlan& field) {
  if (field.form == JsonForm::kEnum) return static_cast<uint64_t>(field.values->json.begin()->first);
  return field.minimum.value_or(1);
}

// A message in which each field has a value of one byte.
std::string Dense(const MessagePlan& plan) {
  std::string bytes;
  for (const FieldPlan& field : plan.fields) {
    bytes += IsNumber(field) ? Number(field.field->number(), SomeNumber(field))
                             : Field(field.field->number(), field.message == nullptr ? "1" : "");
  }
  return bytes;
}

// The texts of JSON objects that grow.
std::vector<std::string> Objects(size_t size) {
  std::string names = "{";
  for (int i = 0; names.size() < size; ++i) absl::StrAppend(&names, i == 0 ? "" : ",", "\"", absl::Hex(i), "\":0");
  std::string nested = Repeat("{\"a\":[0,", size / 2);
  return {names + "}", absl::StrCat("{\"a\":[0", Repeat(",0", size), "]}"),
          absl::StrCat("{\"a\":[{}", Repeat(",{}", size), "]}"),
          absl::StrCat("{\"a\":\"", Repeat("\\u0001", size), "\"}"), nested};
}

// Calls `on_attack` with the contents of fields that grow the most, of one field of a message.
void AttackField(const FieldPlan& field, size_t size, const OnAttack& on_attack) {
  const int number = field.field->number();
  if (IsNumber(field)) {
    on_attack("numbers", Repeat(Number(number, SomeNumber(field)), size));
    if (field.field->is_repeated()) on_attack("packed", Field(number, Repeat(std::string(1, '\1'), size)));
    return;
  }
  on_attack("empty", Repeat(Field(number, ""), size));
  if (field.form == JsonForm::kStringMap) {
    std::string entries;
    for (int i = 0; entries.size() < size; ++i) entries += Field(number, Field(1, absl::StrCat(absl::Hex(i))));
    on_attack("keys", entries);
    on_attack("one key", Repeat(Field(number, Field(1, "k")), size));
  } else if (field.message != nullptr || field.form == JsonForm::kOpaque) {
    on_attack("unknown", Repeat(Field(number, Number(1000, 1)), size));
    if (field.message != nullptr) on_attack("dense", Repeat(Field(number, Dense(*field.message)), size));
  } else {
    on_attack("control characters", Field(number, Repeat("\1", size)));
    on_attack("short", Repeat(Field(number, "\1"), size));
    if (field.form == JsonForm::kJsonText || field.form == JsonForm::kJsonMembers) {
      for (const std::string& object : Objects(size)) on_attack("JSON", Field(number, object));
    }
  }
}

// Calls `on_attack` with messages of `plan`: each field of it and of the messages inside it grows in turn.
void Attack(const MessagePlan& plan, size_t size, const Path& path, std::set<const MessagePlan*>& seen,
            const OnAttack& on_attack) {
  if (!seen.insert(&plan).second) return;
  const auto wrapped = [&](const std::string& name, std::string content) {
    std::string place;
    for (auto step = path.rbegin(); step != path.rend(); ++step) content = Field((*step)->field->number(), content);
    for (const FieldPlan* step : path) absl::StrAppend(&place, step->field->name(), ".");
    on_attack(absl::StrCat(place, name), content);
  };
  wrapped("unknown fields", Repeat(Number(1000, 1), size));
  for (const FieldPlan& field : plan.fields) {
    AttackField(field, size, [&](const std::string& name, const std::string& content) {
      wrapped(absl::StrCat(field.field->name(), ": ", name), content);
    });
    if (field.message == nullptr) continue;
    Path inner = path;
    inner.push_back(&field);
    Attack(*field.message, size, inner, seen, on_attack);
  }
}

// Calls `on_attack` with values of JSON, by the JSON names of `plan`.
void AttackJson(const MessagePlan& plan, size_t size, const std::string& before, const std::string& after,
                std::set<const MessagePlan*>& seen, const OnAttack& on_attack) {
  if (!seen.insert(&plan).second) return;
  for (const std::string& object : Objects(size)) {
    if (before.empty()) {
      on_attack("an object", object.substr(1, object.size() - 2));
    } else {
      on_attack("an object", absl::StrCat(before, object, after));
    }
  }
  for (const FieldPlan& field : plan.fields) {
    if (!field.in_json || field.form == JsonForm::kJsonMembers) continue;
    const std::string start = before.empty() ? field.json_key : absl::StrCat(before, "{", field.json_key);
    const std::string end = before.empty() ? "" : absl::StrCat("}", after);
    const auto value = [&](absl::string_view text) { on_attack(field.json_name, absl::StrCat(start, text, end)); };
    if (field.field->is_repeated()) {
      for (const char* element : {"{}", "\"\"", "0", "[]", "null"}) {
        value(absl::StrCat("[", element, Repeat(absl::StrCat(",", element), size), "]"));
      }
      if (field.form == JsonForm::kEnum) {
        const std::string& text = field.values->json.begin()->second;
        value(absl::StrCat("[", text, Repeat(absl::StrCat(",", text), size), "]"));
      }
    } else {
      value(absl::StrCat("\"", Repeat("\\u0001", size), "\""));
      value(absl::StrCat("\"", Repeat("\x7f", size), "\""));
    }
    if (field.form != JsonForm::kMessage) continue;
    const bool is_list = field.field->is_repeated();
    AttackJson(*field.message, size, absl::StrCat(start, is_list ? "[" : ""), absl::StrCat(is_list ? "]" : "", end),
               seen, on_attack);
  }
}

// The bytes of a full request without a stamp.
std::string FullRequest(const Operation& operation) {
  const auto request = NewRequest(operation);
  testing::FillFully(*request, *operation.request);
  if (operation.request->client_stamp != nullptr) {
    request->GetReflection()->ClearField(request.get(), operation.request->client_stamp->field);
  }
  if (operation.general) {
    request->GetReflection()->SetString(request.get(), operation.path_segment->field, "brew_tea");
    if (operation.activity_type_field != nullptr) {
      request->GetReflection()->SetString(request.get(), operation.activity_type_field->field,
                                          "ACTIVITY_TYPE_BREW_TEA");
    }
  }
  return request->SerializeAsString();
}

// The largest factors that a test has seen.
class Worst {
 public:
  void Check(const Operation& operation, const std::string& name, const std::string& bytes, const Growth& growth) {
    ++count_;
    const size_t most = MostBytesHeld(bytes.size());
    EXPECT_LE(growth.held, most) << operation.full_name << " " << name;
    EXPECT_LE(growth.peak, most + kReaderFactor * bytes.size()) << operation.full_name << " " << name;
    Note(operation, name, bytes, growth);
  }

  void Note(const Operation& operation, const std::string& name, const std::string& bytes, const Growth& growth) {
    const auto factor = [&](size_t held) { return static_cast<double>(held) / static_cast<double>(bytes.size()); };
    if (factor(growth.held) > held_) {
      held_ = factor(growth.held);
      where_ = absl::StrCat(operation.full_name, " ", name);
    }
    if (factor(growth.peak) > peak_) {
      peak_ = factor(growth.peak);
      peak_where_ = absl::StrCat(operation.full_name, " ", name);
    }
  }

  double held() const { return held_; }
  int count() const { return count_; }
  ~Worst() {
    std::printf("largest factor held: %.2f (%s); during a step: %.2f (%s)\n", held_, where_.c_str(), peak_,
                peak_where_.c_str());
  }

 private:
  int count_ = 0;
  double held_ = 0;
  double peak_ = 0;
  std::string where_;
  std::string peak_where_;
};

void AttackOperation(const Operation& operation, size_t size, const OnAttack& on_attack) {
  const std::string full = FullRequest(operation);
  std::set<const MessagePlan*> seen;
  Attack(*operation.request, size, {}, seen,
         [&](const std::string& name, const std::string& content) { on_attack(name, full + content); });
}

// Calls `on_attack` with the JSON bodies of `operation` that grow the most.
void AttackBody(const Operation& operation, size_t size, const OnAttack& on_attack) {
  std::string envelope = "{\"organizationId\":\"o\",";
  if (operation.is_submit()) {
    envelope += "\"timestampMs\":\"1\",\"type\":";
    AppendJsonString(operation.activity_type.empty() ? "ACTIVITY_TYPE_BREW_TEA" : operation.activity_type, envelope);
    envelope += ',';
  }
  std::set<const MessagePlan*> seen;
  AttackJson(*operation.request, size, "", "", seen, [&](const std::string& name, const std::string& members) {
    on_attack(name, absl::StrCat(envelope, members, "}"));
  });
}

// A sanitizer makes the attacks slow, so that then only every thirtieth operation is attacked.
#ifdef STAMPGATE_SANITIZED
constexpr int kStep = 30;
#else
constexpr int kStep = 1;
#endif
constexpr int kLeastAttacks = 4000 / kStep / 2;

std::vector<std::reference_wrapper<const Operation>> Attacked() {
  std::vector<std::reference_wrapper<const Operation>> attacked;
  int index = 0;
  for (const Operation& operation : Operations().operations()) {
    if (index++ % kStep == 0) attacked.emplace_back(operation);
  }
  return attacked;
}

TEST(RequestGrowthTest, NoRequestOfAnOperationGrowsByMoreThanTheFactor) {
  Worst worst;
  for (const Operation& operation : Attacked()) {
    AttackOperation(operation, kAttackBytes, [&](const std::string& name, const std::string& bytes) {
      worst.Check(operation, name, bytes, GrowthOf(operation, bytes, Form::kSent));
    });
  }
  EXPECT_GT(worst.count(), kLeastAttacks);
  EXPECT_GT(worst.held(), 2.5);
}

TEST(RequestGrowthTest, ASmallRequestHoldsAtMostWhatEachCallMay) {
  Worst worst;
  for (const Operation& operation : Attacked()) {
    AttackOperation(operation, 16 << 10, [&](const std::string& name, const std::string& bytes) {
      worst.Check(operation, name, bytes, GrowthOf(operation, bytes, Form::kSent));
    });
  }
  EXPECT_GT(worst.held(), kMostBytesPerByte);
}

TEST(RequestGrowthTest, NoPreparedRequestGrowsByMoreThanTheFactor) {
  Worst worst;
  for (const Operation& operation : Attacked()) {
    if (operation.kind == v1::OPERATION_KIND_DISCOVERY) continue;
    AttackOperation(operation, kAttackBytes, [&](const std::string& name, const std::string& bytes) {
      worst.Check(operation, name, bytes, GrowthOf(operation, bytes, Form::kPrepared));
    });
  }
}

TEST(RequestGrowthTest, NoStampedRequestGrowsByMoreThanTheFactor) {
  Worst worst;
  for (const Operation& operation : Attacked()) {
    if (operation.request->client_stamp == nullptr) continue;
    AttackBody(operation, kAttackBytes, [&](const std::string& name, const std::string& body) {
      v1::ClientStamp stamp;
      stamp.set_api_key("a-stamp");
      stamp.set_body(body);
      std::string bytes = Field(operation.request->client_stamp->field->number(), stamp.SerializeAsString());
      if (operation.general) bytes += Field(operation.path_segment->field->number(), "brew_tea");
      worst.Check(operation, name, bytes, GrowthOf(operation, bytes, Form::kStamped));
    });
  }
  EXPECT_GT(worst.count(), kLeastAttacks);
}

TEST(RequestGrowthTest, NoRequestThatGeneralServiceCarriesGrowsByMoreThanTheFactor) {
  Worst worst;
  for (const Operation& carried : Attacked()) {
    if (carried.since.empty() || carried.request->client_stamp == nullptr) continue;
    const Operation& general = OperationOf(carried.is_submit() ? "SubmitOperation" : "QueryOperation");
    const std::string segment(absl::StripPrefix(carried.path, general.path));
    const FieldPlan* parameters = general.request->Find("parameters");
    ASSERT_NE(parameters, nullptr);
    std::string head = Field(general.path_segment->field->number(), segment);
    head += Field(general.organization_id->field->number(), "o");
    if (carried.is_submit()) head += Field(general.activity_type_field->field->number(), carried.activity_type);
    const FieldPlan* inner = carried.request->Find("parameters");
    const MessagePlan& plan = carried.is_submit() && inner != nullptr ? *inner->message : *carried.request;
    std::set<const MessagePlan*> seen;
    AttackJson(plan, kAttackBytes, "", "", seen, [&](const std::string& name, const std::string& members) {
      const std::string bytes = absl::StrCat(head, Field(parameters->field->number(), absl::StrCat("{", members, "}")));
      worst.Check(general, absl::StrCat(carried.full_name, " ", name), bytes, GrowthOf(general, bytes, Form::kSent));
    });
  }
  EXPECT_GT(worst.count(), kLeastAttacks / 10);
}

// Adds copies of the first element of each list in `message`, one list after the other, and calls `on_large` with the
// whole request, which `root` is.
void Lengthen(google::protobuf::Message& root, google::protobuf::Message& message, const MessagePlan& plan,
              size_t elements, const std::function<void(const FieldPlan&)>& on_large) {
  const auto* reflection = message.GetReflection();
  for (const FieldPlan& field : plan.fields) {
    const bool is_message = field.form == JsonForm::kMessage;
    if (!field.field->is_repeated()) {
      if (is_message && reflection->HasField(message, field.field)) {
        Lengthen(root, *reflection->MutableMessage(&message, field.field), *field.message, elements, on_large);
      }
      continue;
    }
    if (!is_message && field.form != JsonForm::kString && field.form != JsonForm::kEnum) continue;
    if (field.form == JsonForm::kStringMap || reflection->FieldSize(message, field.field) == 0) continue;
    const size_t count = std::min<size_t>(elements, field.max_elements);
    for (size_t i = 1; i < count; ++i) {
      if (is_message) {
        reflection->AddMessage(&message, field.field)
            ->CopyFrom(reflection->GetRepeatedMessage(message, field.field, 0));
      } else if (field.form == JsonForm::kEnum) {
        reflection->AddEnumValue(&message, field.field, reflection->GetRepeatedEnumValue(message, field.field, 0));
      } else {
        reflection->AddString(&message, field.field, "11111111-2222-4333-8444-555555555555");
      }
    }
    on_large(field);
    while (reflection->FieldSize(message, field.field) > 1) reflection->RemoveLast(&message, field.field);
  }
}

// The values of the elements are as short as they can be, so that the elements grow the most.
TEST(RequestGrowthTest, LongListsOfEachOperationAreAccepted) {
  constexpr size_t kElements = 250;
  int count = 0;
  for (const Operation& operation : Operations().operations()) {
    const auto request = NewRequest(operation);
    ASSERT_TRUE(request->ParseFromString(FullRequest(operation)));
    Lengthen(*request, *request, *operation.request, kElements, [&](const FieldPlan& field) {
      const std::string bytes = request->SerializeAsString();
      RequestMemory memory;
      memory.Receive(bytes.size());
      const auto parsed = ParseMessage(*operation.request, bytes, memory);
      ASSERT_TRUE(parsed.ok()) << operation.full_name << " " << field.field->name() << ": " << parsed.status();
      auto checked = CheckedRequest::CheckUnstamped(Operations(), operation, **parsed, memory);
      ASSERT_TRUE(checked.ok()) << operation.full_name << " " << field.field->name() << ": " << checked.status();
      EXPECT_TRUE((*std::move(checked)).Render().ok()) << operation.full_name << " " << field.field->name();
      ++count;
    });
  }
  EXPECT_GT(count, 50);
}

// Sends a request of `bytes` bytes with one text, in the given form, and returns what Render returns.
absl::Status SendText(size_t bytes, absl::string_view part, bool stamped) {
  const Operation& operation = OperationOf("SignTransaction");
  const auto request = NewRequest(operation);
  EXPECT_TRUE(request->ParseFromString(FullRequest(operation)));
  const auto* reflection = request->GetReflection();
  const auto* parameters_field = operation.request->Find("parameters")->field;
  auto* parameters = reflection->MutableMessage(request.get(), parameters_field);
  const auto* text = parameters->GetDescriptor()->FindFieldByName("unsigned_transaction");
  parameters->GetReflection()->SetString(parameters, text, Repeat(part, bytes - 1000));
  std::string sent = request->SerializeAsString();
  if (stamped) {
    RequestMemory memory(std::numeric_limits<size_t>::max());
    const auto parsed = ParseMessage(*operation.request, sent, memory);
    auto checked = CheckedRequest::CheckUnstamped(Operations(), operation, **parsed, memory);
    v1::ClientStamp stamp;
    stamp.set_api_key("a-stamp");
    stamp.set_body((*std::move(checked)).Render().value().SubmitBody(1));
    sent = Field(operation.request->client_stamp->field->number(), stamp.SerializeAsString());
  }
  RequestMemory memory;
  memory.Receive(sent.size());
  const auto parsed = ParseMessage(*operation.request, sent, memory);
  if (!parsed.ok()) return parsed.status();
  auto checked = CheckedRequest::Check(Operations(), operation, **parsed, memory);
  if (!checked.ok()) return checked.status();
  if (stamped) memory.Release(sent.size());
  return (*std::move(checked)).Render().status();
}

TEST(RequestGrowthTest, AnyTextThatFitsIntoARequestIsAcceptedInEachForm) {
  for (const size_t bytes : {size_t{100} << 10, size_t{1} << 20, (size_t{4} << 20) - 1000}) {
    for (const bool stamped : {false, true}) {
      EXPECT_TRUE(SendText(bytes, "00ff", stamped).ok()) << bytes << stamped << SendText(bytes, "00ff", stamped);
    }
  }
  // Every second character needs an escape.
  EXPECT_TRUE(SendText(1 << 20, "a\n", /*stamped=*/false).ok());
}

TEST(RequestGrowthTest, ABodyBeyondABoundIsRefusedWithTheRule) {
  const absl::Status memory = SendText(1 << 20, "\1", /*stamped=*/false);
  EXPECT_EQ(memory.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorReasonOf(memory), "INVALID_REQUEST");
  EXPECT_NE(memory.message().find("bytes of memory with its values and its JSON: the limit is 4 times its size"),
            absl::string_view::npos)
      << memory;
  const absl::Status body = SendText(3 << 20, "a\n", /*stamped=*/false);
  EXPECT_EQ(body.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(body.message(), "the request has a JSON body of more than 4194304 bytes");
}

TEST(RequestGrowthTest, WithoutTheBoundRequestsGrowByMore) {
  Worst worst;
  const Operation& operation = OperationOf("CreateSubOrganization");
  AttackOperation(operation, kAttackBytes, [&](const std::string& name, const std::string& bytes) {
    const Growth growth = GrowthOf(operation, bytes, Form::kSent, std::numeric_limits<size_t>::max());
    worst.Note(operation, name, bytes, growth);
  });
  EXPECT_GT(worst.held(), 2 * kMostBytesPerByte);
}

}  // namespace
}  // namespace stampgate
