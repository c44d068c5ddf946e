// Runs the handlers of an io_context.
#ifndef STAMPGATE_WEBHOOKS_THREADS_RUN_HANDLERS_H_
#define STAMPGATE_WEBHOOKS_THREADS_RUN_HANDLERS_H_

#include <exception>

namespace stampgate {

// Calls `body`, which runs the handlers of an io_context, until `body` returns without an exception. Our code throws no
// exceptions, but Asio can throw one if memory is short. In that case, only the handler that threw is lost, together
// with the objects that only this handler owned.
template <typename Body>
void RunHandlers(Body body) {
  while (true) {
    try {
      body();
      return;
    } catch (const std::exception&) {
    }
  }
}

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_THREADS_RUN_HANDLERS_H_
