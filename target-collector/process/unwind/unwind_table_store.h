// Keeps the tables of images by their numbers, within a bound of its own. One thread.
#pragma once

#include <cstdint>

#include "target-collector/process/unwind/unwind_table.h"

namespace perfleet {

class UnwindTableStore {
public:
    virtual ~UnwindTableStore() = default;

    // Whether it knows the image, also that it has no table.
    [[nodiscard]] virtual bool has_table(std::uint32_t image) const = 0;
    // Null: it has none. The table is copied.
    virtual void set_table(std::uint32_t image, const UnwindTable* table) = 0;
    // kNone where the table says nothing, or there is none.
    [[nodiscard]] virtual UnwindRule rule(std::uint32_t image, std::uint64_t file_offset) = 0;
};

}  // namespace perfleet
