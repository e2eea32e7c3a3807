// The details of samples beside their call chains (Kind::kDetailedSample), as `perf script` prints them: registers,
// branches, addresses of data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exporters/rows/row_merge.h"
#include "exporters/script/script_options.h"
#include "schemas/session/session_record.h"

namespace perfleet {

// Of an event of a session, by the attr with which it was recorded.
class SampleDetails {
public:
    SampleDetails(const SessionRecord& session, EventNumber event);

    // Whether its samples have the field. False for fields that aren't details.
    [[nodiscard]] bool has(ScriptField field) const;

    // Text of the field, with perf's space before or behind it. Empty where the row has no details.
    [[nodiscard]] std::string text(ScriptField field, const MergedRow& row) const;

    // Names and values, in perf's order; those of registers with `ABI` first.
    using Values = std::vector<std::pair<std::string, std::uint64_t>>;
    [[nodiscard]] Values registers(ScriptField field, const MergedRow& row) const;

    struct Branch {
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        std::uint64_t flags = 0;  // perf_branch_entry's third word
    };
    // The latest first.
    [[nodiscard]] std::vector<Branch> branches(const MergedRow& row) const;

    // A number of the row: addr, data_src, weight, phys_addr.
    [[nodiscard]] std::uint64_t number(ScriptField field, const MergedRow& row) const;

private:
    std::string architecture_;
    std::uint64_t sample_type_ = 0;
    std::uint64_t user_registers_ = 0;  // masks
    std::uint64_t interrupt_registers_ = 0;
    std::uint64_t branch_type_ = 0;
};

// The fields that a row has only with details, in perf's order: the numbers before the call chain, the others behind
// it.
inline constexpr std::array kNumbersOfDetails{ScriptField::kAddr, ScriptField::kDataSrc, ScriptField::kWeight};
inline constexpr std::array kDetailsBehindChain{ScriptField::kIregs, ScriptField::kUregs, ScriptField::kBrstack,
                                                ScriptField::kPhysAddr};
[[nodiscard]] bool is_detail(ScriptField field);
// How to record it: "perfleet record -I".
[[nodiscard]] std::string option_of(ScriptField field);

}  // namespace perfleet
