#include "tools/perfleet/function/function_code.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::array<std::string_view, 10> kPrefixes{"bnd",  "notrack", "rep", "repz",   "repnz",
                                                     "lock", "cs",      "ds",  "data16", "addr32"};
constexpr std::array<std::string_view, 16> kRegisters{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

std::string_view take_word(std::string_view& rest) {
    const std::size_t first = std::min(rest.find_first_not_of(" \t"), rest.size());
    const std::size_t end = std::min(rest.find_first_of(" \t", first), rest.size());
    const std::string_view word = rest.substr(first, end - first);
    rest.remove_prefix(end);
    return word;
}

struct Instruction {
    std::string_view name;
    std::string_view operand;  // the first
};

Instruction read_text(std::string_view text) {
    Instruction instruction;
    do {
        instruction.name = take_word(text);
    } while (std::find(kPrefixes.begin(), kPrefixes.end(), instruction.name) != kPrefixes.end());
    instruction.operand = take_word(text);
    return instruction;
}

// A branch hint stands behind a comma: "jne,pn".
bool is_conditional_jump(std::string_view name) {
    return (name.starts_with('j') && !name.starts_with("jmp")) || name.starts_with("loop");
}

std::optional<std::uint64_t> target_of(std::string_view operand) {
    return number_of<std::uint64_t>(operand.substr(operand.starts_with("0x") ? 2 : 0), 16);
}

// arch/x86/kernel/uprobes.c: branches, calls, nop, and push of a register.
bool is_emulated(const Instruction& instruction) {
    return instruction.name == "nop" || instruction.name.starts_with("call") || instruction.name.starts_with("jmp") ||
           is_conditional_jump(instruction.name) ||
           (instruction.name.starts_with("push") && instruction.operand.starts_with('%'));
}

class CodeReader {
public:
    CodeReader(CodeRange body, CodeRange cold) : body_{body}, cold_{cold} {}

    void read(const DisassembledLine& line) {
        const Instruction instruction = read_text(line.text);
        if (line.address == body_.first) {
            code_.is_first_emulated = is_emulated(instruction);
        }
        if (instruction.name == "(bad)" || instruction.name.starts_with(".")) {
            code_.unknown = line.text;
        } else if (instruction.name.starts_with("ret")) {
            code_.exits.push_back({line.address});
        } else if (instruction.name.starts_with("call")) {
            code_.has_calls = true;
        } else if (instruction.name.starts_with("jmp")) {
            read_jump(line, instruction.operand);
        } else if (is_conditional_jump(instruction.name)) {
            const auto target = target_of(instruction.operand);
            if (!target) {
                code_.unknown = line.text;
            } else if (is_inside(*target)) {
                code_.begins_again |= *target == body_.first;
            } else {
                code_.leads_to = target;
            }
        }
    }

    FunctionCode code() { return std::move(code_); }

private:
    [[nodiscard]] bool is_inside(std::uint64_t address) const { return body_.holds(address) || cold_.holds(address); }

    void read_jump(const DisassembledLine& line, std::string_view operand) {
        if (operand.starts_with("*%")) {
            const auto found = std::find(kRegisters.begin(), kRegisters.end(), operand.substr(2));
            if (found == kRegisters.end()) {
                code_.unknown = line.text;
                return;
            }
            code_.exits.push_back({line.address, true, static_cast<std::uint32_t>(found - kRegisters.begin())});
        } else if (operand.starts_with('*')) {
            // With an index: the table of a switch; else a pointer to a function.
            if (operand.find(',') == std::string_view::npos) {
                add_tail_call(line.address);
            }
        } else if (const auto target = target_of(operand); !target) {
            code_.unknown = line.text;
        } else if (is_inside(*target)) {
            code_.begins_again |= *target == body_.first;
        } else {
            add_tail_call(line.address);
        }
    }

    void add_tail_call(std::uint64_t address) {
        code_.exits.push_back({address});
        ++code_.tail_call_count;
    }

    CodeRange body_;
    CodeRange cold_;
    FunctionCode code_;
};

}  // namespace

FunctionCode read_function_code(std::span<const DisassembledLine> lines, CodeRange body, CodeRange cold) {
    CodeReader reader{body, cold};
    for (const DisassembledLine& line : lines) {
        if (line.is_instruction) {
            reader.read(line);
        }
    }
    return reader.code();
}

}  // namespace perfleet
