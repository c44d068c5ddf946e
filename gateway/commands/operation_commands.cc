#include "gateway/commands/operation_commands.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/secret/file.h"
#include "gateway/commands/exit_status.h"
#include "gateway/config/rules/operation_files.h"
#include "gateway/config/settings/defaults.h"
#include "gateway/policy/class_coverage.h"
#include "gateway/policy/guard_rules.h"
#include "gateway/policy/method_name.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/message/plan.h"
#include "translate/operation_set/difference.h"
#include "translate/operation_set/merge.h"
#include "translate/operation_set/operation_set.h"
#include "translate/operation_set/unreviewed.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

using Row = std::array<std::string, 7>;
using Table = std::shared_ptr<const OperationTable>;

constexpr int kExitFound = 1;

// A file, merged over the operations of the program and of the files before it.
struct MergedFile {
  std::string file;
  OperationSet::Shared base;
  MergedOperations merged;
  Table table;
};

absl::StatusOr<Table> TableOf(OperationSet::Shared set) {
  config::v1::Config config;
  SetUsualDefaults(config);
  return OperationTable::Create(config.operator_name(), std::move(set));
}

absl::StatusOr<MergedFile> Merge(OperationSet::Shared base, const std::string& file) {
  ABSL_ASSIGN_OR_RETURN(std::string bytes, ReadPublicFile(file));
  ABSL_ASSIGN_OR_RETURN(const OperationSet::Shared added, OperationSet::Create(std::move(bytes)));
  ABSL_ASSIGN_OR_RETURN(MergedOperations merged, MergeOperationSets(base, added));
  ABSL_ASSIGN_OR_RETURN(Table table, TableOf(merged.set));
  return MergedFile{file, std::move(base), std::move(merged), std::move(table)};
}

absl::StatusOr<std::vector<MergedFile>> MergeAll(const std::vector<std::string>& files) {
  std::vector<MergedFile> all;
  for (const std::string& file : files) {
    absl::StatusOr<MergedFile> merged = Merge(all.empty() ? OperationSet::BuiltIn() : all.back().merged.set, file);
    if (!merged.ok()) {
      return absl::Status(merged.status().code(), absl::StrCat(file, ": ", merged.status().message()));
    }
    all.push_back(*std::move(merged));
  }
  return all;
}

// Returns the operations of the program and of all files.
absl::StatusOr<Table> MergedTable(const std::vector<std::string>& files) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<MergedFile> merged, MergeAll(files));
  return merged.empty() ? TableOf(OperationSet::BuiltIn()) : merged.back().table;
}

// Return the name of an enum value in lower case, such as "query" for OPERATION_KIND_QUERY.
std::string KindNameOf(v1::OperationKind kind) {
  const std::string name = v1::OperationKind_Name(kind);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "OPERATION_KIND_"));
}

std::string GuardNameOf(v1::FieldGuard guard) {
  const std::string name = v1::FieldGuard_Name(guard);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "FIELD_GUARD_"));
}

// Returns the row of an operation in the list.
Row RowOf(const Operation& operation) {
  std::vector<std::string> marks;
  if (operation.internal) marks.emplace_back("internal");
  if (operation.stamped_by_client) marks.emplace_back("stamped by client");
  if (operation.moves_unread_amount) marks.emplace_back("moves unread amount");
  if (!operation.other_name_of.empty()) {
    marks.push_back(absl::StrCat("another name of ", PolicyNameOf(operation.other_name_of)));
  }
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  return {PolicyNameOf(operation.full_name),
          KindNameOf(operation.kind),
          ClassNameOf(operation.policy_class),
          or_dash(operation.since),
          std::string(absl::StripPrefix(operation.path, "/public/v1/")),
          or_dash(operation.activity_type),
          absl::StrJoin(marks, ", ")};
}

