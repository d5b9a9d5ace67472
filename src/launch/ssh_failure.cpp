#include "launch/ssh_failure.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"

namespace tide::launch {
namespace {

using say::LaunchTrouble;

constexpr std::size_t kMostWords = 6;
constexpr int kCannotExecute = 126;  // of shells
constexpr int kNotFound = 127;

struct Sign {
  std::string_view text;  // in small letters
  LaunchTrouble trouble;
};

// In this order: the first line of trouble tends to be followed by others that follow from it.
constexpr std::array kSigns = {
    Sign{"error while loading shared libraries", LaunchTrouble::kLibraryMissing},
    Sign{"could not resolve hostname", LaunchTrouble::kNameNotFound},
    Sign{"name or service not known", LaunchTrouble::kNameNotFound},
    Sign{"temporary failure in name resolution", LaunchTrouble::kNameNotFound},
    Sign{"unknown host", LaunchTrouble::kNameNotFound},
    Sign{"remote host identification has changed", LaunchTrouble::kHostKey},
    Sign{"host key verification failed", LaunchTrouble::kHostKey},
    Sign{"connection refused", LaunchTrouble::kRefused},
    Sign{"no route to host", LaunchTrouble::kUnreachable},
    Sign{"network is unreachable", LaunchTrouble::kUnreachable},
    Sign{"host is down", LaunchTrouble::kUnreachable},
    Sign{"connection timed out", LaunchTrouble::kTimedOut},
    Sign{"operation timed out", LaunchTrouble::kTimedOut},
    Sign{"permission denied (", LaunchTrouble::kAuthentication},
    Sign{"too many authentication failures", LaunchTrouble::kAuthentication},
    Sign{"no supported authentication methods", LaunchTrouble::kAuthentication},
    Sign{"connection closed by", LaunchTrouble::kClosed},
    Sign{"connection reset by", LaunchTrouble::kClosed},
    Sign{"kex_exchange_identification", LaunchTrouble::kClosed},
    Sign{"command not found", LaunchTrouble::kProgramMissing},
    Sign{"unknown command", LaunchTrouble::kProgramMissing},
    Sign{"no such file or directory", LaunchTrouble::kProgramMissing},
};

// What a daemon says that runs and does not find the head.
constexpr std::array<std::string_view, 2> kSignsOfNoWayBack = {"cannot connect to the head",
                                                               "did not reach the head"};

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

}  // namespace

LaunchTrouble trouble_of(const SessionEnd& end) {
  if (end.other_protocol) return LaunchTrouble::kVersion;
  const std::string words = in_small_letters(end.error_output);
  const bool no_way_back = std::ranges::any_of(kSignsOfNoWayBack, [&](std::string_view sign) {
    return words.find(sign) != std::string::npos;
  });
  if (end.greeted && no_way_back) return LaunchTrouble::kNoWayBack;
  if (end.timed_out) return LaunchTrouble::kTimedOut;
  if (end.greeted) return LaunchTrouble::kDaemonEnded;
  const auto* const sign = std::ranges::find_if(
      kSigns, [&](const Sign& s) { return words.find(s.text) != std::string::npos; });
  if (sign != kSigns.end()) return sign->trouble;
  const int status = WIFEXITED(end.wait_status) ? WEXITSTATUS(end.wait_status) : 0;
  if (status == kNotFound || status == kCannotExecute) return LaunchTrouble::kProgramMissing;
  return LaunchTrouble::kOther;
}

std::vector<std::string> last_words(const std::string& error_output) {
  std::vector<std::string> lines;
  for (const auto& line : split(error_output, '\n')) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  }
  if (lines.size() > kMostWords) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMostWords));
  }
  return lines;
}

}  // namespace tide::launch
