#include "base/threads/start_thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "absl/cleanup/cleanup.h"

namespace stampgate {

std::thread StartThread(const std::string& name, std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits this mask
  const absl::Cleanup restore = [&before] { pthread_sigmask(SIG_SETMASK, &before, nullptr); };
  std::thread thread(std::move(body));
  pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  return thread;
}

}  // namespace stampgate
