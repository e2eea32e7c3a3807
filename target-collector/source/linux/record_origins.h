// Which event a record of the sample rings is of, by the id that the kernel puts into it.
//
// One thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "target-collector/process/word_hash.h"
#include "target-collector/source/linux/record_reader.h"

namespace perfleet {

// What the records of one descriptor are: those of an event, as it was opened when they were written.
struct RecordOrigin {
    std::uint32_t event_index = 0;
    SampleFields fields;
    std::uint64_t weight = 0;
};

class RecordOrigins {
public:
    // Forgets all; as many are added behind it at most.
    void clear(std::size_t count_max) { slots_.assign(std::bit_ceil(count_max * 2), Slot{}); }

    // Ids of the kernel start at 1, and come once each.
    void add(std::uint64_t id, const RecordOrigin& origin) { slots_[slot_of(id)] = {id, origin}; }

    // Null: it isn't known. Borrowed until the next change.
    [[nodiscard]] const RecordOrigin* find(std::uint64_t id) const {
        const Slot& slot = slots_[slot_of(id)];
        return slot.id == 0 ? nullptr : &slot.origin;
    }

private:
    struct Slot {
        std::uint64_t id = 0;  // 0: free
        RecordOrigin origin;
    };

    // Where the id stands, or would.
    [[nodiscard]] std::size_t slot_of(std::uint64_t id) const {
        std::size_t slot = static_cast<std::size_t>(hash_words(id, 0)) & (slots_.size() - 1);
        while (slots_[slot].id != 0 && slots_[slot].id != id) {
            slot = (slot + 1) & (slots_.size() - 1);
        }
        return slot;
    }

    std::vector<Slot> slots_;  // a power of two, at most half of them taken
};

}  // namespace perfleet
