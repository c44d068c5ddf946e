#include "gateway/commands/check.h"

#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <optional>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/loop/event_loops.h"
#include "base/threads/core_count.h"
#include "gateway/config/caller_report.h"
#include "gateway/config/config.h"
#include "gateway/config/loader.h"
#include "gateway/config/rules/member_names.h"
#include "gateway/config/rules/subscription_rules.h"
#include "gateway/config/snapshot.h"
#include "gateway/grpc_port/grpc_release.h"
#include "gateway/policy/class_coverage.h"
#include "gateway/policy/method_name.h"
#include "gateway/process/descriptor_limit.h"
#include "gateway/process/memory_limit.h"
#include "gateway/tokens/key_pool.h"
#include "translate/operation_table.h"

namespace stampgate {
namespace {

// Returns lines that name the methods of files that are other names of methods.
std::string DescribeOtherNames(const OperationSet& operations) {
  std::string text;
  for (const ApiMethod& method : operations.methods()) {
    if (method.other_name_of.empty()) continue;
    absl::StrAppend(&text, PolicyNameOf(method.full_name), " is another name of ", PolicyNameOf(method.other_name_of),
                    ", with the same rules\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> CheckConfig(const std::string& file) {
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<EventLoops> loops, EventLoops::Start(CoreCount(), "loop"));
  TokenKeyPool token_keys(loops);
  ConfigSource source(file);
  ABSL_ASSIGN_OR_RETURN(const Loaded loaded, Load(source, token_keys));
  const Config& config = loaded.config;
  ABSL_RETURN_IF_ERROR(CheckGrpcRelease(grpc::Version(), *config));
  for (const std::string& warning : config.warnings()) std::cerr << warning << " (warning)\n";
  // The limits can differ where the gateway runs. A process cannot raise a limit that is too low, so errors do not
  // matter.
  static_cast<void>(RaiseDescriptorLimit());
  for (const std::optional<std::string>& warning : {DescriptorWarning(*config), MemoryWarning(*config)}) {
    if (warning.has_value()) std::cerr << file << ": " << *warning << " (warning)\n";
  }
  return absl::StrCat(file, ": ok (", config->keys_size(), " keys, ", config->callers_size(), " callers, ",
                      config.operations()->operations().size(), " operations)\n",
                      DescribeUncovered(config.operations()->set(), config->class_grants_as_of()),
                      DescribeMemberNames(*config.operations(), config->member_names_as_of()),
                      DescribeNamedOnly(config.operations()->set()), DescribeOtherNames(config.operations()->set()),
                      DescribeSubscriptionChanges(*config));
}

absl::StatusOr<std::string> CheckCaller(const std::string& file, const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(const Config config, LoadPolicy(file));
  absl::StatusOr<std::string> report = DescribeCaller(config, name);
  if (!report.ok()) return absl::NotFoundError(absl::StrCat(file, ": ", report.status().message()));
  return report;
}

}  // namespace stampgate
