#include "translate/message/plan.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/json/writer.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

absl::Status Fault(const FieldDescriptor* field, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(field->full_name(), " ", what));
}

bool IsUnrecognized(const FieldDescriptor* field) { return field->is_map() && field->name() == "unrecognized"; }

// Compares names, because every pool has its own descriptor of a message.
bool IsMessage(const FieldDescriptor* field, absl::string_view name) {
  return field->message_type() != nullptr && field->message_type()->full_name() == name;
}

bool IsStringMap(const FieldDescriptor* field) {
  return field->is_map() && field->message_type()->map_key()->type() == FieldDescriptor::TYPE_STRING &&
         field->message_type()->map_value()->type() == FieldDescriptor::TYPE_STRING;
}

bool IsClientStamp(const FieldDescriptor* field) {
  return !field->is_repeated() && IsMessage(field, "stampgate.v1.ClientStamp");
}

absl::StatusOr<JsonForm> FormOf(const FieldDescriptor* field, v1::TextForm text_form) {
  if (text_form != v1::TEXT_FORM_UNSPECIFIED && field->type() != FieldDescriptor::TYPE_STRING) {
    return Fault(field, "has a text form, so it must be a string");
  }
  switch (field->type()) {
    case FieldDescriptor::TYPE_STRING:
      if (text_form == v1::TEXT_FORM_JSON_MEMBERS && field->is_repeated()) return Fault(field, "must not be repeated");
      if (text_form == v1::TEXT_FORM_JSON_MEMBERS) return JsonForm::kJsonMembers;
      return text_form == v1::TEXT_FORM_JSON ? JsonForm::kJsonText : JsonForm::kString;
    case FieldDescriptor::TYPE_BYTES:
      return JsonForm::kBytes;
    case FieldDescriptor::TYPE_BOOL:
      return JsonForm::kBool;
    case FieldDescriptor::TYPE_UINT64:
      return JsonForm::kUint64;
    case FieldDescriptor::TYPE_INT64:
      return JsonForm::kInt64;
    case FieldDescriptor::TYPE_UINT32:
      return JsonForm::kUint32;
    case FieldDescriptor::TYPE_INT32:
      return JsonForm::kInt32;
    case FieldDescriptor::TYPE_ENUM:
      return JsonForm::kEnum;
    case FieldDescriptor::TYPE_MESSAGE:
      if (IsMessage(field, "google.protobuf.Timestamp")) return JsonForm::kTimestamp;
      if (IsUnrecognized(field) || IsClientStamp(field)) return JsonForm::kOpaque;
      if (!field->is_map()) return JsonForm::kMessage;
      if (IsStringMap(field)) return JsonForm::kStringMap;
      return Fault(field, "is a map, which has a JSON form only if its keys and values are strings");
    default:
      return Fault(field, absl::StrCat("has type ", field->type_name(), ", which has no JSON form here"));
  }
}

// Whether a field of this role is part of the JSON.
bool IsInJson(v1::FieldRole role) {
  return role != v1::FIELD_ROLE_PATH && role != v1::FIELD_ROLE_IDEMPOTENCY_KEY && role != v1::FIELD_ROLE_WAIT_UNTIL;
}

std::string Quoted(absl::string_view text) {
  std::string quoted;
  AppendJsonString(text, quoted);
  return quoted;
}

std::string EnumJson(const EnumValueDescriptor* value) {
  const std::string& name = value->options().GetExtension(v1::enum_value).json_name();
  return name.empty() ? std::string(value->name()) : name;
}

// Returns true if fields of this form can have newer names.
bool CanBeRenamed(JsonForm form) {
  return form == JsonForm::kString || form == JsonForm::kBytes || form == JsonForm::kBool ||
         form == JsonForm::kUint64 || form == JsonForm::kInt64 || form == JsonForm::kUint32 ||
         form == JsonForm::kInt32 || form == JsonForm::kEnum;
}

// Returns true if `rule` has no options other than those that a newer name may have.
bool OnlyNames(v1::FieldRule rule) {
  rule.clear_json_name();
  rule.clear_replaces();
  rule.clear_since();
  return rule.ByteSizeLong() == 0;
}

