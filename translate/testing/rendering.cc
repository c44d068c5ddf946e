#include "translate/testing/rendering.h"

#include <gtest/gtest.h>

#include <utility>

#include "translate/client_stamped_request.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate::testing {
namespace {

absl::StatusOr<RenderedRequest> Render(absl::StatusOr<CheckedRequest> checked) {
  if (!checked.ok()) return checked.status();
  return (*std::move(checked)).Render();
}

}  // namespace

absl::StatusOr<RenderedRequest> CheckAndRender(const Operation& operation, const google::protobuf::Message& request) {
  Parsed parsed(request, *operation.request);
  return Render(CheckedRequest::Check(Operations(), operation, *parsed, parsed.memory()));
}

absl::StatusOr<RenderedRequest> CheckAndRenderUnstamped(const Operation& operation,
                                                        const google::protobuf::Message& request) {
  Parsed parsed(request, *operation.request);
  return Render(CheckedRequest::CheckUnstamped(Operations(), operation, *parsed, parsed.memory()));
}

std::unique_ptr<google::protobuf::Message> StampedRequestIn(const Operation& operation,
                                                            const google::protobuf::Message& stamped) {
  Parsed parsed(stamped, *operation.request);
  Violations violations;
  const auto read = ReadClientStampedRequest(operation, *parsed, parsed.memory(), violations);
  std::unique_ptr<google::protobuf::Message> request = NewRequest(operation);
  EXPECT_TRUE(read.has_value() && request->ParseFromString(SerializeDeterministically(read->request)));
  return request;
}

}  // namespace stampgate::testing
