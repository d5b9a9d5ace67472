// Immutable, shared bulk bytes: output, input and modex blobs travel without being copied.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tide {

class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string data) {
    if (!data.empty()) data_ = std::make_shared<const std::string>(std::move(data));
  }
  [[nodiscard]] std::string_view view() const {
    return data_ ? std::string_view(*data_) : std::string_view();
  }
  [[nodiscard]] std::size_t size() const { return data_ ? data_->size() : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  bool operator==(const Bytes& other) const { return view() == other.view(); }

 private:
  std::shared_ptr<const std::string> data_;
};

}  // namespace tide
