// The logs of the libraries that the gateway uses.
#ifndef STAMPGATE_GATEWAY_PROCESS_LIBRARY_LOGS_H_
#define STAMPGATE_GATEWAY_PROCESS_LIBRARY_LOGS_H_

namespace stampgate {

// Turns off what gRPC and Protocol Buffers write to standard error: a client without a valid certificate could fill the
// log of gRPC, and Protocol Buffers writes pieces of input that it cannot parse. Must be called before the first use of
// either.
void SilenceLibraries();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_LIBRARY_LOGS_H_