// Compiles the newer names of the fields of `plan`.
absl::Status CompileSuccessors(MessagePlan& plan) {
  for (FieldPlan& newer : plan.fields) {
    const v1::FieldRule& rule = newer.field->options().GetExtension(v1::field);
    if (rule.replaces().empty() != rule.since().empty()) {
      return Fault(newer.field, "must have both options `replaces` and `since`, or none of them");
    }
    if (rule.replaces().empty()) continue;
    const auto found =
        absl::c_find_if(plan.fields, [&](const FieldPlan& field) { return field.field->name() == rule.replaces(); });
    if (found == plan.fields.end() || !found->field->options().GetExtension(v1::field).replaces().empty()) {
      return Fault(newer.field, "must replace a field of its message that replaces no other one");
    }
    FieldPlan& older = *found;
    if (!OnlyNames(rule)) return Fault(newer.field, "replaces another field, so it must have no rules of its own");
    const bool is_text_of_enum = newer.form == JsonForm::kString && older.form == JsonForm::kEnum;
    if ((newer.form != older.form || newer.field->enum_type() != older.field->enum_type()) && !is_text_of_enum) {
      return Fault(newer.field, absl::StrCat("must have the type of ", older.field->name(), ", which it replaces"));
    }
    for (const FieldPlan* field : {&newer, &older}) {
      if (!CanBeRenamed(field->form) || field->is_list || field->role != v1::FIELD_ROLE_UNSPECIFIED ||
          field->field->real_containing_oneof() != nullptr) {
        return Fault(newer.field,
                     "and the field that it replaces must be single values without a role, and not of a oneof");
      }
    }
    if (newer.field->has_presence() != older.field->has_presence()) {
      return Fault(newer.field, "and the field that it replaces must both have presence, or neither");
    }
    newer.replaced = &older;
    newer.since = rule.since();
    newer.secret = older.secret;
    older.successors.push_back(&newer);
    plan.successors.push_back(&newer);
  }
  for (FieldPlan& field : plan.fields) {
    absl::c_stable_sort(field.successors, [](auto* a, auto* b) { return a->since < b->since; });
  }
  return absl::OkStatus();
}

}  // namespace

const FieldPlan& NamedOn(const FieldPlan& field, absl::string_view day) {
  const FieldPlan* named = &field;
  for (const FieldPlan* newer : field.successors) {
    if (newer->since <= day) named = newer;
  }
  return *named;
}

const FieldPlan* MessagePlan::Find(absl::string_view proto_name) const {
  for (const FieldPlan& field : fields) {
    if (field.field->name() == proto_name) return &field;
  }
  return nullptr;
}

const FieldPlan* MessagePlan::FindNumber(int number) const {
  const auto found = std::lower_bound(fields.begin(), fields.end(), number, [](const FieldPlan& field, int wanted) {
    return field.field->number() < wanted;
  });
  return found == fields.end() || found->field->number() != number ? nullptr : &*found;
}

std::string ComparedJsonName(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", ""}});
}

MessagePlans::MessagePlans(absl::string_view operator_name, Fields unreviewed)
    : operator_name_(absl::AsciiStrToLower(operator_name)), unreviewed_(std::move(unreviewed)) {}

// Compiles the messages one after the other, because a recursion over nested messages could use up the stack.
absl::StatusOr<const MessagePlan*> MessagePlans::Compile(const Descriptor* descriptor) {
  const MessagePlan& root = PlanOf(descriptor, 0);
  while (!pending_.empty()) {
    const Pending pending = pending_.back();
    pending_.pop_back();
    ABSL_RETURN_IF_ERROR(CompileFields(pending));
  }
  return &root;
}

// Returns the plan of `descriptor`, which may not be compiled yet.
MessagePlan& MessagePlans::PlanOf(const Descriptor* descriptor, int depth) {
  std::unique_ptr<MessagePlan>& slot = plans_[descriptor];
  if (slot == nullptr) {
    slot = std::make_unique<MessagePlan>();
    slot->descriptor = descriptor;
    pending_.push_back({slot.get(), depth});
  }
  return *slot;
}

