// Protobuf complains on standard error about every message that it can't read; here most can't be.
#include <google/protobuf/stubs/logging.h>

#include "tests/fuzz/fuzz_input.hpp"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}
