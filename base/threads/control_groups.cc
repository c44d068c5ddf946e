#include "base/threads/control_groups.h"

#include <fstream>

namespace stampgate {
namespace {

// Whether a comma-separated list has the name.
bool Lists(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::vector<std::string> ControlGroupFolders(const std::string& controller, const std::string& root,
                                             const std::string& membership) {
  std::vector<std::string> folders;
  std::ifstream file(membership);
  // A line contains the number of the hierarchy, its controllers and the group: "0::/a/b" for version 2, and
  // "4:cpu,memory:/a/b" for version 1.
  for (std::string line; std::getline(file, line);) {
    const size_t list = line.find(':');
    const size_t path = list == std::string::npos ? list : line.find(':', list + 1);
    if (path == std::string::npos || line.compare(path, 2, ":/") != 0) continue;
    const std::string controllers = line.substr(list + 1, path - list - 1);
    std::string hierarchy = root;
    if (!controllers.empty()) {
      if (!Lists(controllers, controller)) continue;
      hierarchy += "/" + controller;
    } else if (line.substr(0, list) != "0") {
      continue;
    }
    std::string group = line.substr(path + 1);
    while (true) {
      while (group.ends_with('/')) group.pop_back();
      folders.push_back(hierarchy + group);
      if (group.empty()) break;
      group.resize(group.rfind('/'));
    }
  }
  return folders;
}

}  // namespace stampgate
