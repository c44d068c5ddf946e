// Starts a named thread that blocks all signals.
#ifndef STAMPGATE_BASE_THREADS_START_THREAD_H_
#define STAMPGATE_BASE_THREADS_START_THREAD_H_

#include <functional>
#include <string>
#include <thread>

namespace stampgate {

// Runs `body` on a new thread that blocks all signals: the main thread handles signals, and a write to a broken pipe
// returns an error instead of raising SIGPIPE. System tools show the first 15 bytes of `name`. Throws std::system_error
// if the system cannot start a thread.
std::thread StartThread(const std::string& name, std::function<void()> body);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_THREADS_START_THREAD_H_
