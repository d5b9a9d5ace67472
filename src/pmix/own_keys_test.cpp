// Run as this build has it, and again without single definitions of ours and without all.
#include "pmix/own_keys.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "pmix/left_out_keys.hpp"

namespace tide::pmix {
namespace {

template <class Value>
std::optional<Value> unless_left_out(std::string_view name, Value value) {
  return is_left_out(name) ? std::nullopt : std::optional(value);
}

TEST(OwnKeys, AreThoseOfLaterReleasesOrNothing) {
  const auto key = [](std::string_view name, std::string_view text) {
    return unless_left_out(name, text);
  };
  const auto code = [](std::string_view name, pmix_status_t number) {
    return unless_left_out(name, number);
  };
  EXPECT_EQ(alloc_target_key(), key("ALLOC_TARGET", "pmix.alloc.tgt"));
  EXPECT_EQ(alloc_share_key(), key("ALLOC_SHARE", "pmix.alloc.share"));
  EXPECT_EQ(alloc_inheritance_key(), "pmix.alloc.inhrt") << "or it would be passed over";
  EXPECT_EQ(alloc_warn_timeout_key(), key("ALLOC_WARN_TIMEOUT", "pmix.alloc.wtmo"));
  EXPECT_EQ(spawn_target_key(), key("SPAWN_TARGET", "pmix.spwn.tgt"));
  EXPECT_EQ(alloc_timeout_warning_code(), code("ALLOC_TIMEOUT_WARNING", -194));
  EXPECT_EQ(dvm_is_ready_code(), code("DVM_IS_READY", -195));
  EXPECT_EQ(err_dvm_mod_code(), code("ERR_DVM_MOD", -196));
  EXPECT_EQ(alloc_req_cancel_directive(),
            unless_left_out<pmix_alloc_directive_t>("ALLOC_REQ_CANCEL", 5));
}

// row:C8 row:R17
TEST(OwnKeys, ACodeThatIsLeftOutIsNotKnown) {
  EXPECT_EQ(is_known_code(-194), alloc_timeout_warning_code().has_value());
  EXPECT_EQ(is_known_code(-195), dvm_is_ready_code().has_value());
  EXPECT_EQ(is_known_code(-196), err_dvm_mod_code().has_value());
  for (const pmix_status_t code : {PMIX_EVENT_JOB_END, PMIX_ERR_LOST_CONNECTION, -193, -197}) {
    EXPECT_TRUE(is_known_code(code)) << code;
  }
}

// row:R13 row:R17
TEST(OwnKeys, InheritanceIsOneOfFourBytesOrTheUsualOneAlone) {
  const bool any = !is_left_out("ALLOC_INHERITANCE");
  pmix_value_t value{};
  for (const int type : {PMIX_UINT8, 75}) {
    value.type = static_cast<pmix_data_type_t>(type);
    for (const int number : {0, 1, 2, 3, 4, 5, 255}) {
      value.data.uint8 = static_cast<std::uint8_t>(number);
      const bool good = number == 3 || (any && number >= 1 && number <= 4);
      EXPECT_EQ(inheritance_in(value),
                good ? std::optional(static_cast<Inheritance>(number)) : std::nullopt)
          << number << " of type " << type;
    }
  }
  value.data.uint32 = 3;
  for (const int type : {PMIX_UINT32, PMIX_INT, PMIX_BYTE, PMIX_ALLOC_DIRECTIVE, PMIX_STRING, 76}) {
    value.type = static_cast<pmix_data_type_t>(type);
    EXPECT_EQ(inheritance_in(value), std::nullopt) << type;
  }
}

}  // namespace
}  // namespace tide::pmix
