#pragma once

#include <dlfcn.h>

// The function of that name that the process would call without this library.
#define NEXT(name)                                                                         \
  ([]() -> decltype(&::name) {                                                             \
    static const auto next = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name)); \
    return next;                                                                           \
  }())
