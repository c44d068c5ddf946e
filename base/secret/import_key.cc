#include "base/secret/import_key.h"

#include <openssl/err.h>

#include <utility>

namespace stampgate {

EvpPkeyPtr ImportKey(const char* type, int selection, OSSL_PARAM_BLD& parts) {
  const OsslParamPtr params(OSSL_PARAM_BLD_to_param(&parts));
  const EvpPkeyCtxPtr context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  const bool made = params != nullptr && context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                    EVP_PKEY_fromdata(context.get(), &key, selection, params.get()) == 1;
  EvpPkeyPtr imported(key);
  ERR_clear_error();
  return made ? std::move(imported) : nullptr;
}

}  // namespace stampgate
