// Operations of which upstream has renamed members.
#ifndef STAMPGATE_TRANSLATE_TESTING_RENAMED_MEMBER_H_
#define STAMPGATE_TRANSLATE_TESTING_RENAMED_MEMBER_H_

#include "translate/operation_set/operation_set.h"

namespace stampgate::testing {

// The days on which the members of OperationsWithRenamedMembers got their newer names.
inline constexpr char kCaip2Day[] = "2026-10-21";
inline constexpr char kSignerDay[] = "2026-11-20";

// Returns the operations of the program, where stampgate.v1.EarnWithdrawParameters has newer names of two members: the
// string `caip2` of the enum `chain_caip2`, as in the program, and `signer` of the string `sign_with`.
const OperationSet::Shared& OperationsWithRenamedMembers();

// Returns the operations of the program without the fields that are newer names of others.
const OperationSet::Shared& OperationsWithoutRenamedMembers();

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_RENAMED_MEMBER_H_
