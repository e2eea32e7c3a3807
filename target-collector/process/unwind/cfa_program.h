// Executes the call frame instructions of a function (DWARF 5, 6.4.2), and gives a rule for each range of its code.
//
// Limits: the length of the instructions, kRememberedStatesMax and kFunctionRowsMax. The instructions are borrowed and
// untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "target-collector/process/unwind/frame_entry.h"
#include "target-collector/process/unwind/unwind_rule.h"

namespace perfleet {

inline constexpr std::size_t kRememberedStatesMax = 64;
inline constexpr std::size_t kFunctionRowsMax = 1U << 16U;

// The place of a caller's register, as the instructions give it.
struct RegisterPlace {
    enum class Kind : std::uint8_t { kSame, kUndefined, kOffset, kExpression, kOther };
    Kind kind = Kind::kSame;
    std::int64_t offset = 0;                // of kOffset, from the CFA
    std::span<const std::byte> expression;  // of kExpression: gives its address
};

struct FrameState {
    std::uint64_t cfa_register = 0;
    std::int64_t cfa_offset = 0;
    std::span<const std::byte> cfa_expression;  // not empty: replaces register and offset
    RegisterPlace return_address;
    RegisterPlace frame_pointer;
    RegisterPlace rbx;  // x86-64
};

struct FrameRow {
    std::uint64_t address = 0;  // first address of the rule, as linked
    UnwindRule rule;
};

// The state after a CIE's instructions. Empty: malformed, or not for this machine.
[[nodiscard]] std::optional<FrameState> initial_frame_state(UnwindMachine machine, const FrameCie& cie);

// Replaces `rows` by those of a function, ascending, the first at its beginning. False: the instructions are malformed;
// rows up to there are valid, and nothing after them.
[[nodiscard]] bool frame_rows(UnwindMachine machine, const FrameCie& cie, const FrameState& initial,
                              const FrameFde& fde, std::vector<FrameRow>& rows);

}  // namespace perfleet
