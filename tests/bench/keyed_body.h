// The bodies of deliveries that belong to several activities, which are the keys that order the events of a shared
// subscription.
#ifndef STAMPGATE_TESTS_BENCH_KEYED_BODY_H_
#define STAMPGATE_TESTS_BENCH_KEYED_BODY_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace stampgate::bench {

// Makes the bodies of `keys` activities, at most 999,999, in turn. Bodies that are made with another number of keys
// belong to other activities.
class KeyedBody {
 public:
  // `body` is an activity that begins with its id.
  KeyedBody(std::string body, int keys) : body_(std::move(body)), keys_(keys) {
    const absl::string_view begin = R"({"id":")";
    ABSL_RAW_CHECK(absl::StartsWith(body_, begin), "the body does not begin with the id of an activity");
    id_ = body_.substr(begin.size(), kIdBytes);
  }

  // All of them have the same size.
  std::string Of(int number) const {
    const std::string digits = absl::StrFormat("%06d%06d", keys_, number % keys_);
    return absl::StrReplaceAll(body_, {{id_, id_.substr(0, kIdBytes - digits.size()) + digits}});
  }

 private:
  static constexpr size_t kIdBytes = 36;

  const std::string body_;
  const int keys_;
  std::string id_;  // of the activity in `body_`
};

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_KEYED_BODY_H_
