// The full names of the event service's methods.
#ifndef STAMPGATE_GATEWAY_EVENTS_METHOD_H_
#define STAMPGATE_GATEWAY_EVENTS_METHOD_H_

namespace stampgate {

inline constexpr char kSubscribe[] = "/stampgate.v1.EventService/Subscribe";
inline constexpr char kListEvents[] = "/stampgate.v1.EventService/ListEvents";
inline constexpr char kGetEvent[] = "/stampgate.v1.EventService/GetEvent";
inline constexpr char kReadEventBody[] = "/stampgate.v1.EventService/ReadEventBody";

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_METHOD_H_
