#include "pmix/convert.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <array>
#include <cstring>
#include <limits>

namespace tide::pmix {
namespace {

pmix_info_t entry(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t info{};
  EXPECT_EQ(PMIx_Info_load(&info, key, value, type), PMIX_SUCCESS);
  return info;
}

pmix_status_t read_one(const char* key, const void* value, pmix_data_type_t type,
                       Directives& directives, bool required = false) {
  pmix_info_t info = entry(key, value, type);
  if (required) info.flags |= PMIX_INFO_REQD;
  const pmix_status_t status = read_directives(&info, 1, directives);
  PMIx_Value_destruct(&info.value);
  return status;
}

TEST(PmixConvert, EveryErrorHasAStatus) {
  EXPECT_EQ(to_pmix(ok_status()), PMIX_SUCCESS);
  EXPECT_EQ(to_pmix(ErrorCode::kConnectionLost), PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(to_pmix(ErrorCode::kTimedOut), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(to_pmix(ErrorCode::kNotFound), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(to_pmix(ErrorCode::kInvalidArgument), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(to_pmix(Status(Error{ErrorCode::kPermissionDenied, ""})), PMIX_ERR_NO_PERMISSIONS);
  for (std::uint16_t code = 1; code <= static_cast<std::uint16_t>(ErrorCode::kInternal); ++code) {
    EXPECT_LT(to_pmix(static_cast<ErrorCode>(code)), 0) << code;
  }
}

TEST(PmixConvert, AStatusBecomesAnErrorWithItsName) {
  const Error error = from_pmix(PMIX_ERR_TIMEOUT, "waiting");
  EXPECT_EQ(error.code, ErrorCode::kTimedOut);
  EXPECT_EQ(error.message, "waiting: TIMEOUT");
  EXPECT_EQ(from_pmix(PMIX_ERR_UNPACK_FAILURE, "x").code, ErrorCode::kInternal);
}

TEST(PmixConvert, NamesGoThereAndBack) {
  for (const std::uint32_t rank : {0U, 1U, 1'000'000U, kAllRanks}) {
    const ProcName name{"dvm@1", rank};
    EXPECT_EQ(from_pmix(to_pmix(name)), name);
  }
  EXPECT_EQ(to_pmix(ProcName{"dvm@1", kAllRanks}).rank, PMIX_RANK_WILDCARD);
  const ProcName longest{std::string(PMIX_MAX_NSLEN, 'x'), 0};
  EXPECT_EQ(from_pmix(to_pmix(longest)), longest);
}

TEST(PmixConvert, RanksThatAreNoProcessAreRefused) {
  pmix_proc_t proc = to_pmix(ProcName{"dvm@1", 0});
  proc.rank = PMIX_RANK_UNDEF;  // the number that is our wildcard
  EXPECT_FALSE(from_pmix(proc));
  proc.rank = PMIX_RANK_LOCAL_NODE;
  EXPECT_FALSE(from_pmix(proc));
  proc.rank = PMIX_RANK_INVALID;
  EXPECT_FALSE(from_pmix(proc));
}

TEST(PmixConvert, NameWithoutAnEndStaysInItsField) {
  pmix_proc_t proc{};
  std::memset(proc.nspace, 'x', sizeof proc.nspace);
  EXPECT_EQ(from_pmix(proc)->nspace.size(), sizeof proc.nspace);
}

TEST(PmixConvert, NamespacesFitOrAreRefused) {
  EXPECT_TRUE(is_nspace("dvm@1"));
  EXPECT_TRUE(is_nspace(std::string(PMIX_MAX_NSLEN, 'x')));
  EXPECT_FALSE(is_nspace(std::string(PMIX_MAX_NSLEN + 1, 'x')));
  EXPECT_FALSE(is_nspace(""));
  EXPECT_FALSE(is_nspace(std::string("a\0b", 3)));
}

TEST(PmixConvert, DirectivesAreRead) {
  const bool yes = true;
  const int seconds = 9;
  std::array<pmix_info_t, 2> info = {entry(PMIX_COLLECT_DATA, &yes, PMIX_BOOL),
                                     entry(PMIX_TIMEOUT, &seconds, PMIX_INT)};
  Directives directives;
  EXPECT_EQ(read_directives(info.data(), info.size(), directives), PMIX_SUCCESS);
  EXPECT_TRUE(directives.collect);
  EXPECT_EQ(directives.timeout_s, 9U);
  EXPECT_EQ(read_directives(nullptr, 0, directives), PMIX_SUCCESS);
}

TEST(PmixConvert, ALostParticipantBreaksAFence) {
  Directives directives;
  pmix_status_t status = PMIX_SUCCESS;
  EXPECT_EQ(read_one(PMIX_LOCAL_COLLECTIVE_STATUS, &status, PMIX_STATUS, directives), PMIX_SUCCESS);
  EXPECT_FALSE(directives.broken);
  status = PMIX_ERR_PARTIAL_SUCCESS;
  EXPECT_EQ(read_one(PMIX_LOCAL_COLLECTIVE_STATUS, &status, PMIX_STATUS, directives), PMIX_SUCCESS);
  EXPECT_TRUE(directives.broken);
}

TEST(PmixConvert, ATimeoutMayBeAnyPlainNumber) {
  Directives directives;
  const std::uint32_t large = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(read_one(PMIX_TIMEOUT, &large, PMIX_UINT32, directives), PMIX_SUCCESS);
  EXPECT_EQ(directives.timeout_s, large);
  const int negative = -1;
  EXPECT_EQ(read_one(PMIX_TIMEOUT, &negative, PMIX_INT, directives), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_one(PMIX_TIMEOUT, "soon", PMIX_STRING, directives), PMIX_ERR_BAD_PARAM);
}

TEST(PmixConvert, WrongTypesAndUnknownDemandsAreRefused) {
  Directives directives;
  EXPECT_EQ(read_one(PMIX_COLLECT_DATA, "yes", PMIX_STRING, directives), PMIX_ERR_BAD_PARAM);
  const bool yes = true;
  EXPECT_EQ(read_one("some.key", &yes, PMIX_BOOL, directives), PMIX_SUCCESS);
  EXPECT_EQ(read_one("some.key", &yes, PMIX_BOOL, directives, true), PMIX_ERR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace tide::pmix
