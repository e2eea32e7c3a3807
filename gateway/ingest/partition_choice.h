// In which partition a session's batches of a bucket are stored.
//
// Rules say which retention class takes a session in. They may have been others when its bucket began, and an epoch
// lies in one partition: so where the store has the session in that bucket already, it stays in its class there.
#pragma once

#include <cstdint>
#include <functional>

#include "gateway/ingest/session_table.h"
#include "schemas/vocabulary/error.h"
#include "storage/store/store.h"

namespace perfleet {

// The class of a session that isn't stored yet; the same answer for the same session as long as the gateway runs.
using RetentionClassOf = std::function<std::uint8_t(const SessionRecord&)>;

// Reads the store once for each bucket of a session. An empty `class_of` takes all into class 0. Errors: those of
// reading, but for damage: what can't be read isn't known.
[[nodiscard]] Result<Partition> choose_partition(Session& session, BucketNumber bucket, const Store& store,
                                                 const RetentionClassOf& class_of);

}  // namespace perfleet
