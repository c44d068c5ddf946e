#include "gateway/upstream/ca_file.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace stampgate {

absl::Status CheckCaFile(const std::string& file) {
  if (access(file.c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  }
  if (std::error_code error; !std::filesystem::is_regular_file(file, error)) {
    return absl::InvalidArgumentError("is not a file");
  }
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(), &X509_STORE_free);
  const bool loaded = store != nullptr && X509_STORE_load_file(store.get(), file.c_str()) == 1;
  ERR_clear_error();
  return loaded ? absl::OkStatus() : absl::InvalidArgumentError("holds no certificate in PEM");
}

}  // namespace stampgate
