// Starts the threads of the process.
#ifndef STAMPGATE_WEBHOOKS_THREADS_START_THREAD_H_
#define STAMPGATE_WEBHOOKS_THREADS_START_THREAD_H_

#include <functional>
#include <string>
#include <thread>

namespace stampgate {

// Runs `body` on a thread of its own, which takes no signals: those are for the main thread, and a broken pipe is an
// error code here. Of `name`, 15 bytes are what the system shows. Throws std::system_error if no thread is to be had.
std::thread StartThread(const std::string& name, std::function<void()> body);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_THREADS_START_THREAD_H_
