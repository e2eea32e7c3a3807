// What a scan's parts share to tell of damage.
#pragma once

#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/model/session.h"

namespace perfleet {

// Of the store's bytes; the rest can still be read.
[[nodiscard]] bool is_store_damage(const Error& error);

// Where a block stands, for people.
[[nodiscard]] std::string block_place(const SessionRecord& record, Series series, Seq seq);

}  // namespace perfleet
