// The reports that the sanitizers must not make.

// NOLINTNEXTLINE(bugprone-reserved-identifier): TSan calls this function.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return
      // Abseil's library is not instrumented, so TSan does not see that its counter of references orders the last use
      // of a Status before its end.
      "race:absl::*::Status::Unref\n";
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): ASan calls this function.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  // OpenSSL keeps memory for each thread. ASan cannot always find this memory when the process exits.
  return "leak:libcrypto.so\n";
}
