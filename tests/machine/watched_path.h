#pragma once

#include <optional>
#include <string>

namespace stampgate {

// The path of what the descriptor has open.
std::string PathOf(int fd);

// `path` relative to the watched folder ("" for the folder itself), or nothing if it is elsewhere. A relative `path`
// is elsewhere: no process under test is given one.
std::optional<std::string> WatchedNameOf(const std::string& path);

// Whether the content of a file of that name is tracked.
bool IsTracked(const std::string& name);

// Of a path or name: what is before the last slash, and what is after it.
std::string FolderOf(const std::string& path);
std::string BaseOf(const std::string& path);

}  // namespace stampgate
