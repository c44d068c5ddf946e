#include "gateway/config/rules/operation_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "base/threads/mutex.h"
#include "gateway/config/settings/named_files.h"
#include "translate/operation_set/merge.h"
#include "translate/operation_set/unreviewed.h"

namespace stampgate {
namespace {

// A warning about an operations file.
struct Warning {
  std::string path;  // such as "operations[0]"
  std::string message;
};

// The most elements that the warnings of one kind about one file name.
constexpr size_t kMaxNamed = 20;

// Adds the warnings `sentences`, up to kMaxNamed. `others` says what the elements of all others have in common.
void Warn(const std::string& path, const std::vector<std::string>& sentences, absl::string_view others,
          std::vector<Warning>& warnings) {
  for (size_t i = 0; i < std::min(kMaxNamed, sentences.size()); ++i) warnings.push_back({path, sentences[i]});
  if (sentences.size() > kMaxNamed) {
    warnings.push_back({path, absl::StrCat(sentences.size() - kMaxNamed, " more elements: each ", others)});
  }
}

// Adds a warning for each of `names`, up to kMaxNamed.
void WarnOfEach(const std::string& path, const std::vector<std::string>& names, absl::string_view what,
                std::vector<Warning>& warnings) {
  std::vector<std::string> sentences;
  for (const std::string& name : names) sentences.push_back(absl::StrCat(name, " ", what));
  Warn(path, sentences, what, warnings);
}

// Returns the operations of `base` and of the set in `bytes`.
absl::StatusOr<std::shared_ptr<const OperationTable>> Extend(const OperationSet::Shared& base,
                                                             const config::v1::Config& config,
                                                             const absl::StatusOr<std::string>& bytes,
                                                             const std::string& path, std::vector<Warning>& warnings) {
  if (!bytes.ok()) return bytes.status();
  ABSL_ASSIGN_OR_RETURN(OperationSet::Shared added, OperationSet::Create(*bytes));
  ABSL_ASSIGN_OR_RETURN(MergedOperations merged, MergeOperationSets(base, added));
  Warn(path, merged.conflicts, "stays as it is or is left out", warnings);
  WarnOfEach(path, merged.unused_options, kHasUnusedOptions, warnings);
  return OperationTable::Create(config.operator_name(), std::move(merged.set), config.member_names_as_of());
}

// Returns a text that is equal for configs with the same operator name, the same day of member names and the same
// contents of operation files.
std::string KeyOf(const config::v1::Config& config, const FileContents& contents) {
  std::string key = absl::StrCat(config.operator_name(), "\n", config.member_names_as_of(), "\n");
  for (const std::string& file : config.operations()) {
    const absl::StatusOr<std::string>& bytes = contents.Public(file);
    const auto digest = Sha256(bytes.value_or(""));
    key += bytes.ok() ? '+' : '-';
    key.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  }
  return key;
}

// The last table that was made. Most changes of a config do not concern its operations, and to make the table of all
// operations again would take up to a quarter of a second of CPU.
struct Kept {
  Mutex mutex;
  OperationSet::Shared base ABSL_GUARDED_BY(mutex);
  std::string key ABSL_GUARDED_BY(mutex);
  std::shared_ptr<const OperationTable> table ABSL_GUARDED_BY(mutex);
  std::vector<Warning> warnings ABSL_GUARDED_BY(mutex);
};

void Report(const std::vector<Warning>& warnings, ConfigReport& report) {
  for (const Warning& warning : warnings) report.Warn(warning.path, warning.message);
}

Kept& TheKept() {
  static auto* const kept = new Kept();
  return *kept;
}

// Returns the table that was made from `base` and the files of `key`, and reports its warnings. Returns null if it is
// not the last one.
std::shared_ptr<const OperationTable> KeptTable(const OperationSet::Shared& base, const std::string& key,
                                                ConfigReport& report) {
  Kept& kept = TheKept();
  MutexLock lock(kept.mutex);
  if (kept.base != base || kept.key != key) return nullptr;
  Report(kept.warnings, report);
  return kept.table;
}

void Keep(OperationSet::Shared base, std::string key, std::shared_ptr<const OperationTable> table,
          std::vector<Warning> warnings) {
  Kept& kept = TheKept();
  MutexLock lock(kept.mutex);
  kept.base = std::move(base);
  kept.key = std::move(key);
  kept.table = std::move(table);
  kept.warnings = std::move(warnings);
}

}  // namespace

std::shared_ptr<const OperationTable> ReadOperations(OperationSet::Shared base, const std::string& config_file,
                                                     const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report) {
  config::v1::Config resolved = config;
  ResolveFiles(config_file, resolved);
  const std::string key = KeyOf(resolved, contents);
  if (std::shared_ptr<const OperationTable> kept = KeptTable(base, key, report)) return kept;
  std::shared_ptr<const OperationTable> table;
  std::vector<Warning> warnings;
  bool has_fault = false;
  for (int i = 0; i < resolved.operations_size(); ++i) {
    const std::string path = absl::StrCat("operations[", i, "]");
    absl::StatusOr<std::shared_ptr<const OperationTable>> extended = Extend(
        table == nullptr ? base : table->shared_set(), config, contents.Public(resolved.operations(i)), path, warnings);
    if (extended.ok()) {
      table = *std::move(extended);
    } else {
      has_fault = true;
      report.Add(path, extended.status().message());
    }
  }
  if (table == nullptr) {
    table = OperationTable::Create(config.operator_name(), base, config.member_names_as_of()).value();
  }
  WarnOfEach("operations", UnreviewedNames(table->set()), kHasNoGuard, warnings);
  Report(warnings, report);
  if (!has_fault) Keep(std::move(base), key, table, std::move(warnings));
  return table;
}

std::vector<std::string> UnreviewedNames(const OperationSet& set) {
  std::vector<std::string> names;
  for (const auto* field : UnreviewedFields(set)) names.emplace_back(field->full_name());
  std::sort(names.begin(), names.end());
  return names;
}

std::string DigestOf(const OperationSet& operations) {
  std::string digests;
  for (const auto& [name, bytes] : operations.files()) {
    const auto digest = Sha256(bytes);
    absl::StrAppend(&digests, name, "\n",
                    absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
  }
  const auto digest = Sha256(digests);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace stampgate
