// What a test asks of a Status: its code, and the details that a caller sees.
#ifndef STAMPGATE_TRANSLATE_TESTING_STATUS_H_
#define STAMPGATE_TRANSLATE_TESTING_STATUS_H_

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

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

// The google.rpc details of a status.
struct Details {
  std::string domain;
  std::string reason;
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<std::string, std::string>> violations;  // field and description
  std::optional<absl::Duration> retry_delay;
};
Details DetailsOf(const absl::Status& status);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_STATUS_H_
