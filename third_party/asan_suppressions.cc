// The reports that ASan must not make.

// NOLINTNEXTLINE(bugprone-reserved-identifier): ASan calls this function.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  // OpenSSL keeps memory for each thread. ASan cannot always find this memory when the process exits.
  return "leak:libcrypto.so\n";
}
