#include "base/testing/temporary_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace stampgate {

std::string TempPath(absl::string_view name) { return absl::StrCat(testing::TempDir(), "/", name); }

std::string WriteTemp(absl::string_view name, absl::string_view content) {
  const std::string path = TempPath(name);
  unlink(path.c_str());
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  EXPECT_EQ(chmod(path.c_str(), 0600), 0);
  return path;
}

std::string ReadAll(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace stampgate
