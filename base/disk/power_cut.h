// Computes the content of a disk's files after a power cut.
#ifndef STAMPGATE_BASE_DISK_POWER_CUT_H_
#define STAMPGATE_BASE_DISK_POWER_CUT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/disk/test_disk.h"

namespace stampgate {

// Replays a disk's history. At each step, Cut returns one of the images that a power cut could leave: all synced
// changes, and a random part of the others. Each 512-byte sector of an unsynced write is independently present, absent,
// partly present, or filled with random bytes. Each unsynced creation, deletion or size change of a file is either
// completely in the image or not at all.
class PowerCut {
 public:
  // `start` is the disk's content before the history. `history` must outlive this object.
  PowerCut(const DiskImage& start, const std::vector<DiskChange>& history);

  // Replays until `step` changes have happened. `step` must not decrease.
  void MoveTo(size_t step);

  DiskImage Cut(std::mt19937_64& random) const;

 private:
  struct File {
    std::optional<std::string> durable;  // without a value if the file does not exist
    std::vector<const DiskChange*> unsynced;
  };

  static void MakeDurable(size_t changes, const std::set<size_t>& lost, File* file);
  void SyncFolder();

  const std::vector<DiskChange>& history_;
  size_t step_ = 0;
  std::map<std::string, File> files_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_POWER_CUT_H_
