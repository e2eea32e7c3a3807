// From the registers and the copied stack of a sample to its call chain, by the unwind tables of the images that are
// mapped, and by frame pointers where code has no table (made at run time, Go's, of 32 bits).
//
// One thread. Tables are made when an image is met first, and are shared by all processes. They are kept by a store, as
// the maps of a BPF program, or here, bounded: kTablesBytesMax of tables; beyond it all are dropped and made anew as
// they are met.
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
#include "target-collector/process/mapping_list.h"
#include "target-collector/process/unwind/unwind_step.h"
#include "target-collector/process/unwind/unwind_table.h"
#include "target-collector/process/unwind/unwind_table_store.h"

namespace perfleet {

class StackUnwinder {
public:
    static constexpr std::size_t kTablesBytesMax = 96U << 20U;

    // Makes the table of an image, which is mapped in the process `pid` by `mapping`; empty: it has none.
    using MakeTable =
        std::function<std::optional<UnwindTable>(ImageIndex image, std::uint32_t pid, const Mapping& mapping)>;
    // `store` is borrowed; null: tables are kept here.
    StackUnwinder(UnwindMachine machine, MakeTable make_table, UnwindTableStore* store = nullptr);

    struct Chain {
        std::array<std::uint64_t, limits::kCallChainDepthMax> addresses;  // the leaf first, return addresses behind it
        std::uint32_t count = 0;
        UnwindEnd end = UnwindEnd::kOutermost;
    };
    // Writes to `chain`, which is large and therefore the caller's. At most `depth_max` frames.
    void unwind(UnwindRegisters registers, const StackCopy& stack, std::uint32_t pid, const MappingList& mappings,
                std::uint32_t depth_max, Chain& chain);

    // Makes the table of a mapped image before a walk passes through it.
    void make_table(std::uint32_t pid, const Mapping& mapping);

    // Images have new numbers from now on; a store is told by its owner.
    void forget_images();

private:
    struct Slot {
        bool is_known = false;
        std::unique_ptr<const UnwindTable> table;  // null: it has none
    };
    void keep_here(ImageIndex image, std::optional<UnwindTable> table);
    [[nodiscard]] UnwindRule rule_of(std::uint32_t pid, const Mapping& mapping, std::uint64_t file_offset);

    UnwindMachine machine_;
    MakeTable make_table_;
    UnwindTableStore* store_;
    std::vector<Slot> tables_;  // by image
    std::size_t tables_bytes_ = 0;
};

}  // namespace perfleet
