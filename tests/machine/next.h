#pragma once

#include <dlfcn.h>

// The function `name` that the process would call if this library did not replace it.
#define NEXT(name)                                                                         \
  ([]() -> decltype(&::name) {                                                             \
    static const auto next = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name)); \
    return next;                                                                           \
  }())
