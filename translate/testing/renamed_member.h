// Operations of which upstream has renamed members.
#ifndef STAMPGATE_TRANSLATE_TESTING_RENAMED_MEMBER_H_
#define STAMPGATE_TRANSLATE_TESTING_RENAMED_MEMBER_H_

#include "translate/operation_set/operation_set.h"

namespace stampgate::testing {

// The days on which the members of OperationsWithRenamedMembers got their newer names.
inline constexpr char kCaip2Day[] = "2026-10-21";
inline constexpr char kSignerDay[] = "2026-11-20";

// Returns the operations of the program, where stampgate.v1.EarnWithdrawParameters has newer names of two members:
// `caip2`, a string, of the enum `chain_caip2`, and `signer` of the string `sign_with`.
const OperationSet::Shared& OperationsWithRenamedMembers();

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_RENAMED_MEMBER_H_
