// Owning pointers for OpenSSL's objects.
#ifndef STAMPGATE_BASE_SECRET_OPENSSL_PTR_H_
#define STAMPGATE_BASE_SECRET_OPENSSL_PTR_H_

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>

#include <memory>

namespace stampgate {

template <auto kFree>
struct OpensslDeleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

// Wipes the number before it frees the memory.
using BignumPtr = std::unique_ptr<BIGNUM, OpensslDeleter<BN_clear_free>>;
using BnCtxPtr = std::unique_ptr<BN_CTX, OpensslDeleter<BN_CTX_free>>;
using EcGroupPtr = std::unique_ptr<EC_GROUP, OpensslDeleter<EC_GROUP_free>>;
using EcPointPtr = std::unique_ptr<EC_POINT, OpensslDeleter<EC_POINT_free>>;
using EvpMdCtxPtr = std::unique_ptr<EVP_MD_CTX, OpensslDeleter<EVP_MD_CTX_free>>;
using EvpPkeyPtr = std::unique_ptr<EVP_PKEY, OpensslDeleter<EVP_PKEY_free>>;
using EvpPkeyCtxPtr = std::unique_ptr<EVP_PKEY_CTX, OpensslDeleter<EVP_PKEY_CTX_free>>;
using OsslParamPtr = std::unique_ptr<OSSL_PARAM, OpensslDeleter<OSSL_PARAM_free>>;
using OsslParamBldPtr = std::unique_ptr<OSSL_PARAM_BLD, OpensslDeleter<OSSL_PARAM_BLD_free>>;

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_OPENSSL_PTR_H_
