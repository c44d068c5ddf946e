// Decides when a file that other programs change may be read: not while they write it.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_

#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <string>

namespace stampgate {

// A file that a program writes in place is half-written for a while. Half a config may allow more than the whole
// config. So a changed file may be read once two checks, at least kStill apart, found the same place, size and times.
//
// There is one exception: a symbolic link in the path was changed and leads to another file, as when Kubernetes updates
// a volume. Such a link is changed only after the other file was written, so that file may be read immediately.
//
// A new file under the old name is not an exception, because some editors create the new file and then write it.
//
// Not thread-safe.
class SettledFile {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kStill{2};

  // The current state of the file may be read.
  explicit SettledFile(std::string path);

  // Returns how long the file must stay unchanged until it may be read; zero if it may be read now. Also returns zero
  // if the file does not exist, so that its reader reports that.
  std::chrono::nanoseconds Look(Time now);

  // Whether the file has not changed since Look. If it has changed, the bytes read since Look may be half-written.
  bool IsAsSeen() const;

  const std::string& path() const { return path_; }

 private:
  // Every write to a file changes one of these.
  struct State {
    std::string target;  // the file to which all links lead
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
  std::optional<State> seen_;     // at the last Look
  std::optional<State> settled_;  // the last state that could be read
  Time since_;                    // when Look first found seen_
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_
