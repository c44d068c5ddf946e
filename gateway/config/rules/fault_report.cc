#include "gateway/config/rules/fault_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace stampgate {
namespace {

absl::string_view Parent(absl::string_view path) {
  const size_t end = path.find_last_of(".[");
  return path.substr(0, end == absl::string_view::npos ? 0 : end);
}

}  // namespace

ConfigReport::ConfigReport(std::string file, std::vector<Fault> faults, Locations locations)
    : file_(std::move(file)), faults_(std::move(faults)), locations_(std::move(locations)) {
  for (const Fault& fault : faults_) faulty_.insert(fault.path);
}

void ConfigReport::Add(const std::string& path, absl::string_view message) {
  if (IsFaulty(path)) return;
  faulty_.insert(path);
  faults_.push_back({LocationOf(path), path, std::string(message)});
}

void ConfigReport::Warn(const std::string& path, absl::string_view message) {
  warnings_.push_back({LocationOf(path), path, std::string(message)});
}

bool ConfigReport::IsFaulty(absl::string_view path) const {
  while (!faulty_.contains(path)) {
    if (path.empty()) return false;
    path = Parent(path);
  }
  return true;
}

absl::Status ConfigReport::ToStatus() const {
  if (faults_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(Lines(faults_), "\n"));
}

std::vector<std::string> ConfigReport::Lines(const std::vector<Fault>& faults) const {
  std::vector<const Fault*> ordered;
  for (const Fault& fault : faults) ordered.push_back(&fault);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Fault* a, const Fault* b) {
    return std::pair(a->location.line, a->location.column) < std::pair(b->location.line, b->location.column);
  });
  std::vector<std::string> lines;
  for (const Fault* fault : ordered) {
    lines.push_back(absl::StrCat(file_, ":", fault->location.line, ":", fault->location.column, ": ", fault->path,
                                 fault->path.empty() ? "" : ": ", fault->message));
  }
  return lines;
}

Location ConfigReport::LocationOf(absl::string_view path) const {
  while (!path.empty()) {
    const auto location = locations_.find(path);
    if (location != locations_.end()) return location->second;
    path = Parent(path);
  }
  return Location{};
}

}  // namespace stampgate
