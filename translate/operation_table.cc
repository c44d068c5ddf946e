#include "translate/operation_table.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "translate/operation_set/activity_type.h"
#include "translate/operation_set/date.h"

namespace stampgate {
namespace {

using google::protobuf::MethodDescriptor;

absl::Status Fault(const MethodDescriptor* method, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(method->full_name(), " ", what));
}

absl::string_view LastSegment(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

const FieldPlan* FindRole(const MessagePlan& plan, v1::FieldRole role) {
  for (const FieldPlan& field : plan.fields) {
    if (field.role == role) return &field;
  }
  return nullptr;
}

// Returns the days on which fields of `root`, and of the messages inside it, got newer names, and the empty day.
std::vector<std::string> NameDaysOf(const MessagePlan& root) {
  std::set<std::string> days = {""};
  absl::flat_hash_set<const MessagePlan*> seen = {&root};
  std::vector<const MessagePlan*> pending = {&root};
  while (!pending.empty()) {
    const MessagePlan& message = *pending.back();
    pending.pop_back();
    for (const FieldPlan* newer : message.successors) days.insert(newer->since);
    for (const FieldPlan& field : message.fields) {
      if (field.form == JsonForm::kMessage && seen.insert(field.message).second) pending.push_back(field.message);
    }
  }
  return {days.begin(), days.end()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<const OperationTable>> OperationTable::Create(absl::string_view operator_name,
                                                                             OperationSet::Shared set,
                                                                             absl::string_view names_as_of) {
  const std::vector<ApiMethod>& methods = set->methods();
  return Create(operator_name, std::move(set), methods, names_as_of);
}

absl::StatusOr<std::unique_ptr<const OperationTable>> OperationTable::Create(absl::string_view operator_name,
                                                                             OperationSet::Shared set,
                                                                             const std::vector<ApiMethod>& methods,
                                                                             absl::string_view names_as_of) {
  auto table = std::unique_ptr<OperationTable>(new OperationTable(operator_name, std::move(set), names_as_of));
  for (const ApiMethod& method : methods) {
    if (method.kind == v1::OPERATION_KIND_LOCAL) continue;
    ABSL_RETURN_IF_ERROR(table->AddMethod(method));
  }
  return table;
}

absl::Status OperationTable::AddMethod(const ApiMethod& entry) {
  const MethodDescriptor* method = entry.method;
  const v1::OperationRule& rule = method->options().GetExtension(v1::operation);
  Operation operation;
  static_cast<ApiMethod&>(operation) = entry;
  operation.path = rule.path();
  operation.activity_type = rule.activity_type();
  operation.stamped_by_client = rule.stamped_by_client();

  if (method->client_streaming() || operation.streams) return Fault(method, "must not be streaming");
  if (operation.kind == v1::OPERATION_KIND_UNSPECIFIED) return Fault(method, "must have a kind");
  if (!absl::StartsWith(operation.path, "/") || absl::EndsWith(operation.path, "/") != operation.general) {
    return Fault(method,
                 "must have a path that begins with a slash, and that ends in a slash if the method is general but not "
                 "otherwise");
  }
  if (operation.activity_type.empty() == (operation.is_submit() && !operation.general)) {
    return Fault(method, "must have an activity type if it is a submit that is not general, and otherwise none");
  }
  if (operation.stamped_by_client && operation.kind == v1::OPERATION_KIND_DISCOVERY) {
    return Fault(method, "must not be stamped by clients, because a discovery has no stamp");
  }
  if (!absl::c_all_of(operation.path, [](char c) { return absl::ascii_isgraph(c) && c != '#' && c != '?'; })) {
    return Fault(method, "must have a path that can be sent without escaping");
  }
  ABSL_RETURN_IF_ERROR(ClaimPath(operation));

  ABSL_ASSIGN_OR_RETURN(const MessagePlan* request, plans_.Compile(method->input_type()));
  ABSL_ASSIGN_OR_RETURN(const MessagePlan* response, plans_.Compile(method->output_type()));
  operation.request = request;
  operation.response = response;
  operation.names_as_of = names_as_of_;
  operation.name_days = NameDaysOf(*request);
  for (const MessagePlan* message : {request, response}) {
    for (const std::string& day : NameDaysOf(*message)) {
      if (!day.empty() && !IsDate(day)) {
        return Fault(method, absl::StrCat("has a newer name of a field whose `since`, ", day, ", is no day"));
      }
    }
  }

  if (operation.response->unrecognized == nullptr && operation.response->json_members == nullptr) {
    return Fault(method, "needs a map<string, string> unrecognized in its response");
  }
  ABSL_RETURN_IF_ERROR(CheckMembers(operation));
  if (operation.kind != v1::OPERATION_KIND_DISCOVERY) {
    operation.organization_id = operation.request->Find("organization_id");
    if (operation.organization_id == nullptr || operation.organization_id->form != JsonForm::kString ||
        !operation.organization_id->required || operation.organization_id->may_be_empty ||
        operation.organization_id->field->is_repeated()) {
      return Fault(method, "needs a required string organization_id in its request");
    }
    const FieldPlan* client_stamp = operation.request->client_stamp;
    if (client_stamp == nullptr || client_stamp->field->name() != "client_stamp" ||
        client_stamp->field->number() != 15) {
      return Fault(method, "needs a ClientStamp client_stamp = 15 in its request");
    }
  }
  if (operation.is_submit()) {
    operation.timestamp_ms = operation.request->Find("timestamp_ms");
    if (operation.timestamp_ms == nullptr || operation.timestamp_ms->form != JsonForm::kUint64 ||
        !operation.timestamp_ms->field->has_presence()) {
      return Fault(method, "needs an optional uint64 timestamp_ms in its request");
    }
    operation.idempotency_key = operation.request->Find("idempotency_key");
    if (operation.idempotency_key == nullptr || operation.idempotency_key->field->number() != 14 ||
        operation.idempotency_key->role != v1::FIELD_ROLE_IDEMPOTENCY_KEY ||
        !operation.idempotency_key->field->has_presence()) {
      return Fault(method,
                   "needs an optional string idempotency_key = 14 in its request, with the role of an idempotency key");
    }
  }
  for (const FieldPlan* field : {operation.organization_id, operation.timestamp_ms}) {
    if (field != nullptr && (field->replaced != nullptr || !field->successors.empty())) {
      return Fault(method, absl::StrCat("must have only one name of ", field->field->name()));
    }
  }
  operation.wait_until = FindRole(*operation.request, v1::FIELD_ROLE_WAIT_UNTIL);
  if (operation.wait_until != nullptr && (!operation.is_submit() || operation.wait_until->field->number() != 13 ||
                                          !operation.wait_until->field->has_presence())) {
    return Fault(method,
                 "can wait for its activity only if it is a submit, with an optional WaitUntil wait_until = 13");
  }
  ABSL_RETURN_IF_ERROR(AddActivity(operation));
  operation.path_segment = FindRole(*operation.request, v1::FIELD_ROLE_PATH);
  operation.activity_type_field = FindRole(*operation.request, v1::FIELD_ROLE_ACTIVITY_TYPE);
  if ((operation.path_segment != nullptr) != operation.general ||
      (operation.activity_type_field != nullptr) != (operation.general && operation.is_submit())) {
    return Fault(method, "must have the fields of a general operation if it is general, and otherwise none of them");
  }
  for (const FieldPlan* field : {operation.path_segment, operation.activity_type_field}) {
    if (field != nullptr && (!field->required || field->may_be_empty)) {
      return Fault(method, absl::StrCat("must require its field \"", field->field->name(),
                                        "\" and must not allow it to be empty"));
    }
  }

  if (!operation.general) {
    path_segments_.emplace(LastSegment(operation.path));
    if (operation.is_submit()) activity_types_.emplace(WithoutVersion(operation.activity_type));
  }
  by_full_name_.emplace(operation.full_name, operations_.size());
  operations_.push_back(std::move(operation));
  return absl::OkStatus();
}

// Upstream carries out every version of an activity type at the same path. All versions must have the same rules:
// otherwise a caller could use another version to get round its grant.
absl::Status OperationTable::ClaimPath(const Operation& operation) {
  if (!operation.other_name_of.empty()) return absl::OkStatus();
  if (!operation.activity_type.empty() && !typed_.emplace(operation.activity_type, operations_.size()).second) {
    return Fault(operation.method, "has the activity type of another operation");
  }
  const auto [place, is_new] = paths_.try_emplace(operation.path, operations_.size());
  if (is_new) return absl::OkStatus();
  const Operation& other = operations_[place->second];
  if (operation.activity_type.empty() ||
      WithoutVersion(operation.activity_type) != WithoutVersion(other.activity_type)) {
    return Fault(operation.method, "has the path of another operation");
  }
  if (operation.policy_class != other.policy_class || operation.stamped_by_client != other.stamped_by_client) {
    return Fault(operation.method, "must have the policy class and stamped_by_client of the other version");
  }
  if (operation.internal != other.internal || operation.moves_unread_amount != other.moves_unread_amount) {
    return Fault(operation.method, "must have internal and moves_unread_amount of the other version");
  }
  return absl::OkStatus();
}

// No field may write members that the gateway itself writes or checks. Only the members of a general operation can be
// anything: CheckGeneralOperation checks them.
absl::Status OperationTable::CheckMembers(const Operation& operation) {
  const MessagePlan& request = *operation.request;
  if (operation.is_submit() && !operation.general && absl::c_any_of(request.fields, [](const FieldPlan& field) {
        return field.in_json && ComparedJsonName(field.json_name) == "type";
      })) {
    return Fault(operation.method,
                 "must not have a field with the JSON name \"type\", which a typed submit already has");
  }
  std::vector<const MessagePlan*> found = {&request};
  while (!found.empty()) {
    const MessagePlan& message = *found.back();
    found.pop_back();
    const bool may_write_any = operation.general && &message == &request;
    if (!may_write_any && !checked_.insert(&message).second) continue;
    if (message.json_members != nullptr && !may_write_any) {
      return absl::FailedPreconditionError(absl::StrCat(
          message.json_members->field->full_name(),
          " must not have the text form of JSON members, which only the request of a general operation has"));
    }
    for (const FieldPlan& field : message.fields) {
      if (field.form == JsonForm::kMessage) found.push_back(field.message);
    }
  }
  return absl::OkStatus();
}

// Adds the final statuses of the activity in the operation's response. An activity in a second field could take the
// place of the first one in the audit log.
absl::Status OperationTable::AddActivity(const Operation& operation) {
  bool has_activity = false;
  for (const FieldPlan& field : operation.response->fields) {
    if (field.message == nullptr || field.field->is_repeated()) continue;
    if (FindRole(*field.message, v1::FIELD_ROLE_ACTIVITY_ID) != nullptr) {
      if (has_activity) return Fault(operation.method, "must not have two activities in its response");
      has_activity = true;
    }
    const FieldPlan* status = FindRole(*field.message, v1::FIELD_ROLE_ACTIVITY_STATUS);
    if (status == nullptr) continue;
    for (const auto& [json, number] : status->values->numbers) {
      const auto* value = status->field->enum_type()->FindValueByNumber(number);
      if (value->options().GetExtension(v1::enum_value).is_final()) final_statuses_.insert(json);
    }
  }
  return absl::OkStatus();
}

const Operation* OperationTable::Find(absl::string_view full_name) const {
  const auto found = by_full_name_.find(full_name);
  return found == by_full_name_.end() ? nullptr : &operations_[found->second];
}

const Operation* OperationTable::FindTyped(absl::string_view path, absl::string_view activity_type) const {
  const auto& indices = activity_type.empty() ? paths_ : typed_;
  const auto found = indices.find(activity_type.empty() ? path : activity_type);
  if (found == indices.end()) return nullptr;
  const Operation& operation = operations_[found->second];
  const bool same = operation.path == path && operation.activity_type == activity_type;
  return same && !operation.general ? &operation : nullptr;
}

std::vector<std::string> OperationTable::NameDays() const {
  std::set<std::string> days;
  for (const Operation& operation : operations_) days.insert(operation.name_days.begin(), operation.name_days.end());
  days.erase("");
  return {days.begin(), days.end()};
}

bool OperationTable::ListsActivityType(absl::string_view type) const {
  return activity_types_.contains(WithoutVersion(type));
}

}  // namespace stampgate
