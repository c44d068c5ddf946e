#include "gateway/config/operation_files.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gateway/config/named_files.h"
#include "stamp/secret/sha256.h"
#include "translate/operation_set_merge.h"

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

}  // namespace

std::shared_ptr<const OperationTable> ReadOperations(OperationSet::Shared base, const std::string& config_file,
                                                     const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report) {
  config::v1::Config resolved = config;
  ResolveFiles(config_file, resolved);
  std::shared_ptr<const OperationTable> table = OperationTable::Create(config.operator_name(), std::move(base)).value();
  for (int i = 0; i < resolved.operations_size(); ++i) {
    absl::StatusOr<std::shared_ptr<const OperationTable>> extended =
        Extend(*table, config.operator_name(), contents.Public(resolved.operations(i)));
    if (extended.ok()) {
      table = *std::move(extended);
    } else {
      report.Add(absl::StrCat("operations[", i, "]"), extended.status().message());
    }
  }
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
