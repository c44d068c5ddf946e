// How old the connections of the gRPC port become.
#ifndef STAMPGATE_GATEWAY_SERVER_CONNECTION_AGES_H_
#define STAMPGATE_GATEWAY_SERVER_CONNECTION_AGES_H_

#include "absl/time/time.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// The ages of connections over TLS are limited, because the gateway checks a caller's certificate only when the caller
// connects. A connection ends in three steps. First, gRPC sends GOAWAY: from then on, no call can begin on the
// connection, and the client opens another one. The calls in flight continue. Then the gateway ends the streams that
// are still open. At last, gRPC closes the connection. A call that is still in flight would then end without the
// outcome of its submit or the cursor of its subscription. So each call ends earlier: a stream as stated above, and
// every other call by its deadline.
struct ConnectionAges {
  // gRPC sends GOAWAY at this age, lengthened or shortened by up to kJitter, at random for each connection.
  absl::Duration goaway = absl::InfiniteDuration();
  // Streams end at this age of the connection, which is after every possible GOAWAY, because an earlier end would let
  // the client open the stream again on the same connection.
  absl::Duration end_of_streams = absl::InfiniteDuration();
  // gRPC closes the connection this time after GOAWAY. This is longer than the longest call.
  absl::Duration grace = absl::InfiniteDuration();

  static constexpr double kJitter = 0.1;  // gRPC's own
};

// Returns the ages by the config; infinite ones without TLS.
ConnectionAges ConnectionAgesOf(const config::v1::Config& config);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_CONNECTION_AGES_H_
