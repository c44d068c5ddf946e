// One header field of an HTTP request.
#ifndef STAMPGATE_BASE_HTTP_HEADER_FIELD_H_
#define STAMPGATE_BASE_HTTP_HEADER_FIELD_H_

#include <string>

namespace stampgate {

struct HeaderField {
  std::string name;   // as the sender has written it
  std::string value;  // without surrounding white space
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_HEADER_FIELD_H_
