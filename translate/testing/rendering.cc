#include "translate/testing/rendering.h"

#include <utility>

#include "translate/testing/operations.h"

namespace stampgate::testing {
namespace {

absl::StatusOr<RenderedRequest> Render(absl::StatusOr<CheckedRequest> checked) {
  if (!checked.ok()) return checked.status();
  return (*std::move(checked)).Render();
}

}  // namespace

absl::StatusOr<RenderedRequest> CheckAndRender(const Operation& operation, google::protobuf::Message& request) {
  return Render(CheckedRequest::Check(Operations(), operation, request));
}

absl::StatusOr<RenderedRequest> CheckAndRenderUnstamped(const Operation& operation,
                                                        google::protobuf::Message& request) {
  return Render(CheckedRequest::CheckUnstamped(Operations(), operation, request));
}

}  // namespace stampgate::testing
