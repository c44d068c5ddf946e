#include "base/disk/test_disk.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <utility>

#include "absl/base/internal/raw_logging.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr int kShmLocks = 8;

int64_t RoundUp(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }

std::string NewVfsName() {
  static std::atomic<int> made = 0;
  return absl::StrCat("test-disk-", ++made);
}

}  // namespace

// A file. It exists as long as it has a name or is open.
struct TestDisk::Node {
  std::string content;  // the content in the cache

  // The pages whose content in the cache differs from the disk. Each number maps to the page's content on the disk,
  // which is empty past the end of the file on the disk. The next sync writes dirty pages. No sync writes lost pages,
  // unless a process writes to these pages again.
  std::map<size_t, std::string> dirty;
  std::map<size_t, std::string> lost;
  bool write_back_failed = false;  // a write-back failed, and no sync has returned its error yet

  std::string Page(size_t page) const {
    const size_t from = page * kPageBytes;
    return from < content.size() ? content.substr(from, kPageBytes) : "";
  }

  void Resize(size_t size) {
    content.resize(size);
    const size_t pages = (size + kPageBytes - 1) / kPageBytes;
    for (std::map<size_t, std::string>* set : {&dirty, &lost}) set->erase(set->lower_bound(pages), set->end());
  }

  // Drops lost pages from the cache, so that reads return the disk's content again.
  void Drop() {
    for (auto& [page, on_disk] : lost) {
      const size_t from = page * kPageBytes;
      on_disk.resize(std::min(kPageBytes, content.size() - from));
      content.replace(from, on_disk.size(), on_disk);
    }
    lost.clear();
  }

  // SQLite's locks on the file: the number of shared locks, and for each other kind the open file that holds the lock.
  int shared = 0;
  const File* reserved = nullptr;
  const File* pending = nullptr;
  const File* exclusive = nullptr;

  // The shared memory of the write-ahead log's index. The shared memory is deleted when its last user closes it.
  int shm_users = 0;
  std::vector<std::unique_ptr<char[]>> regions;
  int shm_shared[kShmLocks] = {};
  const File* shm_exclusive[kShmLocks] = {};
};

// An open file, in memory that SQLite owns.
struct TestDisk::File : sqlite3_file {
  TestDisk* disk;
  std::shared_ptr<Node> node;
  std::string name;
  bool syncs_folder = false;  // whether the next sync also syncs the folder
  int64_t growth = 1;         // each requested size is rounded up to a multiple of this
  int lock = SQLITE_LOCK_NONE;
  bool uses_shm = false;
  bool shm_shared[kShmLocks] = {};
};

// The functions of the VFS, which SQLite calls.
struct TestDisk::Methods {
  static File& Of(sqlite3_file* file) { return *static_cast<File*>(file); }
  static TestDisk& Of(sqlite3_vfs* vfs) { return *static_cast<TestDisk*>(vfs->pAppData); }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* memory, int flags, int* out_flags);
  static int Delete(sqlite3_vfs* vfs, const char* name, int sync_folder);
  static int Access(sqlite3_vfs* vfs, const char* name, int flags, int* result);
  static int FullPathname(sqlite3_vfs* vfs, const char* name, int size, char* out);

  static int Close(sqlite3_file* file);
  static int Read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset);
  static int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset);
  static int Sleep(sqlite3_vfs* vfs, int us);
  static int Truncate(sqlite3_file* file, sqlite3_int64 size);
  static int Sync(sqlite3_file* file, int flags);
  static int FileSize(sqlite3_file* file, sqlite3_int64* size);
  static int FileControl(sqlite3_file* file, int what, void* argument);
  static int Lock(sqlite3_file* file, int level);
  static int Unlock(sqlite3_file* file, int level);
  static int CheckReservedLock(sqlite3_file* file, int* result);
  static int ShmMap(sqlite3_file* file, int region, int size, int extend, void volatile** memory);
  static int ShmLock(sqlite3_file* file, int offset, int count, int flags);
  static void ShmBarrier(sqlite3_file* file);
  static int ShmUnmap(sqlite3_file* file, int remove);

  static void LowerLock(File& file, int level);
  static void DropShmLock(File& file, int slot);
};

