// Starts the threads of the process.
#ifndef STAMPGATE_WEBHOOKS_THREADS_START_THREAD_H_
#define STAMPGATE_WEBHOOKS_THREADS_START_THREAD_H_

#include <functional>
#include <string>
#include <thread>

namespace stampgate {

// Runs `body` on a new thread that blocks all signals: the main thread handles them, and a broken pipe is an error code
// here. The system shows the first 15 bytes of `name`. Throws std::system_error if the system cannot start a thread.
std::thread StartThread(const std::string& name, std::function<void()> body);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_THREADS_START_THREAD_H_
