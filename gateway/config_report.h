// The faults that are found in one config.
#ifndef STAMPGATE_GATEWAY_CONFIG_REPORT_H_
#define STAMPGATE_GATEWAY_CONFIG_REPORT_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/config_reader.h"

namespace stampgate {

// A field with a fault, and what is inside it, gets no second one: later rules would judge a value that is not there.
class ConfigReport {
 public:
  // With what was found when `file` was read.
  ConfigReport(std::string file, std::vector<Fault> faults, Places places);

  // `path` as in Fault; `message` goes on after it.
  void Add(const std::string& path, absl::string_view message);

  bool IsFaulty(absl::string_view path) const;

  // Whether the text has something at `path`, even if it is empty.
  bool IsGiven(absl::string_view path) const { return places_.find(path) != places_.end(); }

  // All of them, one a line, in the order of the file; OK if there are none.
  absl::Status ToStatus() const;

 private:
  Place PlaceOf(absl::string_view path) const;

  const std::string file_;
  std::vector<Fault> faults_;
  const Places places_;
  std::set<std::string, std::less<>> faulty_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_REPORT_H_