TestDisk::TestDisk(const DiskImage& image) : vfs_name_(NewVfsName()), vfs_(std::make_unique<sqlite3_vfs>()) {
  for (const auto& [name, content] : image) {
    files_[name] = std::make_shared<Node>();
    files_[name]->content = content;
  }
  *vfs_ = *sqlite3_vfs_find(nullptr);  // randomness and time come from the system's VFS
  vfs_->iVersion = 2;
  vfs_->szOsFile = sizeof(File);
  vfs_->pNext = nullptr;
  vfs_->zName = vfs_name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = Methods::Open;
  vfs_->xDelete = Methods::Delete;
  vfs_->xAccess = Methods::Access;
  vfs_->xFullPathname = Methods::FullPathname;
  vfs_->xSleep = Methods::Sleep;
  ABSL_RAW_CHECK(sqlite3_vfs_register(vfs_.get(), 0) == SQLITE_OK, "SQLite cannot register the VFS of the test disk");
}

TestDisk::~TestDisk() { sqlite3_vfs_unregister(vfs_.get()); }

DiskImage TestDisk::image() const {
  MutexLock lock(mutex_);
  DiskImage image;
  for (const auto& [name, node] : files_) image[name] = node->content;
  return image;
}

size_t TestDisk::steps() const {
  MutexLock lock(mutex_);
  return history_.size();
}

void TestDisk::FillAtWrite(int n, bool everywhere) {
  MutexLock lock(mutex_);
  writes_until_full_ = n;
  full_everywhere_ = everywhere;
}

void TestDisk::MakeRoom() {
  MutexLock lock(mutex_);
  writes_until_full_ = 0;
  full_ = false;
}

void TestDisk::FailWrite(int n) {
  MutexLock lock(mutex_);
  writes_until_failure_ = n;
}

void TestDisk::FailSync(int n, uint64_t seed) {
  MutexLock lock(mutex_);
  syncs_until_failure_ = n;
  sync_failure_seed_ = seed;
}

void TestDisk::FailWriteBack(int n, uint64_t seed) {
  MutexLock lock(mutex_);
  writes_until_write_back_ = n;
  write_back_seed_ = seed;
}

void TestDisk::StopAfter(int operations) {
  MutexLock lock(mutex_);
  operations_left_ = operations;
}

void TestDisk::Restart() {
  MutexLock lock(mutex_);
  operations_left_ = -1;
  writes_until_failure_ = 0;
  syncs_until_failure_ = 0;
  writes_until_write_back_ = 0;
}

bool TestDisk::stopped() const {
  MutexLock lock(mutex_);
  return operations_left_ == 0;
}

int64_t TestDisk::waited_us() const {
  MutexLock lock(mutex_);
  return waited_us_;
}

int TestDisk::failures() const {
  MutexLock lock(mutex_);
  return failures_;
}

// Counts an operation. Returns whether the simulated kill has already happened.
bool TestDisk::Stopped() {
  if (operations_left_ == 0) return true;
  if (operations_left_ > 0) --operations_left_;
  return false;
}

absl::Status TestDisk::Settle(const std::string& path) {
  ABSL_RETURN_IF_ERROR(SyncOnly(path));
  MutexLock lock(mutex_);
  if (const auto file = files_.find(path); file != files_.end()) file->second->Drop();
  return absl::OkStatus();
}

absl::Status TestDisk::SyncOnly(const std::string& path) {
  MutexLock lock(mutex_);
  const auto file = files_.find(path);
  if (file == files_.end()) return absl::OkStatus();
  if (Sync(path, *file->second, /*folder=*/false) == SQLITE_OK) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, " cannot be written to disk"));
}

// Simulates a failed write-back of the dirty pages. `seed` selects which of these pages become lost. Afterwards, no
// page is dirty.
void TestDisk::WriteBack(const std::string& name, Node& node, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t kind = seed % 4;  // 0: all pages are written, 1: none, otherwise some
  DiskChange change{DiskChange::Kind::kSync, name, 0, ""};
  for (auto& [page, on_disk] : node.dirty) {
    if (kind == 0 || (kind != 1 && random() % 2 == 0)) continue;
    change.lost.insert(page);
    node.lost[page] = std::move(on_disk);
  }
  node.dirty.clear();
  history_.push_back(std::move(change));
}

