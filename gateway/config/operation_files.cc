#include "gateway/config/operation_files.h"

#include <mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gateway/config/named_files.h"
#include "stamp/secret/sha256.h"
#include "translate/operation_set/merge.h"

namespace stampgate {
namespace {

// Returns the operations of `base` and of the set in `bytes`.
absl::StatusOr<std::shared_ptr<const OperationTable>> Extend(const OperationTable& base,
                                                             absl::string_view operator_name,
                                                             const absl::StatusOr<std::string>& bytes) {
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<OperationSet::Shared> added = OperationSet::Create(*bytes);
  if (!added.ok()) return added.status();
  absl::StatusOr<OperationSet::Shared> merged = MergeOperationSets(base.shared_set(), *added);
  if (!merged.ok()) return merged.status();
  return OperationTable::Create(operator_name, *std::move(merged));
}

// Returns a text that is equal for configs with the same operator name and the same contents of operation files.
std::string KeyOf(const config::v1::Config& config, const FileContents& contents) {
  std::string key = absl::StrCat(config.operator_name(), "\n");
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
  std::mutex mutex;
  OperationSet::Shared base;
  std::string key;
  std::shared_ptr<const OperationTable> table;
};

Kept& TheKept() {
  static auto* const kept = new Kept();
  return *kept;
}

// Returns the table that was made from `base` and the files of `key`, or null if it is not the last one.
std::shared_ptr<const OperationTable> KeptTable(const OperationSet::Shared& base, const std::string& key) {
  Kept& kept = TheKept();
  std::lock_guard lock(kept.mutex);
  return kept.base == base && kept.key == key ? kept.table : nullptr;
}

void Keep(OperationSet::Shared base, std::string key, std::shared_ptr<const OperationTable> table) {
  Kept& kept = TheKept();
  std::lock_guard lock(kept.mutex);
  kept.base = std::move(base);
  kept.key = std::move(key);
  kept.table = std::move(table);
}

}  // namespace

std::shared_ptr<const OperationTable> ReadOperations(OperationSet::Shared base, const std::string& config_file,
                                                     const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report) {
  config::v1::Config resolved = config;
  ResolveFiles(config_file, resolved);
  const std::string key = KeyOf(resolved, contents);
  if (std::shared_ptr<const OperationTable> kept = KeptTable(base, key)) return kept;
  std::shared_ptr<const OperationTable> table = OperationTable::Create(config.operator_name(), base).value();
  bool has_fault = false;
  for (int i = 0; i < resolved.operations_size(); ++i) {
    absl::StatusOr<std::shared_ptr<const OperationTable>> extended =
        Extend(*table, config.operator_name(), contents.Public(resolved.operations(i)));
    if (extended.ok()) {
      table = *std::move(extended);
    } else {
      has_fault = true;
      report.Add(absl::StrCat("operations[", i, "]"), extended.status().message());
    }
  }
  if (!has_fault) Keep(std::move(base), key, table);
  return table;
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
