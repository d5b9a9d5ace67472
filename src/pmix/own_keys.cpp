#include "pmix/own_keys.hpp"

#include <tide/pmix_keys.h>

namespace tide::pmix {
namespace {

// As kTimeoutWarning.
constexpr pmix_status_t kIsReady = -195;
constexpr pmix_status_t kModFailed = -196;

}  // namespace

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

std::string_view alloc_inheritance_key() {
#ifdef PMIX_ALLOC_INHERITANCE
  return PMIX_ALLOC_INHERITANCE;
#else
  return "pmix.alloc.inhrt";
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
#ifdef PMIX_ALLOC_INHERITANCE
  constexpr auto kFirst = Inheritance::kNone;
  constexpr auto kLast = Inheritance::kChildDefault;
#else
  constexpr auto kFirst = Inheritance::kDefault;
  constexpr auto kLast = Inheritance::kDefault;
#endif
  // Of later releases; who does not know it never receives one. Both are a byte at the same place.
  constexpr pmix_data_type_t kOwnType = 75;
  if (value.type != PMIX_UINT8 && value.type != kOwnType) return std::nullopt;
  const auto named = static_cast<Inheritance>(value.data.uint8);
  if (named < kFirst || named > kLast) return std::nullopt;
  return named;
}

}  // namespace tide::pmix
