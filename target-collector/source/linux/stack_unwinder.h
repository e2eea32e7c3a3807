// From the registers and the copied stack of a sample to its call chain, by the unwind tables of the images that are
// mapped, and by frame pointers where code has no table (made at run time, or Go's).
//
// One thread. Tables are made when an image is met first, and are shared by all processes. Bounded: kTablesBytesMax of
// tables; beyond it all are dropped and made anew as they are met.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "schemas/vocabulary/call_chain_limits.h"
#include "target-collector/source/linux/mapping_list.h"
#include "target-collector/source/linux/unwind/unwind_step.h"
#include "target-collector/source/linux/unwind/unwind_table.h"

namespace perfleet {

class StackUnwinder {
public:
    static constexpr std::size_t kTablesBytesMax = 96U << 20U;

    // Makes the table of an image, which is mapped in the process `pid` by `mapping`; empty: it has none.
    using MakeTable =
        std::function<std::optional<UnwindTable>(ImageIndex image, std::uint32_t pid, const Mapping& mapping)>;
    // Reported of each image that a walk passes through and its table; null: it has none.
    using OnTable = std::function<void(ImageIndex image, const UnwindTable* table)>;
    StackUnwinder(UnwindMachine machine, MakeTable make_table, OnTable on_table = nullptr);

    struct Chain {
        std::array<std::uint64_t, limits::kCallChainDepthMax> addresses;  // the leaf first, return addresses behind it
        std::uint32_t count = 0;
        UnwindEnd end = UnwindEnd::kOutermost;
    };
    // Writes to `chain`, which is large and therefore the caller's. At most `depth_max` frames.
    void unwind(UnwindRegisters registers, const StackCopy& stack, std::uint32_t pid, const MappingList& mappings,
                std::uint32_t depth_max, Chain& chain);

    // Makes the table of a mapped image before a walk passes through it.
    void make_table(std::uint32_t pid, const Mapping& mapping) { (void)table_of(pid, mapping); }

    // Images have new numbers from now on.
    void forget_images();

    [[nodiscard]] std::size_t tables_bytes() const { return tables_bytes_; }

private:
    struct Slot {
        bool is_known = false;
        std::unique_ptr<const UnwindTable> table;  // null: it has none
    };
    [[nodiscard]] const UnwindTable* table_of(std::uint32_t pid, const Mapping& mapping);

    UnwindMachine machine_;
    MakeTable make_table_;
    OnTable on_table_;
    std::vector<Slot> tables_;  // by image
    std::size_t tables_bytes_ = 0;
};

}  // namespace perfleet
