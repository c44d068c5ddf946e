// The rights of the API's methods as tests/vectors states them, independently of the protos.
#ifndef STAMPGATE_GATEWAY_POLICY_EXPECTED_RIGHTS_H_
#define STAMPGATE_GATEWAY_POLICY_EXPECTED_RIGHTS_H_

#include <map>
#include <string>

namespace stampgate {

struct ExpectedRights {
  std::string policy_class;          // such as "query"
  std::string since;                 // the day from which its class covers the method, unless it is internal, or empty
  bool internal = false;             // no class covers the method
  bool moves_unread_amount = false;  // a grant with amount_limits does not allow the method
  bool moves_to_unread_destination = false;  // a grant with destinations does not allow the method
};

// Returns the rights of every method, by its short name, except the methods of GeneralService. Fails the test if a file
// is not readable or names a method without a class.
const std::map<std::string, ExpectedRights>& AllExpectedRights();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_EXPECTED_RIGHTS_H_
