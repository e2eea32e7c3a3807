// Keeps unwind tables of images by number, within a limit of its own. One thread.
#pragma once

#include <cstdint>

#include "target-collector/process/unwind/unwind_table.h"

namespace perfleet {

class UnwindTableStore {
public:
    virtual ~UnwindTableStore() = default;

    // Whether the image is known, even if it has no table.
    [[nodiscard]] virtual bool has_table(std::uint32_t image) const = 0;
    // Null: the image has no table. Copies the table.
    virtual void set_table(std::uint32_t image, const UnwindTable* table) = 0;
    // kNone if the table has no rule there, or there is no table.
    [[nodiscard]] virtual UnwindRule rule(std::uint32_t image, std::uint64_t file_offset) = 0;
};

}  // namespace perfleet
