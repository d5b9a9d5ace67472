// Unpacks an archive where it lies. In a program of its own, tide-unpack, because it takes as long
// as it takes and reads what others wrote: the daemon has other jobs, and the DVM's key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tide::exec {

struct UnpackLimits {
  std::size_t entries = 100'000;
  std::uint64_t bytes = std::uint64_t{16} << 30U;
};

// Everything lands below `directory`, an open one, in which the archive has this name: no entry and
// no link in it may lead out, and no file that is there is changed. The reason if it fails.
std::optional<std::string> unpack(int directory, const std::string& archive,
                                  const UnpackLimits& limits = {});

}  // namespace tide::exec
