// Collects the faults and warnings of one config.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_FAULT_REPORT_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_FAULT_REPORT_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/config/settings/yaml_reader.h"

namespace stampgate {

// Once a field has a fault, the report ignores later faults of this field and of the fields inside it, because later
// rules would check a value that was not read.
class ConfigReport {
 public:
  // `faults` and `locations` are what ReadYaml returned for `file`.
  ConfigReport(std::string file, std::vector<Fault> faults, Locations locations);

  // Adds a fault. `path` and `message` have the form of the members of Fault.
  void Add(const std::string& path, absl::string_view message);

  // Adds a warning. `path` and `message` have the same form as in Add. Never ignores a warning.
  void Warn(const std::string& path, absl::string_view message);

  bool IsFaulty(absl::string_view path) const;

  // Whether the config's text has a value at `path`, even an empty one.
  bool IsGiven(absl::string_view path) const { return locations_.find(path) != locations_.end(); }

  // Returns an error that contains all faults, one in each line, in the order of the file. Returns OK if there are no
  // faults.
  absl::Status ToStatus() const;

  // Returns all warnings as lines in the form and order of ToStatus.
  std::vector<std::string> Warnings() const { return Lines(warnings_); }

 private:
  std::vector<std::string> Lines(const std::vector<Fault>& faults) const;
  Location LocationOf(absl::string_view path) const;

  const std::string file_;
  std::vector<Fault> faults_;
  std::vector<Fault> warnings_;
  const Locations locations_;
  std::set<std::string, std::less<>> faulty_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_FAULT_REPORT_H_