// Returns one line for each row, with columns of equal widths.
std::string Aligned(const std::vector<Row>& rows) {
  std::array<size_t, Row().size()> widths = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppendFormat(&line, "%-*s  ", static_cast<int>(widths[i]), row[i]);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

// Returns words such as "a new submit for class write".
std::string Described(const ApiMethod& operation) {
  return absl::StrCat("a new ", KindNameOf(operation.kind), " for class ", ClassNameOf(operation.policy_class));
}

// Returns what the file adds and changes.
std::vector<std::string> ChangesOf(const MergedFile& file) {
  std::vector<std::string> sentences;
  const Difference difference = FindDifference(*file.base, *file.merged.set);
  for (const ApiMethod* operation : difference.operations) {
    const std::string name = PolicyNameOf(operation->full_name);
    if (!operation->other_name_of.empty()) {
      sentences.push_back(absl::StrCat(name, " is another name of ", PolicyNameOf(operation->other_name_of)));
      continue;
    }
    sentences.push_back(
        absl::StrCat(name, " is ", Described(*operation), operation->since.empty() ? "" : ", of ", operation->since));
  }
  for (const auto* field : difference.fields) sentences.push_back(absl::StrCat(field->full_name(), " is a new field"));
  for (const auto* value : difference.values) {
    sentences.push_back(absl::StrCat(value->full_name(), " is a new value of ", value->type()->full_name()));
  }
  for (const Difference::LooserField& looser : difference.looser_fields) {
    sentences.push_back(
        absl::StrCat(looser.field->full_name(), " accepts more: ", absl::StrJoin(looser.changes, "; ")));
  }
  return sentences;
}

// Returns what of a file does not take effect.
std::vector<std::string> WithoutEffect(const MergedOperations& merged) {
  std::vector<std::string> sentences = merged.conflicts;
  for (const std::string& name : merged.unused_options) {
    sentences.push_back(absl::StrCat(name, " ", kHasUnusedOptions));
  }
  return sentences;
}

// Returns the fields that the body of a request has, at any depth, without those that the gateway itself uses.
std::vector<const FieldPlan*> FieldsOf(const Operation& operation) {
  std::vector<const FieldPlan*> fields;
  std::vector<const MessagePlan*> messages = {operation.request};
  absl::flat_hash_set<const MessagePlan*> seen = {operation.request};
  for (size_t i = 0; i < messages.size(); ++i) {  // the body of the loop adds messages
    for (const FieldPlan& field : messages[i]->fields) {
      if (!field.in_json || &field == operation.organization_id || &field == operation.timestamp_ms) continue;
      if (field.replaced != nullptr) continue;  // the rules of the older field apply
      if (field.form != JsonForm::kMessage) {
        fields.push_back(&field);
      } else if (seen.insert(field.message).second) {
        messages.push_back(field.message);
      }
    }
  }
  return fields;
}

bool IsText(const FieldPlan& field) {
  switch (field.form) {
    case JsonForm::kString:
    case JsonForm::kBytes:
    case JsonForm::kStringMap:
    case JsonForm::kJsonText:
    case JsonForm::kJsonMembers:
      return true;
    default:
      return false;
  }
}

bool IsNumber(const FieldPlan& field) {
  switch (field.form) {
    case JsonForm::kUint64:
    case JsonForm::kInt64:
    case JsonForm::kUint32:
    case JsonForm::kInt32:
      return true;
    default:
      return false;
  }
}

// Returns what somebody must decide about a new operation.
std::vector<std::string> DecisionsAbout(const Operation& operation) {
  const std::string name = PolicyNameOf(operation.full_name);
  std::vector<std::string> sentences = {
      absl::StrCat(name, " is ", Described(operation), ": ", ExplainUncovered(operation, ""))};

  config::v1::Grant amounts;
  amounts.add_amount_limits();
  config::v1::Grant destinations;
  destinations.add_destinations();
  for (const config::v1::Grant* grant : {&amounts, &destinations}) {
    const absl::string_view rule = UncheckedRule(*grant, operation);
    if (rule.empty()) continue;
    sentences.push_back(absl::StrCat(name, " moves assets, but no field states the value that ", rule,
                                     " limits: a grant with ", rule, " does not allow it"));
  }

  std::vector<std::string> guarded;
  std::vector<std::string> unguarded;
  std::vector<std::string> not_secret;
  for (const FieldPlan* field : FieldsOf(operation)) {
    const std::string field_name(field->field->full_name());
    const v1::FieldGuard guard = GuardOf(*field->field);
    if (guard == v1::FIELD_GUARD_UNSPECIFIED) {
      if (IsText(*field) || IsNumber(*field)) unguarded.push_back(field_name);
    } else if (guard != v1::FIELD_GUARD_NONE) {
      guarded.push_back(absl::StrCat(field_name, " (", GuardNameOf(guard), ")"));
    }
    if (operation.is_submit() && IsText(*field) && !field->secret) not_secret.push_back(field_name);
  }
  const auto add_list = [&](absl::string_view what, const std::vector<std::string>& fields) {
    if (!fields.empty()) sentences.push_back(absl::StrCat(name, " has ", what, ": ", absl::StrJoin(fields, ", ")));
  };
  add_list("fields with a guard", guarded);
  add_list("texts and numbers without a guard, which amount_limits, destinations and export_public_keys do not limit",
           unguarded);
  add_list("texts that are not secret, so error texts can contain them", not_secret);
  return sentences;
}

}  // namespace

