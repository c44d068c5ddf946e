// Answers the requests of server reflection from a set of operations.
#ifndef STAMPGATE_GATEWAY_REFLECTION_ANSWERS_H_
#define STAMPGATE_GATEWAY_REFLECTION_ANSWERS_H_

#include "grpc/reflection/v1/reflection.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Returns the answer to `request`. An answer with a file begins with this file, and also contains all files on which it
// depends, so that the answer alone describes the file. The files contain the comments of the protos. If the set lacks
// the element in question, the answer is the error NOT_FOUND; if `request` contains no question, the answer is the
// error INVALID_ARGUMENT.
grpc::reflection::v1::ServerReflectionResponse AnswerReflection(
    const OperationSet& operations, const grpc::reflection::v1::ServerReflectionRequest& request);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_REFLECTION_ANSWERS_H_
