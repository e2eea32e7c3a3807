// Shared by the parts of a scan: recognises damage, and names the damaged block in messages.
#pragma once

#include <string>

#include "query-engine/scan/row_block.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Whether the error means that bytes of the store are damaged; the rest of the store can still be read.
[[nodiscard]] bool is_store_damage(const Error& error);

// The block's place as text for messages: session, kind, event and batch.
[[nodiscard]] std::string block_place(const SessionRecord& record, Series series, Seq seq);
[[nodiscard]] Error at_block(const SessionRecord& record, const BlockPlace& place, const Error& error);

}  // namespace perfleet
