// What the system says that this process uses.
#ifndef STAMPGATE_GATEWAY_PROCESS_USAGE_H_
#define STAMPGATE_GATEWAY_PROCESS_USAGE_H_

namespace stampgate {

struct ProcessUsage {
  double resident_bytes = 0;  // memory that is in RAM
  double open_descriptors = 0;
  double max_descriptors = 0;     // the limit
  double cpu_seconds = 0;         // user and system time of all threads, since the start
  double start_time_seconds = 0;  // in Unix time
};

// Works also when no descriptor is left. What cannot be found out is 0.
ProcessUsage ReadProcessUsage();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_USAGE_H_
