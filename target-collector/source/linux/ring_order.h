// Visits the records of several rings in order of time. Rows get their order here, once: they are sealed by CPU without
// a sort (message/batch_builder.h), and merged by time again only when they are read.
//
// The records of all rings are ordered, not the side-band's alone: a batch then ends where the next one begins, also in
// the middle of a burst, and readers merge within a block. Drained by CPU, neighbouring batches would overlap in time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace perfleet {

// Visits the oldest record of all rings until each ring is empty or its first record is younger than the limit: older
// ones may still arrive in another ring. Of equal times the ring with the lowest index comes first. A record that is
// older than one before it in its ring is visited right after that.
// `time_of(ring)`: the time of its first record, nothing if it is empty. `visitor(ring_index)` removes that record.
template <class Ring, class TimeOf, class Visitor>
void visit_by_time(std::span<const std::unique_ptr<Ring>> rings, std::uint64_t time_limit, TimeOf time_of,
                   Visitor visitor) {
    using Head = std::pair<std::uint64_t, std::size_t>;  // time, index of its ring
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    const auto add_head_of = [&](std::size_t ring_index) {
        const std::optional<std::uint64_t> time = time_of(*rings[ring_index]);
        if (time && *time <= time_limit) {
            heads.emplace(*time, ring_index);
        }
    };
    for (std::size_t ring_index = 0; ring_index < rings.size(); ++ring_index) {
        add_head_of(ring_index);
    }
    while (!heads.empty()) {
        const std::size_t ring_index = heads.top().second;
        heads.pop();
        visitor(ring_index);
        add_head_of(ring_index);
    }
}

}  // namespace perfleet
