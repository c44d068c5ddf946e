// Reads how much memory and CPU time, and how many file descriptors, this process uses.
#ifndef STAMPGATE_GATEWAY_PROCESS_USAGE_H_
#define STAMPGATE_GATEWAY_PROCESS_USAGE_H_

namespace stampgate {

struct ProcessUsage {
  double resident_bytes = 0;  // resident memory
  double open_descriptors = 0;
  double max_descriptors = 0;     // the limit of open file descriptors
  double cpu_seconds = 0;         // user and system time of all threads, since the start
  double start_time_seconds = 0;  // in Unix time
};

// Returns 0 for each value that cannot be read. If no file descriptor is free, `open_descriptors` is equal to
// `max_descriptors`.
ProcessUsage ReadProcessUsage();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_USAGE_H_
