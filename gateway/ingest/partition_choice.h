// Chooses the partition in which a session's batches of a bucket are stored.
//
// Retention rules choose a session's class. They may have changed since the bucket began, and an epoch lies in one
// partition: if the store has the session in that bucket already, it keeps its class there.
#pragma once

#include <cstdint>
#include <functional>

#include "gateway/ingest/session_table.h"
#include "schemas/vocabulary/error.h"
#include "storage/store/store.h"

namespace perfleet {

// The class of a session that isn't stored yet. Must give the same answer for a session as long as the gateway runs.
using RetentionClassOf = std::function<std::uint8_t(const SessionRecord&)>;

// Reads the store once for each bucket of a session. With an empty `class_of` the class is 0. Errors: those of reading,
// except damage: a session that can't be read counts as not stored.
[[nodiscard]] Result<Partition> choose_partition(Session& session, BucketNumber bucket, const Store& store,
                                                 const RetentionClassOf& class_of);

}  // namespace perfleet
