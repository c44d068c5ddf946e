#include "gateway/loading.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "stamp/key_file.h"
#include "stamp/key_memory.h"
#include "stamp/make_signer.h"
#include "stamp/sha256.h"

namespace stampgate {
namespace {

// Equal messages give equal bytes.
std::string SerializeDeterministically(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&output);
  output.Trim();
  return bytes;
}

// Of everything that Access holds. Not secret: it stands in logs and in the audit.
std::string VersionOf(const config::v1::Config& config, absl::string_view public_keys) {
  config::v1::Config access;
  *access.mutable_keys() = config.keys();
  *access.mutable_callers() = config.callers();
  *access.mutable_token_issuers() = config.token_issuers();
  const auto digest = Sha256(absl::StrCat(SerializeDeterministically(access), public_keys));
  constexpr size_t kBytes = 8;
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), kBytes));
}

}  // namespace

absl::StatusOr<Loaded> Load(const std::string& path) {
  if (absl::Status status = InitializeKeyMemory(); !status.ok()) return status;
  auto access = std::make_shared<Access>();
  std::string public_keys;
  absl::StatusOr<Config> config = LoadConfig(path, [&](const config::v1::Key& key) -> absl::StatusOr<std::string> {
    absl::StatusOr<PrivateKey> secret = ReadKeyFile(key.file());
    if (!secret.ok()) return secret.status();
    absl::StatusOr<std::shared_ptr<const Signer>> signer = MakeSigner(*std::move(secret));
    if (!signer.ok()) return signer.status();
    access->keys.Add(key, *signer);
    absl::StrAppend(&public_keys, (*signer)->public_key_hex(), "\n");
    return std::string((*signer)->public_key_hex());
  });
  if (!config.ok()) return config.status();
  access->callers = CallerDirectory(**config);
  access->version = VersionOf(**config, public_keys);
  return Loaded{*std::move(config), std::move(access)};
}

}  // namespace stampgate
