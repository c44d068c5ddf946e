#include "gateway/config/bounded_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stampgate {

absl::StatusOr<std::string> ReadBoundedFile(const std::string& path, size_t max_bytes) {
  std::error_code error;
  // Opening a pipe would wait for its writer.
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    return absl::InvalidArgumentError("is not a file");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  std::string text(max_bytes + 1, '\0');
  if (file != nullptr) text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  }
  if (text.size() > max_bytes)
    return absl::InvalidArgumentError(absl::StrCat("is larger than ", max_bytes >> 10, " KiB"));
  return text;
}

}  // namespace stampgate
