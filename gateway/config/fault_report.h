// The faults and warnings of one config.
#ifndef STAMPGATE_GATEWAY_CONFIG_FAULT_REPORT_H_
#define STAMPGATE_GATEWAY_CONFIG_FAULT_REPORT_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/config/yaml_reader.h"

namespace stampgate {

// A field with a fault, and what is inside it, gets no second one: later rules would judge a value that is not there.
class ConfigReport {
 public:
  // With what was found when `file` was read.
  ConfigReport(std::string file, std::vector<Fault> faults, Places places);

  // `path` as in Fault; `message` continues the sentence.
  void Add(const std::string& path, absl::string_view message);

  // The same of what is no fault. Every call adds one.
  void Warn(const std::string& path, absl::string_view message);

  bool IsFaulty(absl::string_view path) const;

  // Whether the text has something at `path`, even if it is empty.
  bool IsGiven(absl::string_view path) const { return places_.find(path) != places_.end(); }

  // All faults, one a line, in the order of the file; OK if there are none.
  absl::Status ToStatus() const;

  // All warnings in the same form and order.
  std::vector<std::string> Warnings() const { return Lines(warnings_); }

 private:
  std::vector<std::string> Lines(const std::vector<Fault>& faults) const;
  Place PlaceOf(absl::string_view path) const;

  const std::string file_;
  std::vector<Fault> faults_;
  std::vector<Fault> warnings_;
  const Places places_;
  std::set<std::string, std::less<>> faulty_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_FAULT_REPORT_H_
