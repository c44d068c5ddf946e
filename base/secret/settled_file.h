// Decides when a file that other programs change may be read: not while they write it.
#ifndef STAMPGATE_BASE_SECRET_SETTLED_FILE_H_
#define STAMPGATE_BASE_SECRET_SETTLED_FILE_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace stampgate {

// Identifies a file and its last change. Every write to a file changes one of these values.
struct FileState {
  std::string target;  // the path of the file after all symbolic links are resolved
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;  // bytes
  std::chrono::nanoseconds modified = {};
  std::chrono::nanoseconds changed = {};

  friend bool operator==(const FileState&, const FileState&) = default;
};

// Returns the state of the file at `path`, or nullopt if there is no such file.
std::optional<FileState> FileStateOf(const std::string& path);

// While a program writes a file in place, the file is half-written. Half a config can allow more than the whole config,
// and half a list of organizations allows too little. So a changed file may be read only when it is whole:
//
// - Checks that are at least kStill apart have found the same state. This also holds for a new file under the old name,
//   because some editors create the new file first and write it later.
// - Or a symbolic link in the path now leads to another file. Then the other file may be read immediately. Kubernetes,
//   for example, updates a volume in this way: it changes the link only after it has written the other file.
//
// A program that stops in the middle leaves a file that is still and shorter. So a file that has lost more than a tenth
// of its bytes may be read only if it replaced the old one by a rename or a changed link, if somebody asks for it (with
// SIGHUP), or after kShrunk.
//
// The class cannot recognize a half-written file that is still for two seconds and has lost at most a tenth, such as
// one whose writer overwrites the old bytes and then stops. Nor can it recognize a file that was renamed or linked, and
// that another program has half-written in place before the next Look. So a rename or a changed link is safe, but only
// if nobody writes the file in place.
//
// Times are those of a clock that never steps; the times in FileState are only compared for equality. Not thread-safe.
class SettledFile {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using StateOf = std::function<std::optional<FileState>(const std::string& path)>;

  static constexpr std::chrono::seconds kStill{2};
  static constexpr std::chrono::seconds kShrunk{30};

  // How the file is treated before it was taken for the first time. At the start of a program there is no earlier
  // content, so the file is used as it is found. A file that is named later must be still first.
  enum class First { kAsFound, kWhenStill };

  SettledFile(std::string path, First first, StateOf state_of = FileStateOf);

  struct Verdict {
    bool is_whole = false;  // whether the file may be read now; a missing file is whole when it stays missing
    bool is_new = false;    // whether it must be read now, because it is whole and Take was not called for this state
    std::chrono::nanoseconds wait = {};  // if it is not whole: the time until it may be read unless it changes again
    bool shrank = false;                 // whether it waits only because it has lost more than a tenth of its bytes
  };

  // Examines the file. `asked` is whether somebody has just asked for the file in its current state.
  Verdict Look(Time now, bool asked);

  // Forgets the file's states, as if Look was never called. For a start that must read all its files again.
  void BeginAgain() { *this = SettledFile(path_, first_, state_of_); }

  // Records that the file was read in the state that Look has found. Requires that Look has found it whole. Returns
  // false, and records nothing, if the file has changed since Look: then the bytes can be half-written.
  bool Take();

  // Returns whether the file is unchanged since the last Look.
  bool IsAsSeen() const { return state_of_(path_) == seen_; }

  const std::string& path() const { return path_; }
  // The sizes of the file in bytes: when it was last taken, and at the last Look; 0 if it did not exist.
  off_t former_size() const { return former_ ? former_->size : 0; }
  off_t size() const { return seen_ ? seen_->size : 0; }

 private:
  bool HasShrunk() const;

  std::string path_;
  First first_;
  StateOf state_of_;
  bool looked_ = false;
  std::optional<FileState> seen_;  // the state at the last Look
  Time since_;                     // when Look first found the state `seen_`
  bool is_still_ = false;          // whether this was kStill before the last Look
  bool asked_ = false;             // whether somebody has asked for the state `seen_`
  bool is_replaced_ = false;  // whether the state `seen_` is that of a file that has replaced another one, and that
                              // nobody has written since then
  std::optional<std::optional<FileState>> taken_;  // the last state that was taken
  bool was_still_ = false;                         // whether that state was still when it was taken
  std::optional<FileState> former_;                // the last state of an existing file that was taken
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_SETTLED_FILE_H_
