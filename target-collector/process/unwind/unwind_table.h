// The unwind table of an image: maps places of its code to rules that give the caller. 6 bytes a row.
//
// Places are file offsets, like those of frames. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/process/unwind/elf_frames.h"
#include "target-collector/process/unwind/unwind_rule.h"

namespace perfleet {

inline constexpr std::size_t kUnwindRowsMax = 1U << 22U;  // of one image; libLLVM has 0.95 million
inline constexpr std::size_t kUnwindRulesMax = 1U << 16U;
// Gaps of up to this size between functions get no row: nothing runs there, and they would be a tenth of all rows.
inline constexpr std::uint64_t kUnwindPaddingBytesMax = 15;
inline constexpr std::uint64_t kUnwindEntryBytesMax = 128;  // of code without a rule at a program's entry point

class UnwindTable {
public:
    // Errors: kTooLarge; those of read_elf_frames().
    [[nodiscard]] static Result<UnwindTable> compile(const ElfFrames& frames);
    [[nodiscard]] static Result<UnwindTable> of_image(const ReadImage& read, std::uint64_t size_bytes);

    // kNone if no rule covers the offset.
    [[nodiscard]] const UnwindRule& find(std::uint64_t file_offset) const;

    [[nodiscard]] UnwindMachine machine() const { return machine_; }
    [[nodiscard]] std::size_t row_count() const { return places_.size(); }
    [[nodiscard]] std::size_t rule_count() const { return rules_.size(); }
    [[nodiscard]] std::size_t size_bytes() const;
    // Number of functions whose unwind information is malformed, or can't be expressed by a rule.
    [[nodiscard]] std::uint64_t refused_count() const { return refused_count_; }

    // A row is valid from its place to the next one's.
    [[nodiscard]] std::uint64_t place(std::size_t row) const { return places_[row]; }
    [[nodiscard]] const UnwindRule& rule(std::size_t row) const { return rules_[rule_indices_[row]]; }
    // Rows share rules: the number of a row's rule, and the rule with a number.
    [[nodiscard]] std::uint16_t rule_index(std::size_t row) const { return rule_indices_[row]; }
    [[nodiscard]] const UnwindRule& rule_at(std::size_t index) const { return rules_[index]; }

private:
    UnwindMachine machine_{};
    std::vector<std::uint32_t> places_;        // ascending
    std::vector<std::uint16_t> rule_indices_;  // of each
    std::vector<UnwindRule> rules_;            // each once; the first is kNone
    std::uint64_t refused_count_ = 0;

    friend class UnwindTableBuilder;
    friend std::string unwind_table_bytes(const UnwindTable& table);  // table_bytes.h
    friend Result<UnwindTable> unwind_table_of_bytes(std::span<const std::byte> bytes);
};

}  // namespace perfleet
