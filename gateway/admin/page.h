// A page of the admin port: an HTTP status and a body.
#ifndef STAMPGATE_GATEWAY_ADMIN_PAGE_H_
#define STAMPGATE_GATEWAY_ADMIN_PAGE_H_

#include <string>

namespace stampgate {

struct AdminAnswer {
  int http_status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_PAGE_H_
