// Helpers for the tests of the audit log: a key, files, power cuts, and system calls that fail on request.
#ifndef STAMPGATE_GATEWAY_AUDIT_TESTING_H_
#define STAMPGATE_GATEWAY_AUDIT_TESTING_H_

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/secret/bytes.h"
#include "base/threads/mutex.h"
#include "gateway/audit/file.h"

namespace stampgate {

// Returns a key whose bytes are `first`, `first` + 1, `first` + 2, and so on.
SecretBytes TestAuditKey(uint8_t first = 0);

// Creates an empty folder. Returns the path of the folder, which ends in a slash.
std::string NewFolder();

void WriteTestFile(const std::string& path, absl::string_view content);
std::string ReadTestFile(const std::string& path);
bool Exists(const std::string& path);

// Returns the lines of a file, without their line feeds and without empty lines.
std::vector<std::string> LinesOf(const std::string& path);
// Returns the lines of a file that contain `piece`, without their line feeds and without empty lines.
std::vector<std::string> LinesWith(const std::string& path, absl::string_view piece);

// Returns the value of the member `name`, which must be a string or a number. Returns "" if `line` has no such member.
std::string Member(absl::string_view line, absl::string_view name);

using Random = std::mt19937_64;

// Returns a random number below `bound`.
size_t Below(Random& random, size_t bound);

// Returns a possible content of a file on the disk after a power cut. The program has written `written` to the file,
// and has synced the first `durable` bytes. Each block of unsynced bytes either has its new content, or is wrong from
// some byte on. The wrong bytes are zeros, random bytes, or a part of `former`, the content that the disk had before.
std::string AfterPowerCut(const std::string& written, size_t durable, const std::string& former, Random& random);

// Thread-safe.
class FaultyCalls : public FileCalls {
 public:
  enum class Call { kOpen, kWrite, kTruncate, kSync, kDropPages, kLink, kRename, kUnlink, kSyncFolder };
  static constexpr int kForEver = 1 << 30;

  // Makes `count` calls of the kind `call` fail with `error`, beginning with the `nth` call from now (1 is the next
  // call). A failing write writes the first half of its bytes, or nothing if `error` is EINTR. Other failing calls do
  // nothing.
  void Fail(Call call, int error, int nth = 1, int count = kForEver);
  // Ends all failures: later calls succeed.
  void Mend();

  // From now on, each write writes at most `bytes` bytes.
  void WriteAtMost(size_t bytes);

  // From now on a sync blocks until Release.
  void HoldSync();
  void WaitUntilHeld();
  void Release();

  // Returns the number of calls of the kind `call`, including failed calls.
  int calls(Call call) const;

  int Open(const std::string& path, int flags) override;
  ssize_t Write(int fd, const char* data, size_t size) override;
  int Truncate(int fd, off_t size) override;
  int Sync(int fd) override;
  int DropPages(int fd, off_t offset) override;
  int Link(const std::string& from, const std::string& to) override;
  int Rename(const std::string& from, const std::string& to) override;
  int Unlink(const std::string& path) override;
  int SyncFolderOf(const std::string& path) override;

 private:
  struct Plan {
    int good = 0;  // the number of calls that succeed first
    int bad = 0;   // the number of calls that then fail
    int error = 0;
  };

  // Returns whether the call must fail. If it must, sets errno.
  bool Fails(Call call);

  mutable Mutex mutex_;
  Condition changed_;
  std::map<Call, Plan> plans_ ABSL_GUARDED_BY(mutex_);
  std::map<Call, int> calls_ ABSL_GUARDED_BY(mutex_);
  size_t most_ ABSL_GUARDED_BY(mutex_) = static_cast<size_t>(-1);
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_TESTING_H_
