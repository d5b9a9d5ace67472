#include "pmix/packing.hpp"

#include <gtest/gtest.h>
#include <pmix.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <limits>

#include "pmix/convert.hpp"
#include "wire/services.pb.h"

namespace tide::pmix {
namespace {

using Types = std::initializer_list<pmix_data_type_t>;

// Two values are the same if they are packed to the same bytes, and what was packed is compared
// field by field where that says more.
std::string packed(const pmix_value_t& value) {
  const auto bytes = pack_value(value);
  EXPECT_TRUE(bytes.has_value()) << PMIx_Data_type_string(value.type);
  return bytes.value_or("");
}

// There, back and there again.
void expect_round_trip(const pmix_value_t& value) {
  const std::string bytes = packed(value);
  pmix_value_t back{};
  ASSERT_TRUE(unpack_value(bytes, back)) << PMIx_Data_type_string(value.type);
  EXPECT_EQ(back.type, value.type);
  EXPECT_EQ(packed(back), bytes) << PMIx_Data_type_string(value.type);
  release(back);
}

template <class T>
void expect_number(pmix_data_type_t type, T number) {
  pmix_value_t value{};
  value.type = type;
  std::memcpy(&value.data, &number, sizeof number);
  expect_round_trip(value);
  pmix_value_t back{};
  ASSERT_TRUE(unpack_value(packed(value), back));
  const std::string_view unpacked(reinterpret_cast<const char*>(&back.data), sizeof number);
  const std::string_view given(reinterpret_cast<const char*>(&number), sizeof number);
  EXPECT_EQ(unpacked, given) << PMIx_Data_type_string(type);
}

template <class T>
void expect_limits(pmix_data_type_t type) {
  expect_number(type, std::numeric_limits<T>::lowest());
  expect_number(type, std::numeric_limits<T>::max());
  expect_number(type, T{1});
}

TEST(PmixPacking, NumbersOfAllTypes) {
  expect_number(PMIX_BOOL, true);
  for (const pmix_data_type_t type :
       Types{PMIX_BYTE, PMIX_UINT8, PMIX_PERSIST, PMIX_SCOPE, PMIX_DATA_RANGE, PMIX_PROC_STATE,
             PMIX_JOB_STATE, PMIX_LINK_STATE, PMIX_ALLOC_DIRECTIVE}) {
    expect_limits<std::uint8_t>(type);
  }
  for (const pmix_data_type_t type : Types{PMIX_UINT, PMIX_UINT32, PMIX_PROC_RANK}) {
    expect_limits<std::uint32_t>(type);
  }
  for (const pmix_data_type_t type : Types{PMIX_INT, PMIX_INT32, PMIX_PID, PMIX_STATUS}) {
    expect_limits<std::int32_t>(type);
  }
  expect_limits<std::uint16_t>(PMIX_UINT16);
  expect_limits<std::uint16_t>(PMIX_LOCTYPE);
  expect_limits<std::uint64_t>(PMIX_SIZE);
  expect_limits<std::uint64_t>(PMIX_UINT64);
  expect_limits<std::uint64_t>(PMIX_DEVTYPE);
  expect_limits<std::int8_t>(PMIX_INT8);
  expect_limits<std::int16_t>(PMIX_INT16);
  expect_limits<std::int64_t>(PMIX_INT64);
  expect_limits<std::int64_t>(PMIX_TIME);
  expect_limits<float>(PMIX_FLOAT);
  expect_limits<double>(PMIX_DOUBLE);
  expect_number(PMIX_TIMEVAL, timeval{1'700'000'000, 999'999});
}

TEST(PmixPacking, TextsAndTheirAbsence) {
  pmix_value_t value{};
  value.type = PMIX_STRING;
  expect_round_trip(value);  // null
  std::string text = "text with \xff and spaces";
  value.data.string = text.data();
  expect_round_trip(value);
  pmix_value_t back{};
  ASSERT_TRUE(unpack_value(packed(value), back));
  EXPECT_EQ(back.data.string, text);
  release(back);
}

TEST(PmixPacking, BytesAreKeptAsTheyAre) {
  std::string bytes("\0\1\2\0", 4);
  for (const pmix_data_type_t type :
       Types{PMIX_BYTE_OBJECT, PMIX_COMPRESSED_BYTE_OBJECT, PMIX_COMPRESSED_STRING, PMIX_REGEX}) {
    pmix_value_t value{};
    value.type = type;
    expect_round_trip(value);  // nothing
    value.data.bo = {bytes.data(), bytes.size()};
    expect_round_trip(value);
    pmix_value_t back{};
    ASSERT_TRUE(unpack_value(packed(value), back));
    EXPECT_EQ(std::string(back.data.bo.bytes, back.data.bo.size), bytes);
    release(back);
  }
}

TEST(PmixPacking, ProcessesAndWhatIsKnownOfThem) {
  pmix_proc_t proc = to_pmix(ProcName{"dvm@1", 7});
  pmix_value_t value{};
  value.type = PMIX_PROC;
  value.data.proc = &proc;
  expect_round_trip(value);
  proc.rank = PMIX_RANK_WILDCARD;
  expect_round_trip(value);

  value.type = PMIX_PROC_NSPACE;
  value.data.nspace = &proc.nspace;
  expect_round_trip(value);

  std::string host = "v1";
  std::string executable = "/bin/true";
  pmix_proc_info_t process{proc, host.data(), executable.data(), 42, -1, 3};
  value.type = PMIX_PROC_INFO;
  value.data.pinfo = &process;
  expect_round_trip(value);
  pmix_value_t back{};
  ASSERT_TRUE(unpack_value(packed(value), back));
  EXPECT_STREQ(back.data.pinfo->hostname, "v1");
  EXPECT_EQ(back.data.pinfo->exit_code, -1);
  release(back);
}

TEST(PmixPacking, VariablesOfTheEnvironment) {
  std::string name = "PATH";
  std::string content = "/bin";
  pmix_value_t value{};
  value.type = PMIX_ENVAR;
  value.data.envar = {name.data(), content.data(), ':'};
  expect_round_trip(value);
}

TEST(PmixPacking, WhatCannotTravelIsRefused) {
  pmix_value_t value{};
  for (const pmix_data_type_t type : Types{PMIX_POINTER, PMIX_TOPO, PMIX_PROC_CPUSET,
                                           PMIX_DATA_BUFFER, PMIX_QUERY, PMIX_DATA_TYPE_MAX}) {
    value.type = type;
    value.data.ptr = &value;
    EXPECT_FALSE(pack_value(value)) << type;
  }
  value.data.ptr = nullptr;
  for (const pmix_data_type_t type :
       Types{PMIX_PROC, PMIX_PROC_NSPACE, PMIX_PROC_INFO, PMIX_DATA_ARRAY}) {
    value.type = type;
    EXPECT_FALSE(pack_value(value)) << "a null pointer of type " << type;
    wire::Value bytes;
    bytes.set_type(type);
    pmix_value_t back{};
    EXPECT_FALSE(unpack_value(bytes.SerializeAsString(), back));
  }
  pmix_data_array_t array{PMIX_PROC, 3, nullptr};
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  EXPECT_FALSE(pack_value(value)) << "an array without its elements";
}

// An info array in an info array, and so on.
pmix_value_t nested(int depth) {
  pmix_value_t value{};
  value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(value.data.darray, 1, PMIX_INFO);
  auto* info = static_cast<pmix_info_t*>(value.data.darray->array);
  std::strcpy(info->key, "some.key");
  if (depth > 1) info->value = nested(depth - 1);
  return value;
}

TEST(PmixPacking, ArraysInArraysUpToALimit) {
  pmix_value_t deep = nested(12);
  expect_round_trip(deep);
  release(deep);
  pmix_value_t too_deep = nested(13);
  EXPECT_FALSE(pack_value(too_deep));
  release(too_deep);
}

// Bytes that nobody packed: what says that it is nested deeper must be refused as well.
TEST(PmixPacking, BytesThatAreNestedTooDeeplyAreRefused) {
  wire::Value value;
  value.set_type(PMIX_STRING);
  for (int depth = 0; depth < 14; ++depth) {
    wire::Value outer;
    outer.set_type(PMIX_DATA_ARRAY);
    outer.mutable_array()->set_type(PMIX_INFO);
    auto* entry = outer.mutable_array()->add_entries();
    entry->set_key("k");
    *entry->mutable_value() = value;
    value = outer;
  }
  pmix_value_t back{};
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  EXPECT_EQ(back.type, PMIX_UNDEF);
}

TEST(PmixPacking, AbsurdSizesAreRefused) {
  wire::Value value;
  value.set_type(PMIX_DATA_ARRAY);
  value.mutable_array()->set_type(PMIX_INFO);
  for (int index = 0; index < 200'000; ++index) value.mutable_array()->add_entries()->set_key("k");
  pmix_value_t back{};
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  wire::InfoEntries entries;
  *entries.mutable_entries() = value.array().entries();
  InfoList list;
  EXPECT_FALSE(unpack_info(entries.SerializeAsString(), list));
}

TEST(PmixPacking, WrongNumbersAndKindsAreRefused) {
  pmix_value_t back{};
  wire::Value value;
  value.set_type(PMIX_UINT8);
  value.set_number(256);
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  value.set_integer(1);
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  value.set_type(PMIX_STRING);
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  value.set_type(PMIX_POINTER);
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  value.set_type(0x10000 + PMIX_STRING);
  value.set_text("x");
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  value.set_type(PMIX_PROC);
  value.mutable_proc()->set_nspace(std::string(PMIX_MAX_NSLEN + 1, 'x'));
  EXPECT_FALSE(unpack_value(value.SerializeAsString(), back));
  wire::InfoEntries entries;
  entries.add_entries();  // without a key
  InfoList list;
  EXPECT_FALSE(unpack_info(entries.SerializeAsString(), list));
}

TEST(PmixPacking, EntriesKeepTheirFlagsAndOrder) {
  pmix_info_t* made = nullptr;
  PMIX_INFO_CREATE(made, 3);
  const std::uint32_t number = 5;
  PMIX_INFO_LOAD(&made[0], "first", &number, PMIX_UINT32);
  PMIX_INFO_LOAD(&made[1], "second", "text", PMIX_STRING);
  PMIX_INFO_LOAD(&made[2], "third", nullptr, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&made[0]);
  PMIX_INFO_SET_QUALIFIER(&made[1]);
  const auto both = pack_info(made, 2);
  const auto third = pack_info(&made[2], 1);
  PMIX_INFO_FREE(made, 3);
  ASSERT_TRUE(both && third);
  InfoList list;
  ASSERT_TRUE(unpack_info(*both + *third, list));
  const auto array = list.finish();
  ASSERT_TRUE(array.ok());
  ASSERT_EQ(array->size(), 3U);
  EXPECT_STREQ(array->data()[0].key, "first");
  EXPECT_TRUE(PMIX_INFO_IS_REQUIRED(&array->data()[0]));
  EXPECT_TRUE(PMIX_INFO_IS_QUALIFIER(&array->data()[1]));
  EXPECT_STREQ(array->data()[1].value.data.string, "text");
  EXPECT_TRUE(array->data()[2].value.data.flag);
  EXPECT_TRUE(PMIX_INFO_IS_END(&array->data()[2]));
}

// ---- of everything ----

void fill_numbers(pmix_value_t& value) {
  const auto type = *rc::gen::element<pmix_data_type_t>(
      PMIX_BOOL, PMIX_UINT8, PMIX_INT16, PMIX_UINT32, PMIX_INT64, PMIX_SIZE, PMIX_DOUBLE,
      PMIX_TIMEVAL, PMIX_STATUS, PMIX_PROC_RANK);
  value.type = type;
  value.data.uint64 = *rc::gen::arbitrary<std::uint64_t>();
  if (type == PMIX_BOOL) value.data.flag = *rc::gen::arbitrary<bool>();
  if (type == PMIX_DOUBLE) value.data.dval = *rc::gen::arbitrary<double>();
  if (type == PMIX_TIMEVAL) value.data.tv.tv_usec = 7;
}

void fill_array(pmix_value_t& value, int depth);

void fill(pmix_value_t& value, int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 5 : 4)) {
    case 0:
      return fill_numbers(value);
    case 1: {
      const auto text = *rc::gen::container<std::string>(rc::gen::nonZero<char>());
      PMIx_Value_load(&value, text.c_str(), PMIX_STRING);
      return;
    }
    case 2: {
      auto bytes = *rc::gen::arbitrary<std::string>();
      pmix_byte_object_t object{bytes.data(), bytes.size()};
      PMIx_Value_load(&value, &object, PMIX_BYTE_OBJECT);
      return;
    }
    case 3: {
      const pmix_proc_t proc = to_pmix(ProcName{"dvm@1", *rc::gen::inRange(0U, 9U)});
      PMIx_Value_load(&value, &proc, PMIX_PROC);
      return;
    }
    default:
      fill_array(value, depth);
  }
}

void fill_array(pmix_value_t& value, int depth) {
  const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 5));
  const auto type =
      *rc::gen::element<pmix_data_type_t>(PMIX_INFO, PMIX_UINT16, PMIX_STRING, PMIX_PROC);
  value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(value.data.darray, count, type);
  for (std::size_t index = 0; index < count; ++index) {
    void* array = value.data.darray->array;
    if (type == PMIX_INFO) {
      auto& info = static_cast<pmix_info_t*>(array)[index];
      std::strcpy(info.key, "key");
      fill(info.value, depth - 1);
    } else if (type == PMIX_UINT16) {
      static_cast<std::uint16_t*>(array)[index] = *rc::gen::arbitrary<std::uint16_t>();
    } else if (type == PMIX_STRING) {
      static_cast<char**>(array)[index] = ::strdup("element");
    } else {
      static_cast<pmix_proc_t*>(array)[index] = to_pmix(ProcName{"dvm@2", kAllRanks});
    }
  }
}

RC_GTEST_PROP(PmixPacking, WhateverIsPackedComesBack, ()) {
  pmix_value_t value{};
  fill(value, 4);
  expect_round_trip(value);
  release(value);
}

TEST(PmixPacking, AnEntryOfAnArrayIsNoValue) {
  wire::Value entry;
  entry.set_type(PMIX_INFO);
  pmix_value_t back{};
  EXPECT_FALSE(unpack_value(entry.SerializeAsString(), back));
}

RC_GTEST_PROP(PmixPacking, MangledBytesAreRefusedOrHarmless, ()) {
  pmix_value_t value{};
  fill(value, 3);
  std::string bytes = packed(value);
  release(value);
  const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
  bytes.resize(cut);
  for (int change = *rc::gen::inRange(0, 4); change > 0 && !bytes.empty(); --change) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  pmix_value_t back{};
  if (unpack_value(bytes, back)) expect_round_trip(back);
  release(back);
}

}  // namespace
}  // namespace tide::pmix