int TestDisk::Write(File& file, const char* data, int size, int64_t offset) {
  bool first = false;
  if (writes_until_full_ > 0 && --writes_until_full_ == 0) first = full_ = true;
  std::string& content = file.node->content;
  const size_t end = static_cast<size_t>(offset) + static_cast<size_t>(size);
  const bool fits = !full_ || (!full_everywhere_ && end <= content.size());
  if (!fits) {
    ++failures_;
    if (!first) return SQLITE_FULL;
    size /= 2;
  }
  if (size == 0) return fits ? SQLITE_OK : SQLITE_FULL;
  const size_t written_to = static_cast<size_t>(offset) + static_cast<size_t>(size);
  // If the file grows, its old last page and all new pages become dirty too.
  for (size_t page = std::min(content.size(), static_cast<size_t>(offset)) / kPageBytes;
       page <= (written_to - 1) / kPageBytes; ++page) {
    MarkDirty(file.name, *file.node, page);
  }
  history_.push_back({DiskChange::Kind::kWrite, file.name, offset, std::string(data, static_cast<size_t>(size))});
  if (content.size() < written_to) content.resize(written_to);
  std::memcpy(content.data() + offset, data, static_cast<size_t>(size));
  if (writes_until_write_back_ > 0 && --writes_until_write_back_ == 0) {
    ++failures_;
    WriteBack(file.name, *file.node, write_back_seed_);
    file.node->write_back_failed = true;
  }
  return fits ? SQLITE_OK : SQLITE_FULL;
}

// Marks a page as dirty. If the page was lost, adds the lost parts to the history as writes, which the next sync makes
// durable.
void TestDisk::MarkDirty(const std::string& name, Node& node, size_t page) {
  if (node.dirty.contains(page)) return;
  const std::string cached = node.Page(page);
  const auto lost = node.lost.find(page);
  if (lost == node.lost.end()) {
    node.dirty[page] = cached;
    return;
  }
  // Adds only the bytes that differ: a power cut must not remove bytes that the disk already has.
  const std::string& on_disk = lost->second;
  for (size_t from = 0; from < cached.size();) {
    const auto differs = [&](size_t at) { return at >= on_disk.size() || on_disk[at] != cached[at]; };
    size_t end = from;
    while (end < cached.size() && differs(end)) ++end;
    if (end > from) {
      history_.push_back({DiskChange::Kind::kWrite, name, static_cast<int64_t>(page * kPageBytes + from),
                          cached.substr(from, end - from)});
    }
    from = end + 1;
  }
  node.dirty.insert(node.lost.extract(lost));
}

int TestDisk::Sync(const std::string& name, Node& node, bool folder) {
  if (Stopped()) return SQLITE_IOERR_FSYNC;
  if (syncs_until_failure_ > 0 && --syncs_until_failure_ == 0) {
    ++failures_;
    WriteBack(name, node, sync_failure_seed_);
    return SQLITE_IOERR_FSYNC;
  }
  // As on Linux, a sync after a failed write-back writes the dirty pages, but returns the earlier error.
  node.dirty.clear();
  history_.push_back({DiskChange::Kind::kSync, name, 0, "", folder});
  return std::exchange(node.write_back_failed, false) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

int TestDisk::Methods::Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* memory, int flags, int* out_flags) {
  static constexpr sqlite3_io_methods kMethods = {
      .iVersion = 2,
      .xClose = Close,
      .xRead = Read,
      .xWrite = Write,
      .xTruncate = Truncate,
      .xSync = Sync,
      .xFileSize = FileSize,
      .xLock = Lock,
      .xUnlock = Unlock,
      .xCheckReservedLock = CheckReservedLock,
      .xFileControl = FileControl,
      .xSectorSize = [](sqlite3_file*) { return 4096; },
      .xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; },
      .xShmMap = ShmMap,
      .xShmLock = ShmLock,
      .xShmBarrier = ShmBarrier,
      .xShmUnmap = ShmUnmap,
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };
  memory->pMethods = nullptr;
  if (name == nullptr) return SQLITE_CANTOPEN;  // a temporary file, which the stores do not use
  TestDisk& disk = Of(vfs);
  MutexLock lock(disk.mutex_);
  std::shared_ptr<Node>& node = disk.files_[name];
  if (node == nullptr) {
    if ((flags & SQLITE_OPEN_CREATE) == 0 || disk.Stopped()) {
      disk.files_.erase(name);
      return SQLITE_CANTOPEN;
    }
    node = std::make_shared<Node>();
    // ExclusiveFile creates the real database file and syncs its folder.
    disk.history_.push_back({DiskChange::Kind::kCreate, name, 0, "", (flags & SQLITE_OPEN_MAIN_DB) != 0});
  }
  File* file = new (memory) File;
  file->disk = &disk;
  file->node = node;
  file->name = name;
  // On Linux, SQLite also syncs the folder at the first sync of a journal or write-ahead log.
  file->syncs_folder = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
  file->pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int TestDisk::Methods::Delete(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  TestDisk& disk = Of(vfs);
  MutexLock lock(disk.mutex_);
  if (disk.Stopped()) return SQLITE_IOERR_DELETE;
  if (disk.files_.erase(name) == 0) return SQLITE_IOERR_DELETE_NOENT;
  disk.history_.push_back({DiskChange::Kind::kDelete, name, 0, "", sync_folder != 0});
  return SQLITE_OK;
}