absl::Status MessagePlans::CompileFields(const Pending& pending) {
  MessagePlan& plan = *pending.plan;
  const Descriptor* descriptor = plan.descriptor;
  // Fills `fields` completely before the code below stores pointers to elements of `fields`. These pointers stay valid
  // only while `fields` does not grow.
  std::vector<const FieldDescriptor*> order;
  for (int i = 0; i < descriptor->field_count(); ++i) order.push_back(descriptor->field(i));
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->number() < b->number(); });
  for (const FieldDescriptor* field : order) {
    ABSL_RETURN_IF_ERROR(CompileField(field, pending));
  }
  ABSL_RETURN_IF_ERROR(CompileSuccessors(plan));
  absl::flat_hash_set<std::string> names;
  absl::flat_hash_set<int> roles;
  for (const FieldPlan& field : plan.fields) {
    if (IsUnrecognized(field.field)) plan.unrecognized = &field;
    if (IsClientStamp(field.field)) {
      if (plan.client_stamp != nullptr) return Fault(field.field, "is a second ClientStamp");
      plan.client_stamp = &field;
    }
    if (field.role != v1::FIELD_ROLE_UNSPECIFIED && !roles.insert(field.role).second) {
      return Fault(field.field, "has the role of another field");
    }
    if (field.written_if_unset && field.min_elements == 0) plan.required_empties.push_back(&field);
    if (field.form == JsonForm::kJsonMembers) {
      if (plan.json_members != nullptr) return Fault(field.field, "is a second field whose text form is JSON members");
      plan.json_members = &field;
    } else if (field.in_json) {
      if (!names.insert(ComparedJsonName(field.json_name)).second) {
        return Fault(field.field, absl::StrCat("has the JSON name of another field, which may differ in case and "
                                               "underscores: ",
                                               field.json_name));
      }
      plan.by_json_name.emplace(field.json_name, &field);
    }
  }
  for (const v1::FieldGuard guard :
       {v1::FIELD_GUARD_AMOUNT, v1::FIELD_GUARD_CHAIN, v1::FIELD_GUARD_CONTRACT, v1::FIELD_GUARD_EXPORT_KEY}) {
    const auto count = absl::c_count_if(
        plan.fields, [&](const FieldPlan& field) { return field.guard == guard && !field.field->is_repeated(); });
    if (count > 1) plan.shared_guards.push_back(guard);
  }
  for (const std::string& name : descriptor->options().GetExtension(v1::message).at_most_one()) {
    plan.at_most_one.push_back(plan.Find(name));
    if (plan.at_most_one.back() == nullptr || !plan.at_most_one.back()->field->has_presence()) {
      return absl::FailedPreconditionError(absl::StrCat(descriptor->full_name(), ": at_most_one names \"", name,
                                                        "\", which is not a field with presence"));
    }
    if (plan.at_most_one.back()->replaced != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(descriptor->full_name(), ": at_most_one names \"", name, "\", which replaces another field"));
    }
  }
  return absl::OkStatus();
}

const MessagePlan* MessagePlans::Find(const google::protobuf::Descriptor* descriptor) const {
  const auto plan = plans_.find(descriptor);
  return plan == plans_.end() ? nullptr : plan->second.get();
}

