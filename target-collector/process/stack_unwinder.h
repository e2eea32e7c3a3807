// Unwinds the registers and the copied stack of a sample into its call chain, by the unwind tables of mapped images,
// and by frame pointers in code without a table (JIT, Go, 32-bit).
//
// One thread. Tables are made when an image is first seen and are shared by all processes. They are kept in a store,
// such as the maps of a BPF program, or here: above kTablesBytesMax all tables are dropped and made again on demand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

    // Makes the table of an image, which process `pid` has mapped at `mapping`; empty: none.
    using MakeTable =
        std::function<std::optional<UnwindTable>(ImageIndex image, std::uint32_t pid, const Mapping& mapping)>;
    // `store` is borrowed; null: tables are kept here.
    StackUnwinder(UnwindMachine machine, MakeTable make_table, UnwindTableStore* store = nullptr);

    struct Chain {
        std::array<std::uint64_t, limits::kCallChainDepthMax> addresses;  // the leaf first, then return addresses
        std::uint32_t count = 0;
        UnwindEnd end = UnwindEnd::kOutermost;
    };
    // Writes to `chain`, which is large and belongs to the caller. At most `depth_max` frames.
    void unwind(UnwindRegisters registers, const StackCopy& stack, std::uint32_t pid, const MappingList& mappings,
                std::uint32_t depth_max, Chain& chain);

    // Makes the table of a mapped image in advance.
    void make_table(std::uint32_t pid, const Mapping& mapping);

    // Images get new numbers from now on; the store's owner updates the store.
    void forget_images();

private:
    struct Slot {
        bool is_known = false;
        std::unique_ptr<const UnwindTable> table;  // null: the image has none
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
