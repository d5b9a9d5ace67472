#include "launch/remote_session.hpp"

#include <charconv>
#include <utility>

#include "base/text.hpp"

namespace tide::launch {
namespace {

// Long enough to be in no message of the day.
constexpr std::string_view kGreetingWord = "tide-daemon-at-your-service ";
constexpr std::string_view kJoinedWord = "tide-daemon-joined ";
constexpr std::size_t kLongestLine = 256;
constexpr unsigned kByteBits = 8;

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string greeting_text(const Greeting& greeting) {
  return "\n" + std::string(kGreetingWord) + std::to_string(greeting.protocol) + " " +
         greeting.version + "\n";
}

std::string joined_text(pid_t pid) {
  return std::string(kJoinedWord) + std::to_string(pid) + "\n";
}

exec::Secret framed_blob(const std::string& blob) {
  std::string frame;
  frame.reserve(kBlobHeaderBytes + blob.size());  // growing would leave copies of the key behind
  for (std::size_t i = kBlobHeaderBytes; i-- > 0;) {
    frame.push_back(static_cast<char>(blob.size() >> (kByteBits * i)));
  }
  frame += blob;
  return exec::Secret(std::move(frame));
}

std::size_t blob_bytes(std::string_view header) {
  std::size_t size = 0;
  for (const char byte : header.substr(0, kBlobHeaderBytes)) {
    size = (size << kByteBits) | static_cast<unsigned char>(byte);
  }
  return size;
}

void SessionReader::feed(std::string_view text) {
  text_ += text;
}

std::optional<std::string> SessionReader::take_line_of(std::string_view word) {
  const std::size_t begin = text_.find(word);
  if (begin == std::string::npos) {
    // The word may still be coming, with its beginning at the end of what is here.
    if (text_.size() > word.size()) text_.erase(0, text_.size() - word.size());
    return std::nullopt;
  }
  text_.erase(0, begin);
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos) {
    if (text_.size() > kLongestLine) text_.clear();
    return std::nullopt;
  }
  std::string line(trim(std::string_view(text_).substr(word.size(), end - word.size())));
  text_.erase(0, end + 1);
  return line;
}

std::optional<Greeting> SessionReader::take_greeting() {
  const auto line = take_line_of(kGreetingWord);
  if (!line) return std::nullopt;
  const std::size_t space = line->find(' ');
  const auto protocol = whole_number<std::uint32_t>(line->substr(0, space));
  if (!protocol || space == std::string::npos) return Greeting{0, one_line(*line)};
  return Greeting{*protocol, one_line(line->substr(space + 1))};
}

std::optional<pid_t> SessionReader::take_joined() {
  const auto line = take_line_of(kJoinedWord);
  if (!line) return std::nullopt;
  return whole_number<pid_t>(*line).value_or(0);
}

}  // namespace tide::launch
