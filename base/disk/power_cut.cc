#include "base/disk/power_cut.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>

namespace stampgate {
namespace {

constexpr size_t kSectorBytes = 512;

using Kind = DiskChange::Kind;

void Put(size_t offset, const std::string& data, std::string* content) {
  if (content->size() < offset + data.size()) content->resize(offset + data.size());
  content->replace(offset, data.size(), data);
}

void Apply(const DiskChange& change, std::optional<std::string>* content) {
  const auto offset = static_cast<size_t>(change.offset);
  switch (change.kind) {
    case Kind::kCreate:
      *content = "";
      return;
    case Kind::kDelete:
      *content = std::nullopt;
      return;
    case Kind::kTruncate:
      if (*content) (*content)->resize(offset);
      return;
    case Kind::kWrite:
      if (*content) Put(offset, change.data, &**content);
      return;
    case Kind::kSync:
      return;
  }
}

// Applies a change, except the parts of a write that are on lost pages.
void ApplyBut(const std::set<size_t>& lost, const DiskChange& change, std::optional<std::string>* content) {
  if (change.kind != Kind::kWrite || lost.empty()) return Apply(change, content);
  if (!*content) return;
  auto offset = static_cast<size_t>(change.offset);
  for (size_t done = 0; done < change.data.size();) {
    const size_t size = std::min(kPageBytes - offset % kPageBytes, change.data.size() - done);
    if (!lost.contains(offset / kPageBytes)) Put(offset, change.data.substr(done, size), &**content);
    offset += size;
    done += size;
  }
}

// Applies the part of a write that is in one sector: completely with probability `kept`, otherwise partly, wrongly or
// not at all.
void ApplyInPart(size_t offset, std::string part, double kept, std::mt19937_64& random, std::string* content) {
  if (std::bernoulli_distribution(kept)(random)) return Put(offset, part, content);
  switch (random() % 4) {
    case 0:  // only the beginning was written
      part.resize(random() % part.size());
      return Put(offset, part, content);
    case 1:  // random bytes were written
      for (char& byte : part) byte = static_cast<char>(random());
      return Put(offset, part, content);
    case 2:  // the file has its new size, but not the data
      if (content->size() < offset + part.size()) content->resize(offset + part.size());
      return;
    default:
      return;
  }
}

void ApplyWriteInParts(const DiskChange& write, double kept, std::mt19937_64& random, std::string* content) {
  auto offset = static_cast<size_t>(write.offset);
  for (size_t done = 0; done < write.data.size();) {
    const size_t size = std::min(kSectorBytes - offset % kSectorBytes, write.data.size() - done);
    ApplyInPart(offset, write.data.substr(done, size), kept, random, content);
    offset += size;
    done += size;
  }
}

}  // namespace

PowerCut::PowerCut(const DiskImage& start, const std::vector<DiskChange>& history) : history_(history) {
  for (const auto& [name, content] : start) files_[name].durable = content;
}

void PowerCut::MoveTo(size_t step) {
  for (; step_ < step; ++step_) {
    const DiskChange& change = history_[step_];
    File& file = files_[change.file];
    file.unsynced.push_back(&change);
    if (change.kind == Kind::kSync) MakeDurable(file.unsynced.size(), change.lost, &file);
    if (change.folder) SyncFolder();
  }
}

void PowerCut::MakeDurable(size_t changes, const std::set<size_t>& lost, File* file) {
  for (size_t i = 0; i < changes; ++i) ApplyBut(lost, *file->unsynced[i], &file->durable);
  file->unsynced.erase(file->unsynced.begin(), file->unsynced.begin() + static_cast<std::ptrdiff_t>(changes));
}

// Makes the last creation or deletion of each file durable with all earlier changes of the file, but no later changes.
void PowerCut::SyncFolder() {
  for (auto& [name, file] : files_) {
    size_t through = file.unsynced.size();
    while (through > 0 && file.unsynced[through - 1]->kind != Kind::kCreate &&
           file.unsynced[through - 1]->kind != Kind::kDelete) {
      --through;
    }
    MakeDurable(through, {}, &file);
  }
}

DiskImage PowerCut::Cut(std::mt19937_64& random) const {
  DiskImage image;
  for (const auto& [name, file] : files_) {
    // The possible shares of unsynced changes that reach the disk. With 0, no such change reaches the disk. With 1, all
    // changes reach the disk, as when only the process dies.
    static constexpr double kKept[] = {0, 0.1, 0.5, 0.9, 0.99, 1};
    const double kept = kKept[random() % std::size(kKept)];
    std::optional<std::string> content = file.durable;
    if (kept == 0) {
      if (content) image[name] = *content;
      continue;
    }
    for (const DiskChange* change : file.unsynced) {
      if (change->kind == Kind::kWrite) {
        if (content) ApplyWriteInParts(*change, kept, random, &*content);
      } else if (std::bernoulli_distribution(kept)(random)) {
        Apply(*change, &content);
      }
    }
    if (content) image[name] = *content;
  }
  return image;
}

}  // namespace stampgate