int TestDisk::Methods::Access(sqlite3_vfs* vfs, const char* name, int flags, int* result) {
  TestDisk& disk = Of(vfs);
  MutexLock lock(disk.mutex_);
  const auto file = disk.files_.find(name);
  // As in SQLite's own VFS, SQLITE_ACCESS_EXISTS treats an empty file as missing.
  *result = file != disk.files_.end() && (flags != SQLITE_ACCESS_EXISTS || !file->second->content.empty());
  return SQLITE_OK;
}

int TestDisk::Methods::FullPathname(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

int TestDisk::Methods::Sleep(sqlite3_vfs* vfs, int us) {
  TestDisk& disk = Of(vfs);
  {
    MutexLock lock(disk.mutex_);
    disk.waited_us_ += us;
  }
  // Really waits, because SQLite gives up after a number of tries, and the thread that holds the lock needs time to
  // release it.
  std::this_thread::sleep_for(std::chrono::microseconds(us));
  return us;
}

int TestDisk::Methods::Close(sqlite3_file* file) {
  Mutex& mutex = Of(file).disk->mutex_;
  MutexLock lock(mutex);
  LowerLock(Of(file), SQLITE_LOCK_NONE);
  Of(file).~File();
  return SQLITE_OK;
}

int TestDisk::Methods::Read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  MutexLock lock(Of(file).disk->mutex_);
  const std::string& content = Of(file).node->content;
  const auto wanted = static_cast<size_t>(size);
  const auto from = std::min(static_cast<size_t>(offset), content.size());
  const size_t there = std::min(wanted, content.size() - from);
  std::memcpy(out, content.data() + from, there);
  if (there == wanted) return SQLITE_OK;
  std::memset(static_cast<char*>(out) + there, 0, wanted - there);
  return SQLITE_IOERR_SHORT_READ;
}

int TestDisk::Methods::Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  TestDisk& disk = *Of(file).disk;
  MutexLock lock(disk.mutex_);
  if (disk.Stopped()) return SQLITE_IOERR_WRITE;
  if (disk.writes_until_failure_ > 0 && --disk.writes_until_failure_ == 0) {
    ++disk.failures_;
    return SQLITE_IOERR_WRITE;
  }
  return disk.Write(Of(file), static_cast<const char*>(data), size, offset);
}

int TestDisk::Methods::Truncate(sqlite3_file* file, sqlite3_int64 size) {
  MutexLock lock(Of(file).disk->mutex_);
  if (Of(file).disk->Stopped()) return SQLITE_IOERR_TRUNCATE;
  size = RoundUp(size, Of(file).growth);
  Of(file).disk->history_.push_back({DiskChange::Kind::kTruncate, Of(file).name, size, ""});
  Of(file).node->Resize(static_cast<size_t>(size));
  return SQLITE_OK;
}

int TestDisk::Methods::Sync(sqlite3_file* file, int flags) {
  File& self = Of(file);
  MutexLock lock(self.disk->mutex_);
  const int code = self.disk->Sync(self.name, *self.node, self.syncs_folder);
  if (code == SQLITE_OK) self.syncs_folder = false;
  return code;
}

int TestDisk::Methods::FileSize(sqlite3_file* file, sqlite3_int64* size) {
  MutexLock lock(Of(file).disk->mutex_);
  *size = static_cast<sqlite3_int64>(Of(file).node->content.size());
  return SQLITE_OK;
}

int TestDisk::Methods::FileControl(sqlite3_file* file, int what, void* argument) {
  File& self = Of(file);
  MutexLock lock(self.disk->mutex_);
  if (what == SQLITE_FCNTL_CHUNK_SIZE) {
    self.growth = *static_cast<int*>(argument);
    return SQLITE_OK;
  }
  if (what != SQLITE_FCNTL_SIZE_HINT) return SQLITE_NOTFOUND;
  const int64_t size = RoundUp(*static_cast<int64_t*>(argument), self.growth);
  const auto there = static_cast<int64_t>(self.node->content.size());
  if (size <= there || self.growth == 1) return SQLITE_OK;
  if (self.disk->Stopped()) return SQLITE_IOERR_WRITE;
  // Reserves space by writing zeros. This fails on a full disk, but planned failures of writes do not affect it.
  const std::string zeros(static_cast<size_t>(size - there), '\0');
  return self.disk->Write(self, zeros.data(), static_cast<int>(zeros.size()), there);
}

