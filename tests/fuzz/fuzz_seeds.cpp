// fuzz_seeds FOLDER: writes what the corpora are grown from, FOLDER/<fuzzer>/<name>.
#include "tests/fuzz/seeds.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tide::fuzz {

void Seeds::add(const std::string& fuzzer, const std::string& input) {
  const std::filesystem::path folder = std::filesystem::path(root_) / fuzzer;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / ("seed" + std::to_string(++count_)), std::ios::binary) << input;
}

}  // namespace tide::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  tide::fuzz::Seeds seeds(argv[1]);
  tide::fuzz::add_text_seeds(seeds);
  tide::fuzz::add_wire_seeds(seeds);
  tide::fuzz::add_core_seeds(seeds);
  return 0;
}
