// Extracts from a Status the details that a caller gets.
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
#include "base/testing/status_is.h"

namespace stampgate::testing {

// The google.rpc details of a status.
struct Details {
  std::string domain;
  std::string reason;
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<std::string, std::string>> violations;  // the field and the description of each
  std::optional<absl::Duration> retry_delay;
};
Details DetailsOf(const absl::Status& status);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_STATUS_H_
