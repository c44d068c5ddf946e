#include "translate/general_operation.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

constexpr absl::string_view kTypePrefix = "ACTIVITY_TYPE_";
constexpr size_t kMaxPathBytes = 64;
constexpr size_t kMaxTypeBytes = 80;

// The members of a body that a caller must not set as JSON: those that only a submit has, and organizationId, which the
// gateway writes. The names are in the form of ComparedJsonName.
constexpr absl::string_view kEnvelope[] = {"organizationid", "type", "timestampms", "parameters"};

// Returns true if upstream's JSON parser might read `name` as one of kEnvelope. Some parsers ignore the case of all
// Unicode letters, and read U+017F as s and U+212A as k, so the caller of this function must first reject names that
// are not ASCII.
bool IsEnvelopeMember(absl::string_view name) { return absl::c_linear_search(kEnvelope, ComparedJsonName(name)); }

bool IsPathSegment(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxPathBytes && absl::c_all_of(text, [](unsigned char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
  });
}

bool IsActivityType(absl::string_view text) {
  if (!absl::StartsWith(text, kTypePrefix)) return false;
  text.remove_prefix(kTypePrefix.size());
  return !text.empty() && text.size() <= kMaxTypeBytes && absl::c_all_of(text, [](unsigned char c) {
    return absl::ascii_isupper(c) || absl::ascii_isdigit(c) || c == '_';
  });
}

void Add(const FieldPlan& field, absl::string_view description, Violations& violations) {
  violations.Add([&] { return Violation{std::string(field.field->name()), std::string(description)}; });
}

void CheckMembers(const FieldPlan& field, std::string text, Violations& violations) {
  // Ignores a text that is not a JSON object; the validator reports it.
  (void)ReadJsonObject(text, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue&) {
      if (!absl::c_all_of(name, absl::ascii_isascii)) {
        Add(field, "must not have a top-level member whose name is not ASCII", violations);
      } else if (IsEnvelopeMember(name)) {
        Add(field, absl::StrCat("must not have a top-level member ", name), violations);
      }
      return absl::OkStatus();
    });
  });
}

}  // namespace

const Operation* FindCarried(const OperationTable& table, const Operation& operation, absl::string_view segment,
                             absl::string_view activity_type) {
  const Operation* typed = table.FindTyped(absl::StrCat(operation.path, segment), activity_type);
  return typed == nullptr || typed->since.empty() ? nullptr : typed;
}

const Operation* FindCarried(const OperationTable& table, const Operation& operation, const ParsedMessage& request) {
  const FieldPlan* type = operation.activity_type_field;
  return FindCarried(table, operation, request.Text(*operation.path_segment),
                     type == nullptr ? absl::string_view() : request.Text(*type));
}

void CheckGeneralOperation(const OperationTable& table, const Operation& operation, const ParsedMessage& request,
                           const Operation* carried, Violations& violations) {
  // Ignores an empty path or type; the validator reports it.
  const absl::string_view segment = request.Text(*operation.path_segment);
  if (!segment.empty() && !IsPathSegment(segment)) {
    Add(*operation.path_segment, "must be 1 to 64 characters of a-z, 0-9 and _", violations);
  } else if (carried == nullptr && table.ListsPathSegment(segment)) {
    Add(*operation.path_segment, "belongs to an operation that has a method of its own: call that method", violations);
  }
  if (const FieldPlan* field = operation.activity_type_field) {
    const absl::string_view type = request.Text(*field);
    if (!type.empty() && !IsActivityType(type)) {
      Add(*field, "must be ACTIVITY_TYPE_ and 1 to 80 characters of A-Z, 0-9 and _", violations);
    } else if (carried == nullptr && table.ListsActivityType(type)) {
      Add(*field, "belongs to an operation that has a method of its own: call that method", violations);
    }
  }
  const FieldPlan* members = operation.request->json_members;
  if (members != nullptr && request.Has(*members)) {
    CheckMembers(*members, std::string(request.Text(*members)), violations);
  }
}

}  // namespace stampgate
