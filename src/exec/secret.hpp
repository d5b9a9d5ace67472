// Key material passes through here: its memory is wiped before it is given back.
#pragma once

#include <cstring>
#include <string>
#include <utility>

namespace tide::exec {

inline void wipe(std::string& text) {
  ::explicit_bzero(text.data(), text.capacity());
  text.clear();
}

// A string that is wiped when it goes. It is never grown, so no copy of it stays behind.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) { wipe(text); }
  Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { wipe(other.text_); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      wipe(text_);
      text_ = std::move(other.text_);
      wipe(other.text_);
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(text_); }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string& text() { return text_; }

 private:
  std::string text_;
};

}  // namespace tide::exec
