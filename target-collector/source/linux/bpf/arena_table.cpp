#include "target-collector/source/linux/bpf/arena_table.h"

#include <cstring>

namespace perfleet {
namespace {

static_assert(sizeof(UnwindRule) <= sizeof(unwind_rule_words));
static_assert(offsetof(UnwindRule, cfa_base) == offsetof(unwind_rule_words, cfa_base));
static_assert(offsetof(UnwindRule, return_address) == offsetof(unwind_rule_words, return_address));
static_assert(offsetof(UnwindRule, frame_pointer) == offsetof(unwind_rule_words, frame_pointer));
static_assert(offsetof(UnwindRule, is_signal_frame) == offsetof(unwind_rule_words, is_signal_frame));
static_assert(offsetof(UnwindRule, cfa_offset) == offsetof(unwind_rule_words, cfa_offset));
static_assert(offsetof(UnwindRule, cfa_addend) == offsetof(unwind_rule_words, cfa_addend));
static_assert(offsetof(UnwindRule, return_address_offset) == offsetof(unwind_rule_words, return_address_offset));
static_assert(offsetof(UnwindRule, frame_pointer_offset) == offsetof(unwind_rule_words, frame_pointer_offset));
static_assert(offsetof(UnwindRule, rbx_offset) == offsetof(unwind_rule_words, rbx_offset));
static_assert(offsetof(UnwindRule, rbx) == offsetof(unwind_rule_words, rbx));

constexpr std::uint32_t kPartAlignment = sizeof(unwind_rule_words);

std::uint32_t block_of(const UnwindTable& table, std::size_t row) {
    return static_cast<std::uint32_t>(table.place(row) >> UNWIND_BLOCK_SHIFT);
}

struct Parts {
    std::uint32_t block_count = 0;
    std::uint32_t index_bytes = 0;
    std::uint32_t places_bytes = 0;
    std::uint32_t rules_bytes = 0;

    explicit Parts(const UnwindTable& table)
        : block_count{block_of(table, table.row_count() - 1) - block_of(table, 0) + 1},
          index_bytes{arena_aligned((block_count + std::size_t{1}) * sizeof(std::uint32_t))},
          places_bytes{arena_aligned(table.row_count() * sizeof(std::uint32_t))},
          rules_bytes{arena_aligned(table.row_count() * sizeof(std::uint16_t))} {}
};

std::byte* arena_at(std::span<std::byte* const> slabs, std::uint32_t at) {
    return slabs[at >> UNWIND_SLAB_SHIFT] + (at & (UNWIND_SLAB_BYTES - 1));
}

template <class Value>
Value arena_value(std::span<std::byte* const> slabs, std::uint32_t at) {
    Value value{};
    std::memcpy(&value, arena_at(slabs, at), sizeof(value));
    return value;
}

// Writes elements one after the other. None crosses slabs: their sizes divide their offsets.
class ArenaWriter {
public:
    ArenaWriter(std::span<std::byte* const> slabs, std::uint32_t at) : slabs_{slabs}, at_{at} {}
    template <class Value>
    void put(const Value& value) {
        std::memcpy(arena_at(slabs_, at_), &value, sizeof(value));
        at_ += static_cast<std::uint32_t>(sizeof(value));
    }

private:
    std::span<std::byte* const> slabs_;
    std::uint32_t at_;
};

}  // namespace

std::uint32_t arena_aligned(std::size_t size_bytes) {
    return static_cast<std::uint32_t>((size_bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment);
}

std::uint64_t arena_table_bytes(const UnwindTable& table) {
    const Parts parts{table};
    return std::uint64_t{kPartAlignment} + parts.index_bytes + parts.places_bytes + parts.rules_bytes +
           (table.rule_count() * sizeof(unwind_rule_words));
}

void write_arena_table(const UnwindTable& table, std::uint32_t at, std::span<std::byte* const> slabs,
                       unwind_table& into) {
    const Parts parts{table};
    const std::size_t rows = table.row_count();
    into.index_at = at + kPartAlignment;  // so that offset 0 can't be that of a rule
    into.places_at = into.index_at + parts.index_bytes;
    into.rules_at = into.places_at + parts.places_bytes;
    into.rule_words_at = into.rules_at + parts.rules_bytes;
    into.first_block = block_of(table, 0);
    into.block_count = parts.block_count;
    ArenaWriter index{slabs, into.index_at};
    std::size_t row = 0;
    for (std::uint32_t block = into.first_block; block <= into.first_block + parts.block_count; ++block) {
        while (row < rows && block_of(table, row) < block) {
            ++row;
        }
        index.put(static_cast<std::uint32_t>(row));
    }
    ArenaWriter places{slabs, into.places_at};
    ArenaWriter rules{slabs, into.rules_at};
    for (row = 0; row < rows; ++row) {
        places.put(static_cast<std::uint32_t>(table.place(row)));
        rules.put(table.rule_index(row));
    }
    ArenaWriter words{slabs, into.rule_words_at};
    for (std::size_t i = 0; i < table.rule_count(); ++i) {
        unwind_rule_words rule{};
        std::memcpy(&rule, &table.rule_at(i), sizeof(UnwindRule));
        words.put(rule);
    }
}

UnwindRule rule_in_arena(const unwind_table& table, std::span<std::byte* const> slabs, std::uint64_t file_offset) {
    const std::uint64_t block = (file_offset >> UNWIND_BLOCK_SHIFT) - table.first_block;
    if (block >= table.block_count) {
        return {};
    }
    const auto index_at = table.index_at + static_cast<std::uint32_t>(block * sizeof(std::uint32_t));
    auto first = arena_value<std::uint32_t>(slabs, index_at);
    auto last = arena_value<std::uint32_t>(slabs, index_at + sizeof(std::uint32_t));
    while (first < last) {
        const std::uint32_t middle = first + ((last - first) / 2);
        const auto place = arena_value<std::uint32_t>(
            slabs, table.places_at + middle * static_cast<std::uint32_t>(sizeof(std::uint32_t)));
        (place <= file_offset ? first : last) = place <= file_offset ? middle + 1 : middle;
    }
    if (first == 0) {
        return {};
    }
    const auto number = arena_value<std::uint16_t>(
        slabs, table.rules_at + (first - 1) * static_cast<std::uint32_t>(sizeof(std::uint16_t)));
    const auto words = arena_value<unwind_rule_words>(
        slabs, table.rule_words_at + number * static_cast<std::uint32_t>(sizeof(unwind_rule_words)));
    UnwindRule rule;
    std::memcpy(static_cast<void*>(&rule), &words, sizeof(rule));
    return rule;
}

}  // namespace perfleet
