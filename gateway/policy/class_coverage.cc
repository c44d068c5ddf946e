#include "gateway/policy/class_coverage.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gateway/policy/method_name.h"
#include "google/protobuf/descriptor.h"

namespace stampgate {

Coverage CoverageOf(const ApiMethod& method, absl::string_view as_of) {
  if (method.general) return Coverage::kGeneral;
  if (method.internal) return Coverage::kInternal;
  if (!method.built_in && !method.is_after_built_in) return Coverage::kNoNewDay;
  // Days in this form compare as texts, and the empty day of an old method is before every day.
  return method.since <= as_of ? Coverage::kCovered : Coverage::kNotAccepted;
}

bool ClassesCover(const ApiMethod& method, absl::string_view as_of) {
  return CoverageOf(method, as_of) == Coverage::kCovered;
}

std::string ExplainUncovered(const ApiMethod& method, absl::string_view as_of) {
  const absl::string_view name = method.method->name();
  switch (CoverageOf(method, as_of)) {
    case Coverage::kCovered:
      break;
    case Coverage::kGeneral:
      return absl::StrCat(name, " is in no class: a grant must list the operation in general_operations");
    case Coverage::kInternal:
      return absl::StrCat(name, " is internal and in no class: a grant must name it");
    case Coverage::kNoNewDay:
      return absl::StrCat(name,
                          " is of a file of `operations` that gives it no new day, so it is in no class: a grant "
                          "must name it");
    case Coverage::kNotAccepted:
      return absl::StrCat(name, " is of ", method.since, " and class_grants_as_of is ",
                          as_of.empty() ? "not set" : absl::StrCat(as_of, ", which is earlier"),
                          ": set it to this day or later, or name the method in a grant");
  }
  return "";
}

std::string DescribeUnsetDay(const OperationSet& operations, v1::PolicyClass policy_class, absl::string_view as_of) {
  if (!as_of.empty()) return "";
  const auto covered_until = [&](absl::string_view day) {
    return absl::c_count_if(operations.methods(), [&](const ApiMethod& method) {
      return method.policy_class == policy_class && ClassesCover(method, day);
    });
  };
  const auto now = covered_until(as_of);
  const auto all = covered_until(operations.newest_since());
  if (now == all) return "";
  return absl::StrCat("class ", ClassNameOf(policy_class), " covers ", now, " of ", all,
                      " methods: class_grants_as_of is not set");
}

std::string DescribeUncovered(const OperationSet& operations, absl::string_view as_of) {
  const std::string& newest = operations.newest_since();
  const auto count = absl::c_count_if(operations.methods(), [&](const ApiMethod& method) {
    return ClassesCover(method, newest) && !ClassesCover(method, as_of);
  });
  if (count == 0) return "";
  return absl::StrCat("class grants do not cover ", count, count == 1 ? " operation that is" : " operations that are",
                      " newer than class_grants_as_of, which is ", as_of.empty() ? "not set" : as_of,
                      "; the newest is of ", newest, "\n");
}

std::string DescribeNamedOnly(const OperationSet& operations) {
  std::string text;
  for (const ApiMethod& method : operations.methods()) {
    if (method.built_in) continue;
    switch (CoverageOf(method, operations.newest_since())) {
      case Coverage::kNoNewDay:
        absl::StrAppend(&text, "no class covers ", PolicyNameOf(method.full_name),
                        ", which a file adds without a day after ", operations.origin().newest_since(),
                        ": a grant must name it\n");
        break;
      case Coverage::kInternal:
        absl::StrAppend(&text, "no class covers ", PolicyNameOf(method.full_name),
                        ", which a file adds as internal: a grant must name it\n");
        break;
      case Coverage::kGeneral:
        absl::StrAppend(&text, "no class covers ", PolicyNameOf(method.full_name),
                        ", which a file adds as general: a grant must list its operations\n");
        break;
      case Coverage::kCovered:
      case Coverage::kNotAccepted:
        break;
    }
  }
  return text;
}

}  // namespace stampgate
