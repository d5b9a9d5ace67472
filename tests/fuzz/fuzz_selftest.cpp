// Has a find planted in it, so that the suite can be shown to report one. TIDE_FUZZ_PLANT says
// which kind: a broken promise, a hang, a read beyond the end. Without it there is nothing to find.
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tests/fuzz/fuzz_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = tide::fuzz::as_text(data, size);
  const char* planted = std::getenv("TIDE_FUZZ_PLANT");
  const std::string_view plant = planted == nullptr ? "" : planted;
  if (!input.starts_with("tide")) return 0;
  FUZZ_REQUIRE(plant != "promise");
  if (plant == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (plant == "memory") {
    const auto* bytes = new char[4];
    std::fprintf(stderr, "%c\n", bytes[input.size()]);
    delete[] bytes;
  }
  return 0;
}
