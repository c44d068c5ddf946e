// What a power cut leaves of a disk's files.
#ifndef STAMPGATE_WEBHOOKS_DISK_POWER_CUT_H_
#define STAMPGATE_WEBHOOKS_DISK_POWER_CUT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "webhooks/disk/test_disk.h"

namespace stampgate {

// Goes through a history from its beginning, and says at each step what may be found if the power is cut there: what
// was synced, and of the rest anything. Each 512-byte sector of a write that was not synced is there, or is not, or is
// there in part, or holds nonsense, whatever became of the writes before and after it; a file's new size, its being
// there and its being gone may have reached the disk or not.
class PowerCut {
 public:
  // `start` was on the disk before the history began. Both outlive this.
  PowerCut(const DiskImage& start, const std::vector<DiskChange>& history);

  // The first `step` changes have happened. Not less than before.
  void MoveTo(size_t step);

  DiskImage Cut(std::mt19937_64& random) const;

 private:
  struct File {
    std::optional<std::string> durable;  // none if the file is not there
    std::vector<const DiskChange*> unsynced;
  };

  static void MakeDurable(size_t changes, const std::set<size_t>& lost, File* file);
  void SyncFolder();

  const std::vector<DiskChange>& history_;
  size_t step_ = 0;
  std::map<std::string, File> files_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_POWER_CUT_H_
