#include "pmix/own_keys.hpp"

#include <tide/pmix_keys.h>

namespace tide::pmix {

MaybeKey alloc_target_key() {
#ifdef PMIX_ALLOC_TARGET
  return PMIX_ALLOC_TARGET;
#else
  return std::nullopt;
#endif
}

MaybeKey alloc_share_key() {
#ifdef PMIX_ALLOC_SHARE
  return PMIX_ALLOC_SHARE;
#else
  return std::nullopt;
#endif
}

MaybeKey alloc_inheritance_key() {
#ifdef PMIX_ALLOC_INHERITANCE
  return PMIX_ALLOC_INHERITANCE;
#else
  return std::nullopt;
#endif
}

MaybeKey alloc_warn_timeout_key() {
#ifdef PMIX_ALLOC_WARN_TIMEOUT
  return PMIX_ALLOC_WARN_TIMEOUT;
#else
  return std::nullopt;
#endif
}

MaybeKey spawn_target_key() {
#ifdef PMIX_SPAWN_TARGET
  return PMIX_SPAWN_TARGET;
#else
  return std::nullopt;
#endif
}

std::optional<pmix_status_t> alloc_timeout_warning_code() {
#ifdef PMIX_ALLOC_TIMEOUT_WARNING
  return PMIX_ALLOC_TIMEOUT_WARNING;
#else
  return std::nullopt;
#endif
}

std::optional<pmix_status_t> dvm_is_ready_code() {
#ifdef PMIX_DVM_IS_READY
  return PMIX_DVM_IS_READY;
#else
  return std::nullopt;
#endif
}

std::optional<pmix_status_t> err_dvm_mod_code() {
#ifdef PMIX_ERR_DVM_MOD
  return PMIX_ERR_DVM_MOD;
#else
  return std::nullopt;
#endif
}

bool is_known_code(pmix_status_t code) {
  // As later releases number them, whether or not this build has the names.
  constexpr pmix_status_t kTimeoutWarning = -194;
  constexpr pmix_status_t kIsReady = -195;
  constexpr pmix_status_t kModFailed = -196;
  if (code == kTimeoutWarning) return alloc_timeout_warning_code().has_value();
  if (code == kIsReady) return dvm_is_ready_code().has_value();
  if (code == kModFailed) return err_dvm_mod_code().has_value();
  return true;
}

std::optional<pmix_alloc_directive_t> alloc_req_cancel_directive() {
#ifdef PMIX_ALLOC_REQ_CANCEL
  return static_cast<pmix_alloc_directive_t>(PMIX_ALLOC_REQ_CANCEL);
#else
  return std::nullopt;
#endif
}

std::optional<Inheritance> inheritance_in(const pmix_value_t& value) {
  bool has_type = value.type == PMIX_UINT8;
#ifdef PMIX_ALLOC_INHERIT
  has_type = has_type || value.type == PMIX_ALLOC_INHERIT;
#endif
  // Both are one byte at the same place.
  const std::uint8_t number = value.data.uint8;
  if (!has_type || number < static_cast<std::uint8_t>(Inheritance::kNone) ||
      number > static_cast<std::uint8_t>(Inheritance::kChildDefault)) {
    return std::nullopt;
  }
  return static_cast<Inheritance>(number);
}

}  // namespace tide::pmix
