// Translates a caller's request message to the bytes that are stamped and sent.
#ifndef STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_
#define STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// A request rendered as JSON. Only the timestamp of a submit may still be missing, because the gateway may have to
// choose it. A complete body of a submit:
//
//   {"type":"ACTIVITY_TYPE_OAUTH","timestampMs":"1755500000000","organizationId":"...","parameters":{...}}
struct RenderedRequest {
  std::string path;                      // the path after the base URL
  std::optional<uint64_t> timestamp_ms;  // the timestamp of a submit, if the caller chose one
  std::string idempotency_key;           // the key of a submit; empty if the caller set none
  std::string type_member;               // for a typed submit `"type":"...",`; otherwise empty
  std::string members;                   // the members of the body except type and timestampMs; a body takes them
  // The stamp and the stamped body, if a client has stamped the request. The stamp is of exactly one kind; its form has
  // not been checked.
  std::optional<v1::ClientStamp> client_stamp = {};

  // Moves the members into the body of a submit with the timestamp `timestamp_ms`, and returns the body. If a client
  // has stamped the request, moves the stamped body out and ignores `timestamp_ms`. So a call holds only one body. Must
  // be called only once, or again after TakeBack.
  std::string SubmitBody(uint64_t timestamp_ms);
  // The same for a query, which has no timestamp.
  std::string QueryBody();
  // Takes the members back from `body`, which SubmitBody(timestamp_ms) has returned for a request without a
  // client_stamp.
  void TakeBack(std::string body, uint64_t timestamp_ms);

 private:
  std::string Prefix(uint64_t timestamp_ms) const;
};

// Returns the members of the body of `request`, a message of the operation's request type that passed all checks, under
// the names of the day `names_as_of`. Error: kInvalidArgument with ErrorInfo INVALID_REQUEST if the body would be
// larger than kMaxBodyBytes or than the memory of the request allows.
absl::StatusOr<std::string> MembersOf(const Operation& operation, const ParsedMessage& request,
                                      absl::string_view names_as_of, const RequestMemory& memory);

// Returns the path of upstream's operation that `request`, a message of the operation's request type, calls.
std::string PathOf(const Operation& operation, const ParsedMessage& request);

// A request that passed all checks. A CheckedRequest refers to an Operation, and to the bytes and the memory of a
// ParsedMessage. They must outlive the CheckedRequest.
class CheckedRequest {
 public:
  // Checks `request`, a message of the operation's request type that was parsed with `memory`. If `request` has a
  // client_stamp, checks the request that the stamped body contains like any other request, and parses it with
  // `memory`. The gateway will stamp a request without a client_stamp, so such a request is an error if only clients
  // may stamp the operation.
  //
  // Errors: kInvalidArgument with ErrorInfo INVALID_REQUEST and a BadRequest that lists the violations. An error
  // depends only on the request, and quotes no value of it.
  static absl::StatusOr<CheckedRequest> Check(const OperationTable& table, const Operation& operation,
                                              const ParsedMessage& request, RequestMemory& memory);

  // Like Check, for a request whose body is prepared for a client that will stamp it: allows operations that only
  // clients may stamp.
  static absl::StatusOr<CheckedRequest> CheckUnstamped(const OperationTable& table, const Operation& operation,
                                                       const ParsedMessage& request, RequestMemory& memory);

  // The request. If it has a client_stamp: the request that the stamped body contains.
  const ParsedMessage& request() const { return request_; }

  // The same value as RenderedRequest::client_stamp.
  const std::optional<v1::ClientStamp>& client_stamp() const { return client_stamp_; }

  // The same request in the form of the operation's own method, if GeneralService carries the operation (FindCarried).
  // The rules of that method's fields apply to it.
  struct Carried {
    const Operation* operation;
    ParsedMessage request;
  };
  const std::optional<Carried>& carried() const { return carried_; }

  // Renders the request as JSON. Equal requests give equal bytes. Error: kInvalidArgument with ErrorInfo
  // INVALID_REQUEST if the body would be larger than kMaxBodyBytes or than the memory of the request allows. Then
  // nothing has been rendered.
  absl::StatusOr<RenderedRequest> Render() &&;

 private:
  CheckedRequest(const Operation& operation, const ParsedMessage& request, RequestMemory& memory)
      : operation_(&operation), memory_(&memory), request_(request) {}

  // `is_sent` is false if a client will stamp the request.
  static absl::StatusOr<CheckedRequest> Check(const OperationTable& table, const Operation& operation,
                                              const ParsedMessage& request, RequestMemory& memory, bool is_sent);

  void CheckStamp(const Operation& operation, bool is_sent, Violations& violations) const;
  void ReadCarried(const Operation& operation, Violations& violations);

  const Operation* operation_;
  RequestMemory* memory_;
  ParsedMessage request_;
  std::optional<v1::ClientStamp> client_stamp_;
  std::optional<Carried> carried_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_
