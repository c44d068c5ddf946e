// Answers the requests of server reflection from a pool of descriptors.
#ifndef STAMPGATE_GATEWAY_REFLECTION_ANSWERS_H_
#define STAMPGATE_GATEWAY_REFLECTION_ANSWERS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "grpc/reflection/v1/reflection.pb.h"

namespace stampgate {

// Thread-safe.
class ReflectionAnswers {
 public:
  // `services` are the full names of the services that the gateway lists. `pool` must outlive the result. Error:
  // kFailedPrecondition if `pool` cannot describe each of them.
  static absl::StatusOr<std::unique_ptr<const ReflectionAnswers>> Create(const google::protobuf::DescriptorPool& pool,
                                                                         std::vector<std::string> services);

  // Returns the answer to `request`. An answer with a file begins with this file, and also contains all files on which
  // it depends, so that the answer alone describes the file. If the pool lacks the element in question, the answer is
  // the error NOT_FOUND; if `request` contains no question, the answer is the error INVALID_ARGUMENT.
  grpc::reflection::v1::ServerReflectionResponse Answer(
      const grpc::reflection::v1::ServerReflectionRequest& request) const;

 private:
  ReflectionAnswers(const google::protobuf::DescriptorPool& pool, std::vector<std::string> services)
      : pool_(pool), services_(std::move(services)) {}

  const google::protobuf::DescriptorPool& pool_;
  const std::vector<std::string> services_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_REFLECTION_ANSWERS_H_