int TestDisk::Methods::Lock(sqlite3_file* file, int level) {
  File& self = Of(file);
  MutexLock lock(self.disk->mutex_);
  if (self.lock >= level) return SQLITE_OK;
  Node& node = *self.node;
  const auto held_by_another = [&self](const File* holder) { return holder != nullptr && holder != &self; };
  if (level == SQLITE_LOCK_SHARED) {
    if (node.pending != nullptr || node.exclusive != nullptr) return SQLITE_BUSY;
    ++node.shared;
  } else if (level == SQLITE_LOCK_RESERVED) {
    if (held_by_another(node.reserved) || held_by_another(node.pending)) return SQLITE_BUSY;
    node.reserved = &self;
  } else {
    if (held_by_another(node.reserved) || held_by_another(node.pending) || held_by_another(node.exclusive)) {
      return SQLITE_BUSY;
    }
    node.pending = &self;
    self.lock = SQLITE_LOCK_PENDING;
    if (node.shared > 1) return SQLITE_BUSY;
    node.exclusive = &self;
  }
  self.lock = level;
  return SQLITE_OK;
}

int TestDisk::Methods::Unlock(sqlite3_file* file, int level) {
  MutexLock lock(Of(file).disk->mutex_);
  LowerLock(Of(file), level);
  return SQLITE_OK;
}

void TestDisk::Methods::LowerLock(File& file, int level) {
  if (file.lock <= level) return;
  Node& node = *file.node;
  for (const File** holder : {&node.reserved, &node.pending, &node.exclusive}) {
    if (*holder == &file) *holder = nullptr;
  }
  if (level == SQLITE_LOCK_NONE) --node.shared;
  file.lock = level;
}

int TestDisk::Methods::CheckReservedLock(sqlite3_file* file, int* result) {
  MutexLock lock(Of(file).disk->mutex_);
  *result = Of(file).node->reserved != nullptr;
  return SQLITE_OK;
}

int TestDisk::Methods::ShmMap(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  File& self = Of(file);
  MutexLock lock(self.disk->mutex_);
  if (!std::exchange(self.uses_shm, true)) ++self.node->shm_users;
  std::vector<std::unique_ptr<char[]>>& regions = self.node->regions;
  *memory = nullptr;
  while (extend != 0 && regions.size() <= static_cast<size_t>(region)) {
    regions.push_back(std::make_unique<char[]>(static_cast<size_t>(size)));
  }
  if (static_cast<size_t>(region) < regions.size()) *memory = regions[static_cast<size_t>(region)].get();
  return SQLITE_OK;
}

void TestDisk::Methods::DropShmLock(File& file, int slot) {
  if (file.shm_shared[slot]) --file.node->shm_shared[slot];
  file.shm_shared[slot] = false;
  if (file.node->shm_exclusive[slot] == &file) file.node->shm_exclusive[slot] = nullptr;
}

int TestDisk::Methods::ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  File& self = Of(file);
  MutexLock lock(self.disk->mutex_);
  Node& node = *self.node;
  const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  for (int slot = offset; slot < offset + count; ++slot) {
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      DropShmLock(self, slot);
      continue;
    }
    const bool shared_by_others = node.shm_shared[slot] > (self.shm_shared[slot] ? 1 : 0);
    const bool taken = node.shm_exclusive[slot] != nullptr && node.shm_exclusive[slot] != &self;
    if (taken || (exclusive && shared_by_others)) return SQLITE_BUSY;
  }
  if ((flags & SQLITE_SHM_LOCK) == 0) return SQLITE_OK;
  for (int slot = offset; slot < offset + count; ++slot) {
    if (exclusive) {
      node.shm_exclusive[slot] = &self;
    } else if (!self.shm_shared[slot]) {
      self.shm_shared[slot] = true;
      ++node.shm_shared[slot];
    }
  }
  return SQLITE_OK;
}

void TestDisk::Methods::ShmBarrier(sqlite3_file* file) { MutexLock lock(Of(file).disk->mutex_); }

int TestDisk::Methods::ShmUnmap(sqlite3_file* file, int remove) {
  File& self = Of(file);
  MutexLock lock(self.disk->mutex_);
  for (int slot = 0; slot < kShmLocks; ++slot) DropShmLock(self, slot);
  if (std::exchange(self.uses_shm, false) && --self.node->shm_users == 0) self.node->regions.clear();
  return SQLITE_OK;
}

}  // namespace stampgate
