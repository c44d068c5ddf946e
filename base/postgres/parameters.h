// The parameters of a statement, in PostgreSQL's binary format.
#ifndef STAMPGATE_BASE_POSTGRES_PARAMETERS_H_
#define STAMPGATE_BASE_POSTGRES_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// Each function adds the next parameter and returns this object. The parameters own copies of their values.
class PostgresParameters {
 public:
  PostgresParameters& Bool(bool value);
  PostgresParameters& Bigint(std::optional<int64_t> value);
  PostgresParameters& Text(absl::string_view value);
  PostgresParameters& Bytes(absl::string_view value);
  PostgresParameters& Bigints(const std::vector<int64_t>& values);
  // An array of bytea. The values must stay valid until the call returns.
  PostgresParameters& ByteArrays(const std::vector<absl::string_view>& values);

  // The arguments of PQsendQueryParams. The pointers are valid until this object changes.
  struct Arguments {
    std::vector<unsigned> types;
    std::vector<const char*> values;  // null for NULL
    std::vector<int> lengths;
    std::vector<int> formats;
  };
  Arguments arguments() const;

 private:
  struct Parameter {
    unsigned type;
    std::optional<std::string> value;
  };

  PostgresParameters& Add(unsigned type, std::optional<std::string> value);

  std::vector<Parameter> parameters_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_PARAMETERS_H_