absl::StatusOr<OperationsReport> ListOperations(const std::vector<std::string>& files) {
  ABSL_ASSIGN_OR_RETURN(const Table table, MergedTable(files));
  std::vector<Row> rows;
  for (const Operation& operation : table->operations()) rows.push_back(RowOf(operation));
  return OperationsReport{Aligned(rows)};
}

absl::StatusOr<OperationsReport> CompareOperations(const std::vector<std::string>& files) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<MergedFile> all, MergeAll(files));
  OperationsReport report;
  for (const MergedFile& file : all) {
    const std::vector<std::string> changes = ChangesOf(file);
    for (const std::vector<std::string>& sentences : {changes, WithoutEffect(file.merged)}) {
      for (const std::string& sentence : sentences) absl::StrAppend(&report.text, file.file, ": ", sentence, "\n");
    }
    if (!changes.empty()) report.exit_status = kExitFound;
  }
  return report;
}

absl::StatusOr<OperationsReport> ReviewOperations(const std::vector<std::string>& files) {
  ABSL_ASSIGN_OR_RETURN(const Table table, MergedTable(files));
  std::vector<std::string> sentences;
  for (const Operation& operation : table->operations()) {
    if (operation.built_in) continue;
    const std::vector<std::string> decisions = DecisionsAbout(operation);
    sentences.insert(sentences.end(), decisions.begin(), decisions.end());
  }
  for (const std::string& name : UnreviewedNames(table->set())) {
    sentences.push_back(absl::StrCat(name, " ", kHasNoGuard));
  }
  OperationsReport report;
  for (const std::string& sentence : sentences) absl::StrAppend(&report.text, sentence, "\n");
  if (!sentences.empty()) report.exit_status = kExitFound;
  return report;
}

int PrintReport(const absl::StatusOr<OperationsReport>& report) {
  if (!report.ok()) {
    Fail(report.status());
    return kExitUsage;
  }
  std::cout << report->text;
  return report->exit_status;
}

int ExportOperations() {
  if (isatty(STDOUT_FILENO) != 0) {
    std::cerr << "operations export writes bytes, not text: send standard output to a file\n";
    return kExitUsage;
  }
  google::protobuf::FileDescriptorSet files;
  for (const auto& [name, bytes] : OperationSet::BuiltIn()->files()) {
    // Valid, because a set was made from it.
    static_cast<void>(files.add_file()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  }
  std::cout << files.SerializeAsString() << std::flush;
  return std::cout.good() ? 0 : Fail(absl::UnavailableError("cannot write to standard output"));
}

}  // namespace stampgate
