// When a file that others change may be read: not while they write it.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_

#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <string>

namespace stampgate {

// A file that is written in place is half-written for a while, and half a config may allow more than the whole one. So
// a changed file is read when two looks that are at least kStill apart found the same place, size and times. The
// exception is a path that leads to another file through a symbolic link, as when Kubernetes changes a volume: such a
// link is changed once the other file is written. That file may be read at once.
//
// A rename by itself is no sign: some editors make a new file under the old name and then write it.
//
// One thread at a time.
class SettledFile {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kStill{2};

  // The state that the file has now may be read.
  explicit SettledFile(std::string path);

  // How long the file must still stand still before it may be read: zero if it may be read now. Also zero if there is
  // none, so that the reader reports it.
  std::chrono::nanoseconds Look(Time now);

  // Whether the file is as Look found it. If not, what was read since then may be half-written.
  bool IsAsSeen() const;

  const std::string& path() const { return path_; }

 private:
  // Whatever writes a file changes one of these.
  struct State {
    std::string target;  // behind all links
    dev_t device;
    ino_t inode;
    off_t size;
    std::chrono::nanoseconds modified;
    std::chrono::nanoseconds changed;

    friend bool operator==(const State&, const State&) = default;
  };

  // Nothing if there is no such file.
  std::optional<State> Read() const;

  const std::string path_;
  std::optional<State> seen_;     // at the last look
  std::optional<State> settled_;  // the last that might be read
  Time since_;                    // when seen_ was seen first
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTLED_FILE_H_
