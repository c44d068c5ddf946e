// What the tests of the audit log share: a key, files, and system calls that fail on request.
#ifndef STAMPGATE_GATEWAY_AUDIT_TESTING_H_
#define STAMPGATE_GATEWAY_AUDIT_TESTING_H_

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gateway/audit/file.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// The bytes first, first + 1, and so on.
SecretBytes TestAuditKey(uint8_t first = 0);

// A new, empty folder, with a slash at its end.
std::string NewFolder();

void WriteTestFile(const std::string& path, absl::string_view content);
std::string ReadTestFile(const std::string& path);
bool Exists(const std::string& path);

// The lines of a file, without their line feeds.
std::vector<std::string> LinesOf(const std::string& path);
// Those that have `piece` in them.
std::vector<std::string> LinesWith(const std::string& path, absl::string_view piece);

// The value of a member that is a text or a number, as it stands there; empty if it is missing.
std::string Member(absl::string_view line, absl::string_view name);

// Thread-safe.
class FaultyCalls : public FileCalls {
 public:
  enum class Call { kOpen, kWrite, kTruncate, kSync, kDropPages, kLink, kRename, kSyncFolder };
  static constexpr int kForEver = 1 << 30;

  // The `nth` call from now (1 is the next) fails, and those behind it, `count` in all. A write that fails writes half
  // of its bytes first; a sync that fails leaves it open what is on the disk.
  void Fail(Call call, int error, int nth = 1, int count = kForEver);
  // Nothing fails any more.
  void Mend();

  // No write takes more than this.
  void WriteAtMost(size_t bytes);

  // From now on a sync waits, until Release.
  void HoldSync();
  void WaitUntilHeld();
  void Release();

  // How many there were, those that failed too.
  int calls(Call call) const;

  int Open(const std::string& path, int flags) override;
  ssize_t Write(int fd, const char* data, size_t size) override;
  int Truncate(int fd, off_t size) override;
  int Sync(int fd) override;
  int DropPages(int fd, off_t offset) override;
  int Link(const std::string& from, const std::string& to) override;
  int Rename(const std::string& from, const std::string& to) override;
  int SyncFolderOf(const std::string& path) override;

 private:
  struct Plan {
    int good = 0;  // calls before those that fail
    int bad = 0;
    int error = 0;
  };

  // Whether it is to fail; errno is then set.
  bool Fails(Call call);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Call, Plan> plans_;
  std::map<Call, int> calls_;
  size_t most_ = static_cast<size_t>(-1);
  bool hold_ = false;
  bool held_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_TESTING_H_
