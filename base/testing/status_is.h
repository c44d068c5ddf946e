// StatusIs, a matcher for the code, and optionally the message, of a Status.
#ifndef STAMPGATE_BASE_TESTING_STATUS_IS_H_
#define STAMPGATE_BASE_TESTING_STATUS_IS_H_

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace stampgate::testing {

inline absl::Status StatusOf(const absl::Status& status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER_P(StatusIs, code, absl::StrCat("has code ", absl::StatusCodeToString(code))) {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code;
}
MATCHER_P2(StatusIs, code, message, absl::StrCat("has code ", absl::StatusCodeToString(code), " and the message")) {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(StatusOf(arg).message()), result_listener);
}

}  // namespace stampgate::testing

#endif  // STAMPGATE_BASE_TESTING_STATUS_IS_H_