absl::Status MessagePlans::CompileField(const FieldDescriptor* field, const Pending& pending) {
  const v1::FieldRule& rule = field->options().GetExtension(v1::field);
  ABSL_ASSIGN_OR_RETURN(JsonForm form, FormOf(field, rule.text_form()));

  FieldPlan compiled;
  compiled.field = field;
  compiled.form = form;
  compiled.json_name = rule.json_name().empty()
                           ? field->json_name()
                           : absl::StrReplaceAll(rule.json_name(), {{"{operator}", operator_name_}});
  // Some parsers ignore case even where another letter is a variant of an ASCII letter, such as U+212A of k.
  if (!absl::c_all_of(compiled.json_name, absl::ascii_isascii))
    return Fault(field, "has a JSON name that is not ASCII");
  compiled.json_key = absl::StrCat(Quoted(compiled.json_name), ":");
  compiled.required = rule.required();
  compiled.may_be_empty = rule.may_be_empty();
  compiled.secret = rule.secret();
  compiled.role = rule.role();
  compiled.in_json = form != JsonForm::kOpaque && IsInJson(rule.role());
  if (rule.has_minimum()) compiled.minimum = rule.minimum();
  if (rule.has_maximum()) compiled.maximum = rule.maximum();
  if (rule.has_max_bytes()) compiled.max_bytes = rule.max_bytes();
  if (rule.has_max_characters()) compiled.max_characters = rule.max_characters();
  compiled.is_list = field->is_repeated() || form == JsonForm::kOpaque;
  compiled.min_elements = rule.min_elements();
  if (compiled.is_list) compiled.max_elements = rule.has_max_elements() ? rule.max_elements() : kMaxElements;
  compiled.guard = rule.guard();
  compiled.unreviewed = unreviewed_.contains(field);

  const bool is_text = form == JsonForm::kString || form == JsonForm::kBytes;
  const bool is_required_text = compiled.required && is_text && !field->is_repeated();
  if (compiled.may_be_empty && !field->has_presence() && !is_required_text) {
    return Fault(field, "may be empty, so it must have presence or be a required text");
  }
  compiled.written_if_unset =
      compiled.required &&
      (field->is_repeated() || (is_required_text && compiled.may_be_empty && !field->has_presence()));
  const bool integer =
      form == JsonForm::kUint64 || form == JsonForm::kUint32 || form == JsonForm::kInt64 || form == JsonForm::kInt32;
  if ((compiled.minimum || compiled.maximum) && !integer) {
    return Fault(field, "has a minimum or maximum, so it must be an integer");
  }
  const bool is_string = field->type() == FieldDescriptor::TYPE_STRING;
  if (compiled.max_bytes && !is_string && form != JsonForm::kBytes) {
    return Fault(field, "has a maximum length, so it must be a string or bytes");
  }
  if (compiled.max_characters && !is_string) return Fault(field, "has a maximum of characters, so it must be a string");
  if ((rule.has_min_elements() || rule.has_max_elements()) && (!field->is_repeated() || field->is_map())) {
    return Fault(field, "has a number of elements, so it must be repeated");
  }
  if (compiled.max_elements > kMaxElements || compiled.min_elements > compiled.max_elements) {
    return Fault(field, absl::StrCat("has numbers of elements that are not in order: min_elements, max_elements, ",
                                     kMaxElements));
  }
  const bool is_enum_role =
      compiled.role == v1::FIELD_ROLE_ACTIVITY_STATUS || compiled.role == v1::FIELD_ROLE_WAIT_UNTIL;
  const JsonForm role_form = is_enum_role ? JsonForm::kEnum : JsonForm::kString;
  if (compiled.role != v1::FIELD_ROLE_UNSPECIFIED && (form != role_form || field->is_repeated())) {
    return Fault(field, role_form == JsonForm::kEnum ? "has a role, so it must be a single enum"
                                                     : "has a role, so it must be a single string");
  }

  if (form == JsonForm::kMessage || form == JsonForm::kTimestamp || form == JsonForm::kStringMap) {
    if (pending.depth == kMaxNesting) {
      return Fault(field, absl::StrCat("nests messages deeper than ", kMaxNesting, " levels"));
    }
    compiled.message = &PlanOf(field->message_type(), pending.depth + 1);
  } else if (form == JsonForm::kEnum) {
    ABSL_ASSIGN_OR_RETURN(const EnumPlan* values, CompileEnum(field->enum_type()));
    compiled.values = values;
  }
  pending.plan->fields.push_back(std::move(compiled));
  return absl::OkStatus();
}

absl::StatusOr<const EnumPlan*> MessagePlans::CompileEnum(const EnumDescriptor* type) {
  std::unique_ptr<EnumPlan>& plan = enums_[type];
  if (plan != nullptr) return plan.get();
  plan = std::make_unique<EnumPlan>();
  for (int i = 0; i < type->value_count(); ++i) {
    const EnumValueDescriptor* value = type->value(i);
    if (value->number() == 0) continue;  // upstream does not know the unspecified value
    plan->json.emplace(value->number(), Quoted(EnumJson(value)));
    const auto [number, is_new] = plan->numbers.emplace(EnumJson(value), value->number());
    if (!is_new && number->second != value->number()) {
      return absl::FailedPreconditionError(
          absl::StrCat(value->full_name(), " has the JSON name of another value: ", EnumJson(value)));
    }
  }
  return plan.get();
}

}  // namespace stampgate
