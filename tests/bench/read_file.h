// Reads a whole file.
#ifndef STAMPGATE_TESTS_BENCH_READ_FILE_H_
#define STAMPGATE_TESTS_BENCH_READ_FILE_H_

#include <fstream>
#include <sstream>
#include <string>

namespace stampgate::bench {

// Returns the bytes of the file; an empty text if it cannot be read.
inline std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_READ_FILE_H_
