// Decides when a file that other programs change may be read: not while they write it.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_

#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <string>

namespace stampgate {

// While a program writes a file in place, the file is half-written. Half a config can allow more than the whole config.
// So a changed file may be read only after two checks, at least kStill apart, have found the same inode, size and
// times.
//
// There is one exception: if a symbolic link in the path now leads to another file, the other file may be read
// immediately. Kubernetes, for example, updates a volume in this way: it changes the link only after it has written the
// other file.
//
// A new file under the old name is not an exception, because some editors create the new file first and write it later.
//
// Not thread-safe.
class SettledFile {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kStill{2};

  // Assumes that the file may be read in its current state.
  explicit SettledFile(std::string path);

  // Returns how long the file must still stay unchanged until it may be read, or zero if the file may be read now. Also
  // returns zero if the file does not exist, so that the reader of the file reports the missing file.
  std::chrono::nanoseconds Look(Time now);

  // Returns whether the file is unchanged since the last Look. If the file has changed, bytes that were read since the
  // last Look can be half-written.
  bool IsAsSeen() const;

  const std::string& path() const { return path_; }

 private:
  // Every write to a file changes one of these values.
  struct State {
    std::string target;  // the path of the file after all symbolic links are resolved
    dev_t device;
    ino_t inode;
    off_t size;
    std::chrono::nanoseconds modified;
    std::chrono::nanoseconds changed;

    friend bool operator==(const State&, const State&) = default;
  };

  // Returns nullopt if the file does not exist.
  std::optional<State> Read() const;

  const std::string path_;
  std::optional<State> seen_;     // the state at the last Look
  std::optional<State> settled_;  // the last state in which the file could be read
  Time since_;                    // when Look first found the state `seen_`
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_
