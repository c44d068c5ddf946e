#pragma once

#include <optional>
#include <string>

namespace stampgate {

// The path of the descriptor's file.
std::string PathOf(int fd);

// `path` relative to the watched folder ("" for the folder itself), or nothing if it is elsewhere. A relative `path`
// counts as elsewhere: processes under test get only absolute paths.
std::optional<std::string> WatchedNameOf(const std::string& path);

// Whether the content of a file of that name is tracked.
bool IsTracked(const std::string& name);

// The part of a path before its last slash, and the part after it.
std::string FolderOf(const std::string& path);
std::string BaseOf(const std::string& path);

}  // namespace stampgate
