// What a scan's parts share to tell of damage.
#pragma once

#include <string>

#include "query-engine/scan/row_block.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/session.h"

namespace perfleet {

// Of the store's bytes; the rest can still be read.
[[nodiscard]] bool is_store_damage(const Error& error);

// Where a block stands, for people.
[[nodiscard]] std::string block_place(const SessionRecord& record, Series series, Seq seq);
[[nodiscard]] Error at_block(const SessionRecord& record, const BlockPlace& place, const Error& error);

}  // namespace perfleet
