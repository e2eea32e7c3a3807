#include "target-collector/process/unwind/cfa_program.h"

#include <limits>

#include "target-collector/process/unwind/dwarf_cursor.h"

namespace perfleet {
namespace {

// DWARF numbers of a machine's registers that are tracked.
struct FollowedRegisters {
    std::uint64_t stack_pointer;
    std::uint64_t frame_pointer;
    std::uint64_t return_address;
    std::uint64_t rbx;
};
constexpr std::uint64_t kNoRegister = ~std::uint64_t{0};
constexpr FollowedRegisters kRegistersX86{7, 6, 16, 3};
constexpr FollowedRegisters kRegistersAarch64{31, 29, 30, kNoRegister};

constexpr const FollowedRegisters& registers_of(UnwindMachine machine) {
    return machine == UnwindMachine::kX86_64 ? kRegistersX86 : kRegistersAarch64;
}

// DW_OP_…
constexpr std::uint8_t kOpDeref = 0x06;
constexpr std::uint8_t kOpAnd = 0x1a;
constexpr std::uint8_t kOpPlus = 0x22;
constexpr std::uint8_t kOpPlusConstant = 0x23;
constexpr std::uint8_t kOpShiftLeft = 0x24;
constexpr std::uint8_t kOpGreaterOrEqual = 0x2a;
constexpr std::uint8_t kOpLiteral0 = 0x30;
constexpr std::uint8_t kOpRegister0 = 0x70;  // DW_OP_breg0: its value plus an offset

// A register plus an offset; optionally the memory there; optionally plus a constant.
struct SimpleExpression {
    std::uint64_t base_register = 0;
    std::int64_t offset = 0;
    bool is_loaded = false;
    std::uint64_t addend = 0;
};

std::optional<SimpleExpression> simple_expression(std::span<const std::byte> bytes) {
    DwarfCursor cursor{bytes};
    const auto op = cursor.fixed<std::uint8_t>();
    if (op < kOpRegister0 || op > kOpRegister0 + 31) {
        return std::nullopt;
    }
    SimpleExpression simple;
    simple.base_register = op - kOpRegister0;
    simple.offset = cursor.sleb();
    if (!cursor.at_end()) {
        simple.is_loaded = cursor.fixed<std::uint8_t>() == kOpDeref;
        if (!simple.is_loaded) {
            return std::nullopt;
        }
    }
    if (!cursor.at_end()) {
        if (cursor.fixed<std::uint8_t>() != kOpPlusConstant) {
            return std::nullopt;
        }
        simple.addend = cursor.uleb();
    }
    return cursor.failed() || !cursor.at_end() ? std::nullopt : std::optional{simple};
}

// The expression that linkers write for x86-64's PLT: rsp + 8 + ((rip & 15) >= N) << 3. Returns N.
std::optional<std::int32_t> stub_threshold(std::span<const std::byte> bytes) {
    DwarfCursor cursor{bytes};
    const bool begins =
        cursor.fixed<std::uint8_t>() == kOpRegister0 + kRegistersX86.stack_pointer && cursor.sleb() == 8 &&
        cursor.fixed<std::uint8_t>() == kOpRegister0 + kRegistersX86.return_address && cursor.sleb() == 0 &&
        cursor.fixed<std::uint8_t>() == kOpLiteral0 + 15 && cursor.fixed<std::uint8_t>() == kOpAnd;
    const auto literal = cursor.fixed<std::uint8_t>();
    const bool ends = cursor.fixed<std::uint8_t>() == kOpGreaterOrEqual &&
                      cursor.fixed<std::uint8_t>() == kOpLiteral0 + 3 && cursor.fixed<std::uint8_t>() == kOpShiftLeft &&
                      cursor.fixed<std::uint8_t>() == kOpPlus;
    if (!begins || !ends || cursor.failed() || !cursor.at_end() || literal < kOpLiteral0 ||
        literal > kOpLiteral0 + 15) {
        return std::nullopt;
    }
    return literal - kOpLiteral0;
}

bool fits(std::int64_t value) {
    return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

// False: a rule can't express it.
bool take_cfa(const FollowedRegisters& registers, const FrameState& state, UnwindRule& rule) {
    SimpleExpression simple{state.cfa_register, state.cfa_offset, false, 0};
    if (!state.cfa_expression.empty()) {
        if (const auto threshold = stub_threshold(state.cfa_expression)) {
            rule.cfa_base = CfaBase::kProcedureStub;
            rule.cfa_offset = *threshold;
            return registers.return_address == kRegistersX86.return_address;
        }
        const auto expression = simple_expression(state.cfa_expression);
        if (!expression) {
            return false;
        }
        simple = *expression;
    }
    if (simple.base_register == registers.rbx && !simple.is_loaded && fits(simple.offset)) {
        rule.cfa_base = CfaBase::kRbx;
        rule.cfa_offset = static_cast<std::int32_t>(simple.offset);
        return true;
    }
    const bool is_stack = simple.base_register == registers.stack_pointer;
    if ((!is_stack && simple.base_register != registers.frame_pointer) || !fits(simple.offset) ||
        simple.addend > 0x7fff'ffff) {
        return false;
    }
    rule.cfa_base = simple.is_loaded ? (is_stack ? CfaBase::kAtStack : CfaBase::kAtFrame)
                                     : (is_stack ? CfaBase::kStackPointer : CfaBase::kFramePointer);
    rule.cfa_offset = static_cast<std::int32_t>(simple.offset);
    rule.cfa_addend = static_cast<std::int32_t>(simple.addend);
    return true;
}

bool take_place(const FollowedRegisters& registers, const RegisterPlace& place, SavedAt& saved, std::int32_t& offset) {
    if (place.kind == RegisterPlace::Kind::kOther) {
        return false;
    }
    if (place.kind == RegisterPlace::Kind::kOffset) {
        saved = SavedAt::kCfa;
        offset = static_cast<std::int32_t>(place.offset);
        return fits(place.offset);
    }
    if (place.kind == RegisterPlace::Kind::kExpression) {
        const auto simple = simple_expression(place.expression);
        if (!simple || simple->is_loaded || !fits(simple->offset)) {
            return false;
        }
        saved = simple->base_register == registers.stack_pointer ? SavedAt::kStack : SavedAt::kFrame;
        offset = static_cast<std::int32_t>(simple->offset);
        return saved == SavedAt::kStack || simple->base_register == registers.frame_pointer;
    }
    saved = SavedAt::kSame;
    offset = 0;
    return true;
}

UnwindRule rule_of(UnwindMachine machine, const FrameState& state, bool is_signal_frame) {
    const FollowedRegisters& registers = registers_of(machine);
    UnwindRule rule;
    if (state.return_address.kind == RegisterPlace::Kind::kUndefined) {
        rule.cfa_base = CfaBase::kOutermost;
        return rule;
    }
    // Code that doesn't define the frame pointer's place doesn't change the register.
    RegisterPlace frame_pointer = state.frame_pointer;
    if (frame_pointer.kind == RegisterPlace::Kind::kUndefined) {
        frame_pointer = {};
    }
    rule.is_signal_frame = is_signal_frame;
    const bool has_link_register = machine == UnwindMachine::kAarch64;
    if (!take_cfa(registers, state, rule) ||
        !take_place(registers, state.return_address, rule.return_address, rule.return_address_offset) ||
        !take_place(registers, frame_pointer, rule.frame_pointer, rule.frame_pointer_offset) ||
        (rule.return_address == SavedAt::kSame && !has_link_register)) {
        return {};
    }
    if (!take_place(registers, state.rbx, rule.rbx, rule.rbx_offset)) {
        rule.rbx = SavedAt::kUnknown;
        rule.rbx_offset = 0;
    }
    return rule;
}

enum class Step : std::uint8_t { kRow, kEnd, kBroken };

class CfaProgram {
public:
    CfaProgram(UnwindMachine machine, const FrameCie& cie, const FrameState& initial, const FrameState* restorable,
               std::span<const std::byte> instructions)
        : registers_{registers_of(machine)},
          cie_{cie},
          state_{initial},
          restorable_{restorable},
          cursor_{instructions} {}

    [[nodiscard]] const FrameState& state() const { return state_; }

    // Runs up to the next advance of the address. kRow: `delta` is the advance.
    Step run_to_next_row(std::uint64_t& delta) {
        while (!cursor_.at_end()) {
            const auto op = cursor_.fixed<std::uint8_t>();
            const std::uint64_t low = op & 0x3fU;
            switch (op & 0xc0U) {
                case 0x40:  // DW_CFA_advance_loc
                    delta = low * cie_.code_alignment;
                    return Step::kRow;
                case 0x80: set_offset(low, scaled(static_cast<std::int64_t>(cursor_.uleb()))); continue;
                case 0xc0: restore(low); continue;
                default: break;
            }
            if (const Step step = run_extended(op, delta); step != Step::kEnd) {
                return step;
            }
        }
        return cursor_.failed() ? Step::kBroken : Step::kEnd;
    }

private:
    // kEnd: continue with the next instruction.
    Step run_extended(std::uint8_t op, std::uint64_t& delta) {
        switch (op) {
            case 0x00: break;  // DW_CFA_nop
            case 0x02: delta = cursor_.fixed<std::uint8_t>() * cie_.code_alignment; return moved();
            case 0x03: delta = cursor_.fixed<std::uint16_t>() * cie_.code_alignment; return moved();
            case 0x04: delta = cursor_.fixed<std::uint32_t>() * cie_.code_alignment; return moved();
            case 0x05: set_offset_scaled(cursor_.uleb(), static_cast<std::int64_t>(cursor_.uleb())); break;
            case 0x06: restore(cursor_.uleb()); break;
            case 0x07: set(cursor_.uleb(), RegisterPlace::Kind::kUndefined); break;
            case 0x08: set(cursor_.uleb(), RegisterPlace::Kind::kSame); break;
            case 0x09: {  // DW_CFA_register
                const std::uint64_t number = cursor_.uleb();
                set(number, cursor_.uleb() == number ? RegisterPlace::Kind::kSame : RegisterPlace::Kind::kOther);
                break;
            }
            case 0x0a:  // DW_CFA_remember_state
                if (remembered_.size() == kRememberedStatesMax) {
                    return Step::kBroken;
                }
                remembered_.push_back(state_);
                break;
            case 0x0b:  // DW_CFA_restore_state
                if (remembered_.empty()) {
                    return Step::kBroken;
                }
                state_ = remembered_.back();
                remembered_.pop_back();
                break;
            case 0x0c: {  // DW_CFA_def_cfa
                const std::uint64_t number = cursor_.uleb();
                define_cfa(number, static_cast<std::int64_t>(cursor_.uleb()));
                break;
            }
            case 0x0d: define_cfa(cursor_.uleb(), state_.cfa_offset); break;
            case 0x0e: define_cfa(state_.cfa_register, static_cast<std::int64_t>(cursor_.uleb())); break;
            case 0x0f: state_.cfa_expression = cursor_.take(cursor_.uleb()); break;
            case 0x10: {  // DW_CFA_expression
                const std::uint64_t number = cursor_.uleb();
                set(number, RegisterPlace::Kind::kExpression, 0, cursor_.take(cursor_.uleb()));
                break;
            }
            case 0x11: {  // DW_CFA_offset_extended_sf
                const std::uint64_t number = cursor_.uleb();
                set_offset_scaled(number, cursor_.sleb());
                break;
            }
            case 0x12: {  // DW_CFA_def_cfa_sf
                const std::uint64_t number = cursor_.uleb();
                define_cfa(number, scaled(cursor_.sleb()));
                break;
            }
            case 0x13: define_cfa(state_.cfa_register, scaled(cursor_.sleb())); break;
            case 0x14:
            case 0x15: {  // DW_CFA_val_offset, DW_CFA_val_offset_sf
                const std::uint64_t number = cursor_.uleb();
                (void)cursor_.uleb();
                set(number, RegisterPlace::Kind::kOther);
                break;
            }
            case 0x16: {  // DW_CFA_val_expression
                const std::uint64_t number = cursor_.uleb();
                (void)cursor_.take(cursor_.uleb());
                set(number, RegisterPlace::Kind::kOther);
                break;
            }
            case 0x2d: break;                        // DW_CFA_AARCH64_negate_ra_state: signatures are removed anyway
            case 0x2e: (void)cursor_.uleb(); break;  // DW_CFA_GNU_args_size
            case 0x2f: {                             // DW_CFA_GNU_negative_offset_extended
                const std::uint64_t number = cursor_.uleb();
                set_offset(number, negated(scaled(static_cast<std::int64_t>(cursor_.uleb()))));
                break;
            }
            default: return Step::kBroken;  // includes DW_CFA_set_loc, which no linker writes
        }
        return Step::kEnd;
    }

    [[nodiscard]] Step moved() const { return cursor_.failed() ? Step::kBroken : Step::kRow; }

    // Malicious factors wrap; values that don't fit a rule are refused later.
    [[nodiscard]] std::int64_t scaled(std::int64_t value) const {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) *
                                         static_cast<std::uint64_t>(cie_.data_alignment));
    }
    [[nodiscard]] static std::int64_t negated(std::int64_t value) {
        return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value));
    }

    void set_offset_scaled(std::uint64_t number, std::int64_t value) { set_offset(number, scaled(value)); }
    void set_offset(std::uint64_t number, std::int64_t offset) { set(number, RegisterPlace::Kind::kOffset, offset); }
    void set(std::uint64_t number, RegisterPlace::Kind kind, std::int64_t offset = 0,
             std::span<const std::byte> expression = {}) {
        if (number == registers_.return_address) {
            state_.return_address = {kind, offset, expression};
        } else if (number == registers_.frame_pointer) {
            state_.frame_pointer = {kind, offset, expression};
        } else if (number == registers_.rbx) {
            state_.rbx = {kind, offset, expression};
        }
    }
    void restore(std::uint64_t number) {
        if (restorable_ == nullptr) {
            return;
        }
        if (number == registers_.return_address) {
            state_.return_address = restorable_->return_address;
        } else if (number == registers_.frame_pointer) {
            state_.frame_pointer = restorable_->frame_pointer;
        } else if (number == registers_.rbx) {
            state_.rbx = restorable_->rbx;
        }
    }
    void define_cfa(std::uint64_t number, std::int64_t offset) {
        state_.cfa_register = number;
        state_.cfa_offset = offset;
        state_.cfa_expression = {};
    }

    const FollowedRegisters& registers_;
    const FrameCie& cie_;
    FrameState state_;
    const FrameState* restorable_;  // for DW_CFA_restore
    DwarfCursor cursor_;
    std::vector<FrameState> remembered_;
};

}  // namespace

