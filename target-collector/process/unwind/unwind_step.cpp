#include "target-collector/process/unwind/unwind_step.h"

#include <cstring>

namespace perfleet {
namespace {

constexpr std::uint64_t kWordBytes = StackCopy::kWordBytes;
// AArch64: user addresses have 48 bits; the upper bits may be a signature (pointer authentication) or a tag.
constexpr std::uint64_t kAddressMaskAarch64 = (std::uint64_t{1} << 48U) - 1;

std::uint64_t plus(std::uint64_t address, std::int32_t offset) {
    return address + static_cast<std::uint64_t>(std::int64_t{offset});
}

std::uint64_t code_address(UnwindMachine machine, std::uint64_t address) {
    return machine == UnwindMachine::kAarch64 ? address & kAddressMaskAarch64 : address;
}

// Evaluates the places of a rule with the current registers. `end` has the reason if one can't be read.
class RuleReader {
public:
    RuleReader(const StackCopy& stack, const UnwindRegisters& registers) : stack_{stack}, registers_{registers} {}

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] UnwindEnd end() const { return end_; }

    std::uint64_t cfa(const UnwindRule& rule) {
        switch (rule.cfa_base) {
            case CfaBase::kStackPointer: return plus(registers_.sp, rule.cfa_offset);
            case CfaBase::kFramePointer: return plus(registers_.fp, rule.cfa_offset);
            case CfaBase::kAtStack: return plus(word(plus(registers_.sp, rule.cfa_offset)), rule.cfa_addend);
            case CfaBase::kAtFrame: return plus(word(plus(registers_.fp, rule.cfa_offset)), rule.cfa_addend);
            case CfaBase::kProcedureStub:
                return registers_.sp + kWordBytes +
                       ((registers_.pc & 15U) >= static_cast<std::uint64_t>(rule.cfa_offset) ? kWordBytes : 0);
            case CfaBase::kRbx:
                failed_ = failed_ || !registers_.rbx;
                return plus(registers_.rbx.value_or(0), rule.cfa_offset);
            case CfaBase::kNone:
            case CfaBase::kOutermost: break;
        }
        return 0;
    }

    std::uint64_t saved(SavedAt place, std::int32_t offset, std::uint64_t cfa, std::uint64_t same) {
        switch (place) {
            case SavedAt::kSame: return same;
            case SavedAt::kCfa: return word(plus(cfa, offset));
            case SavedAt::kStack: return word(plus(registers_.sp, offset));
            case SavedAt::kFrame: return word(plus(registers_.fp, offset));
            case SavedAt::kUnknown: break;
        }
        return 0;
    }

    [[nodiscard]] std::optional<std::uint64_t> rbx(const UnwindRule& rule, std::uint64_t cfa) const {
        switch (rule.rbx) {
            case SavedAt::kSame: return registers_.rbx;
            case SavedAt::kCfa: return stack_.word(plus(cfa, rule.rbx_offset));
            case SavedAt::kStack: return stack_.word(plus(registers_.sp, rule.rbx_offset));
            case SavedAt::kFrame: return stack_.word(plus(registers_.fp, rule.rbx_offset));
            case SavedAt::kUnknown: break;
        }
        return std::nullopt;
    }

private:
    std::uint64_t word(std::uint64_t at) {
        const auto value = stack_.word(at);
        if (!value && !failed_) {
            failed_ = true;
            end_ = stack_.missing(at);
        }
        return value.value_or(0);
    }

    const StackCopy& stack_;
    const UnwindRegisters& registers_;
    bool failed_ = false;
    UnwindEnd end_ = UnwindEnd::kBadAddress;
};

}  // namespace

std::optional<std::uint64_t> StackCopy::word(std::uint64_t at) const {
    const std::uint64_t offset = at - address;
    if (at < address || at % word_bytes != 0 || offset > bytes.size() || bytes.size() - offset < word_bytes) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, word_bytes);
    return value;
}

UnwindEnd StackCopy::missing(std::uint64_t at) const {
    return is_cut && at % word_bytes == 0 && at >= address ? UnwindEnd::kStackNotCopied : UnwindEnd::kBadAddress;
}

std::optional<UnwindEnd> unwind_step(UnwindMachine machine, const UnwindRule& rule, const StackCopy& stack,
                                     UnwindRegisters& registers) {
    if (rule.cfa_base == CfaBase::kNone) {
        return UnwindEnd::kNoTable;
    }
    if (rule.cfa_base == CfaBase::kOutermost) {
        return UnwindEnd::kOutermost;
    }
    RuleReader reader{stack, registers};
    UnwindRegisters caller;
    caller.sp = reader.cfa(rule);
    caller.pc =
        code_address(machine, reader.saved(rule.return_address, rule.return_address_offset, caller.sp, registers.lr));
    caller.fp = reader.saved(rule.frame_pointer, rule.frame_pointer_offset, caller.sp, registers.fp);
    caller.lr = caller.pc;
    caller.rbx = reader.rbx(rule, caller.sp);
    if (reader.failed()) {
        return reader.end();
    }
    // A signal may be handled on another stack. Otherwise stacks grow downwards, and only a function that has pushed
    // nothing (AArch64) has its caller's stack pointer.
    const bool moves_on =
        caller.sp > registers.sp || rule.is_signal_frame ||
        (caller.sp == registers.sp && rule.return_address == SavedAt::kSame && caller.pc != registers.pc);
    if (!moves_on || caller.sp % kWordBytes != 0) {
        return UnwindEnd::kBadAddress;
    }
    if (caller.pc == 0) {
        return UnwindEnd::kOutermost;
    }
    registers = caller;
    return std::nullopt;
}

std::optional<UnwindEnd> unwind_step_by_frame_pointer(UnwindMachine machine, const StackCopy& stack,
                                                      UnwindRegisters& registers) {
    if (registers.fp == 0 && registers.is_by_frame_pointer) {
        return UnwindEnd::kOutermost;
    }
    const auto frame_pointer = stack.word(registers.fp);
    const auto return_address = stack.word(registers.fp + stack.word_bytes);
    if (!frame_pointer || !return_address || registers.fp < registers.sp) {
        return stack.missing(registers.fp);
    }
    const std::uint64_t pc = code_address(machine, *return_address);
    if (pc == 0) {
        return UnwindEnd::kOutermost;
    }
    registers = {pc, registers.fp + (2 * stack.word_bytes), *frame_pointer, pc, true, std::nullopt};
    return std::nullopt;
}

}  // namespace perfleet
