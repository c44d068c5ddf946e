#include "translate/operation_set/other_names.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/activity_type.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

const v1::OperationRule& RuleOf(const ApiMethod& method) {
  return method.method->options().GetExtension(v1::operation);
}

const v1::FieldRule& RuleOf(const FieldDescriptor& field) { return field.options().GetExtension(v1::field); }

// Whether both fields have the same JSON name with each name of upstream in the config.
bool HaveSameJsonName(const FieldDescriptor& a, const FieldDescriptor& b) {
  const bool are_given = !RuleOf(a).json_name().empty() && !RuleOf(b).json_name().empty();
  if (are_given) return RuleOf(a).json_name() == RuleOf(b).json_name();
  const auto name_of = [](const FieldDescriptor& field) -> absl::string_view {
    return RuleOf(field).json_name().empty() ? absl::string_view(field.json_name()) : RuleOf(field).json_name();
  };
  return name_of(a) == name_of(b);
}

absl::string_view JsonNameOf(const EnumValueDescriptor& value) {
  const std::string& name = value.options().GetExtension(v1::enum_value).json_name();
  return name.empty() ? absl::string_view(value.name()) : name;
}

absl::Status Fault(absl::string_view element, absl::string_view what, absl::string_view other) {
  return absl::InvalidArgumentError(absl::StrCat(element, " ", what, " ", other));
}

absl::Status CompareEnums(const EnumDescriptor& newer, const EnumDescriptor& older) {
  if (newer.full_name() == older.full_name()) return absl::OkStatus();  // MergeOperationSets compares them
  for (int i = 0; i < newer.value_count(); ++i) {
    const EnumValueDescriptor& value = *newer.value(i);
    const EnumValueDescriptor* same = older.FindValueByNumber(value.number());
    if (same == nullptr || (value.number() != 0 && JsonNameOf(value) != JsonNameOf(*same))) {
      return Fault(value.full_name(), "has another number or JSON name than the values of", older.full_name());
    }
  }
  return absl::OkStatus();
}

absl::Status CompareFields(const FieldDescriptor& newer, const FieldDescriptor& older) {
  const bool are_in_oneofs = newer.real_containing_oneof() != nullptr;
  if (newer.type() != older.type() || newer.is_repeated() != older.is_repeated() || newer.is_map() != older.is_map() ||
      are_in_oneofs != (older.real_containing_oneof() != nullptr) || !HaveSameJsonName(newer, older) ||
      RuleOf(newer).text_form() != RuleOf(older).text_form() || RuleOf(newer).role() != RuleOf(older).role()) {
    return Fault(newer.full_name(), "has another type, list, oneof, JSON name, text form or role than",
                 older.full_name());
  }
  return newer.enum_type() == nullptr ? absl::OkStatus() : CompareEnums(*newer.enum_type(), *older.enum_type());
}

// Whether the same bytes mean the same in both messages. A request must also have the required fields of the older one.
absl::Status CompareMessages(const Descriptor& newer_root, const Descriptor& older_root, bool is_request) {
  using Pair = std::pair<const Descriptor*, const Descriptor*>;
  std::vector<Pair> pairs = {{&newer_root, &older_root}};
  absl::flat_hash_set<Pair> seen = {pairs[0]};
  while (!pairs.empty()) {
    const auto [newer, older] = pairs.back();
    pairs.pop_back();
    if (newer->full_name() == older->full_name()) continue;  // MergeOperationSets compares them
    for (int i = 0; i < newer->field_count(); ++i) {
      const FieldDescriptor& field = *newer->field(i);
      const FieldDescriptor* same = older->FindFieldByNumber(field.number());
      if (same == nullptr) return Fault(field.full_name(), "has the number of no field of", older->full_name());
      ABSL_RETURN_IF_ERROR(CompareFields(field, *same));
      if (field.message_type() == nullptr) continue;
      const Pair pair = {field.message_type(), same->message_type()};
      if (seen.insert(pair).second) pairs.push_back(pair);
    }
    for (int i = 0; is_request && i < older->field_count(); ++i) {
      const FieldDescriptor& field = *older->field(i);
      if (RuleOf(field).required() && newer->FindFieldByNumber(field.number()) == nullptr) {
        return Fault(newer->full_name(), "lacks the required field", field.full_name());
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Compare(const ApiMethod& newer, const ApiMethod& older) {
  if (newer.kind != older.kind || newer.streams || newer.general || older.general) {
    return absl::InvalidArgumentError("another kind, or is general");
  }
  if (RuleOf(newer).activity_type() != RuleOf(older).activity_type()) {
    return absl::InvalidArgumentError("not its activity type");
  }
  if (RuleOf(newer).stamped_by_client() != RuleOf(older).stamped_by_client()) {
    return absl::InvalidArgumentError("not its stamped_by_client");
  }
  const absl::Status requests = CompareMessages(*newer.method->input_type(), *older.method->input_type(), true);
  if (!requests.ok()) return absl::InvalidArgumentError(absl::StrCat("not its requests: ", requests.message()));
  const absl::Status responses = CompareMessages(*newer.method->output_type(), *older.method->output_type(), false);
  if (!responses.ok()) return absl::InvalidArgumentError(absl::StrCat("not its responses: ", responses.message()));
  return absl::OkStatus();
}

// Upstream carries out every version of an activity type at the same path. See OperationTable::ClaimPath.
absl::Status CompareVersions(const ApiMethod& newer, const ApiMethod& older) {
  if (WithoutVersion(RuleOf(newer).activity_type()) != WithoutVersion(RuleOf(older).activity_type())) {
    return absl::InvalidArgumentError("not its activity type");
  }
  if (newer.policy_class != older.policy_class || newer.internal != older.internal ||
      newer.moves_unread_amount != older.moves_unread_amount ||
      RuleOf(newer).stamped_by_client() != RuleOf(older).stamped_by_client()) {
    return absl::InvalidArgumentError(
        "not its policy class, stamped_by_client, internal or moves_unread_amount: each version of an activity type "
        "must have the same");
  }
  return absl::OkStatus();
}

}  // namespace

OtherNames FindOtherNames(const OperationSet& base, const OperationSet& added) {
  OtherNames names;
  for (const ApiMethod& method : added.methods()) {
    if (method.kind == v1::OPERATION_KIND_LOCAL || base.FindMethod(method.full_name) != nullptr) continue;
    const v1::OperationRule& rule = RuleOf(method);
    const std::string name(method.method->full_name());
    const ApiMethod* same_type = base.FindActivityType(rule.activity_type());
    const ApiMethod* older = same_type != nullptr ? same_type : base.FindPath(rule.path());
    if (older == nullptr) continue;
    if (RuleOf(*older).path() != rule.path()) {
      names.refused.emplace(
          name, absl::StrCat("has the activity type of ", older->method->full_name(), ", but another path"));
      continue;
    }
    const bool is_version = same_type == nullptr && !rule.activity_type().empty();
    const absl::Status status = is_version ? CompareVersions(method, *older) : Compare(method, *older);
    if (!status.ok()) {
      names.refused.emplace(name,
                            absl::StrCat("has the path of ", older->method->full_name(), ", but ", status.message()));
    } else if (!is_version) {
      names.methods.emplace(name, older->method->full_name());
    }
  }
  return names;
}

}  // namespace stampgate
