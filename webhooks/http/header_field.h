// One header field of an HTTP request.
#ifndef STAMPGATE_WEBHOOKS_HTTP_HEADER_FIELD_H_
#define STAMPGATE_WEBHOOKS_HTTP_HEADER_FIELD_H_

#include <string>

namespace stampgate {

struct HeaderField {
  std::string name;   // in the sender's spelling
  std::string value;  // without white space around it
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_HEADER_FIELD_H_