std::optional<FrameState> initial_frame_state(UnwindMachine machine, const FrameCie& cie) {
    if (cie.return_address_register != registers_of(machine).return_address) {
        return std::nullopt;
    }
    CfaProgram program{machine, cie, {}, nullptr, cie.instructions};
    std::uint64_t delta = 0;
    return program.run_to_next_row(delta) == Step::kEnd ? std::optional{program.state()} : std::nullopt;
}

bool frame_rows(UnwindMachine machine, const FrameCie& cie, const FrameState& initial, const FrameFde& fde,
                std::vector<FrameRow>& rows) {
    rows.clear();
    CfaProgram program{machine, cie, initial, &initial, fde.instructions};
    std::uint64_t offset = 0;
    for (;;) {
        std::uint64_t delta = 0;
        const Step step = program.run_to_next_row(delta);
        const bool is_broken = step == Step::kBroken || rows.size() == kFunctionRowsMax;
        const UnwindRule rule = is_broken ? UnwindRule{} : rule_of(machine, program.state(), cie.is_signal_frame);
        if (rows.empty() || rows.back().rule != rule) {
            rows.push_back({fde.address + offset, rule});
        }
        if (is_broken || step == Step::kEnd) {
            return !is_broken;
        }
        if (delta >= fde.size_bytes - offset) {
            return true;
        }
        offset += delta;
        if (delta == 0 && !rows.empty() && rows.back().address == fde.address + offset) {
            // Another row at the same address replaces this one.
            rows.pop_back();
        }
    }
}

}  // namespace perfleet
