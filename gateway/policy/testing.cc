#include "gateway/policy/testing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"

namespace stampgate {

const char kPointOfOne[] = "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296";
const char kPointOfTwo[] = "037cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978";

std::string NewTestFolder() {
  std::string path = ::testing::TempDir() + "/policy-XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

void PutTestFile(const std::string& path, absl::string_view content) {
  std::filesystem::remove(path);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  EXPECT_EQ(write(file, content.data(), content.size()), static_cast<ssize_t>(content.size())) << path;
  close(file);
}

MountedFolder::MountedFolder(const Files& files) : folder_(NewTestFolder()) {
  Swap(files);
  for (const auto& [name, content] : files) {
    std::filesystem::create_symlink("..data/" + name, folder_ + "/" + name);
  }
}

void MountedFolder::Swap(const Files& files) {
  const std::string former = absl::StrCat(folder_, "/..", states_);
  const std::string name = absl::StrCat("..", ++states_);
  std::filesystem::create_directory(absl::StrCat(folder_, "/", name));
  for (const auto& [file, content] : files) PutTestFile(absl::StrCat(folder_, "/", name, "/", file), content);
  std::filesystem::create_symlink(name, folder_ + "/..data_tmp");
  std::filesystem::rename(folder_ + "/..data_tmp", folder_ + "/..data");
  std::filesystem::remove_all(former);
}

std::string MountedFolder::PathOf(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }

std::string KeyText(int number) { return absl::StrCat(std::string(63, '0'), number, ":p256\n"); }

}  // namespace stampgate
