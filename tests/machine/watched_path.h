#pragma once

#include <optional>
#include <string>

namespace stampgate {

// Returns the path of the file that `fd` refers to.
std::string PathOf(int fd);

// Returns `path` relative to the watched folder ("" for the folder itself), or nothing if `path` is outside this
// folder. A relative `path` counts as outside; processes under test get only absolute paths.
std::optional<std::string> WatchedNameOf(const std::string& path);

// Returns true if the machine tracks the content of files with this name.
bool IsTracked(const std::string& name);

// FolderOf returns the part of `path` before its last slash, BaseOf the part after it.
std::string FolderOf(const std::string& path);
std::string BaseOf(const std::string& path);

}  // namespace stampgate
