// The types of PMIx that are plain numbers, and what all types that can travel look like in memory.
#pragma once

#include <pmix_common.h>

#include <cstddef>

#include "wire/services.pb.h"

namespace tide::pmix {

bool is_scalar(pmix_data_type_t type);
// False if the type is no scalar.
bool pack_scalar(pmix_data_type_t type, const void* data, wire::Value& out);
// False if `in` is of another kind, or the number too large for the type.
bool unpack_scalar(pmix_data_type_t type, const wire::Value& in, void* data);

// Of an element in an array; 0 for types that can't travel.
std::size_t element_size(pmix_data_type_t type);
// Whether a value of the type has a pointer to it, where an array has the thing itself.
bool is_held_by_pointer(pmix_data_type_t type);

}  // namespace tide::pmix
