// Names of PMIx that not every libpmix has, and that we then define ourselves unless the build says
// not to (TIDE_OWN_PMIX_KEYS, TIDE_WITHOUT_PMIX_KEYS). Where there is nothing the service is
// without.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace tide::pmix {

using MaybeKey = std::optional<std::string_view>;

MaybeKey alloc_target_key();
MaybeKey alloc_share_key();
MaybeKey alloc_warn_timeout_key();
MaybeKey spawn_target_key();
// Known to every build: who wants another end of an allocation than the usual one is not to be left
// in the belief that this is what comes.
std::string_view alloc_inheritance_key();

std::optional<pmix_status_t> alloc_timeout_warning_code();
std::optional<pmix_status_t> dvm_is_ready_code();
std::optional<pmix_status_t> err_dvm_mod_code();

// False for a code of these that this build is without: nobody is told of it.
bool is_known_code(pmix_status_t code);
// As all releases that have it number it, whether or not this build does.
inline constexpr pmix_status_t kTimeoutWarning = -194;

std::optional<pmix_alloc_directive_t> alloc_req_cancel_directive();

// What becomes of reserved nodes when their owner ends.
enum class Inheritance : std::uint8_t { kNone = 1, kChild = 2, kDefault = 3, kChildDefault = 4 };
// The value of alloc_inheritance_key(): a byte, or the type that later releases have for it.
// Nothing for other types and numbers, and in a build without the key for all but kDefault.
std::optional<Inheritance> inheritance_in(const pmix_value_t& value);

}  // namespace tide::pmix
