#include "tools/perfleet/function/code_instruction.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

using enum InstructionKind;

constexpr std::array<std::string_view, 12> kPrefixes{"bnd", "notrack", "rep", "repz", "repnz",  "lock",
                                                     "cs",  "ds",      "es",  "ss",   "data16", "addr32"};
constexpr std::array<std::string_view, 16> kRegisters{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
constexpr std::array<std::string_view, 16> kConditions{"jo", "jno", "jb", "jae", "je", "jne", "jbe", "ja",
                                                       "js", "jns", "jp", "jnp", "jl", "jge", "jle", "jg"};

// Instructions on which the kernel sets no probe (arch/x86/kernel/uprobes.c).
constexpr std::array<std::string_view, 6> kRefusedPrefixes{"lock", "cs", "ds", "es", "ss", "notrack"};
constexpr std::array<std::string_view, 6> kRefusedNames{"int", "in", "out", "cli", "sti", "iret"};

std::string_view take_word(std::string_view& rest) {
    const std::size_t first = std::min(rest.find_first_not_of(" \t"), rest.size());
    const std::size_t end = std::min(rest.find_first_of(" \t", first), rest.size());
    const std::string_view word = rest.substr(first, end - first);
    rest.remove_prefix(end);
    return word;
}

template <std::size_t kSize>
std::optional<std::uint32_t> index_of(std::string_view word, const std::array<std::string_view, kSize>& words) {
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? std::nullopt : std::optional{static_cast<std::uint32_t>(found - words.begin())};
}

std::optional<std::uint64_t> address_of(std::string_view operand) {
    return number_of<std::uint64_t>(operand.substr(operand.starts_with("0x") ? 2 : 0), 16);
}

// "0x10", "-0x8"; empty: 0.
std::optional<std::int64_t> displacement_of(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    const auto size = text.empty() ? std::optional<std::uint64_t>{0} : address_of(text.substr(is_negative ? 1 : 0));
    return size ? std::optional{static_cast<std::int64_t>(is_negative ? 0 - *size : *size)} : std::nullopt;
}

CodeInstruction jump_to(std::string_view operand, std::uint32_t condition) {
    CodeInstruction read;
    const auto target = address_of(operand);
    read.kind = target ? kJump : kUnknown;
    read.target = target.value_or(0);
    read.branch = jump_if(condition);
    return read;
}

// "… 0x2fe2(%rip)  # 4000 <f>"
std::optional<std::uint64_t> named_address(std::string_view text) {
    const std::size_t hash = text.find('#');
    text.remove_prefix(hash == std::string_view::npos ? text.size() : hash + 1);
    return address_of(take_word(text));
}

// "%rax", "0x10(%rax)", "(%rdx,%rax,8)", "0x2fe2(%rip)  # 4000 <f>", "%fs:0x10"; after the star. False: none of these.
bool read_operand(std::string_view operand, std::string_view comment, std::uint64_t address, function_branch& jump) {
    jump.is_computed = 1;
    jump.base = FUNCTION_NO_REGISTER;
    jump.index = FUNCTION_NO_REGISTER;
    if (operand.starts_with("%") && operand.find(':') == std::string_view::npos) {
        const auto number = index_of(operand.substr(1), kRegisters);
        jump.base = number.value_or(0);
        return number.has_value();
    }
    if (operand.starts_with("%")) {  // thread-local: pointers to functions
        jump.is_computed = 0;
        return true;
    }
    jump.is_loaded = 1;
    const std::size_t open = operand.find('(');
    const auto displacement = displacement_of(operand.substr(0, open));
    jump.displacement = displacement.value_or(0);
    if (!displacement || open == std::string_view::npos) {
        return displacement.has_value();
    }
    std::string_view inside = operand.substr(open + 1, operand.find(')', open) - open - 1);
    if (inside == "%rip") {
        const auto pointer = named_address(comment);
        jump.base = FUNCTION_OWN_ADDRESS;
        jump.displacement = static_cast<std::int64_t>(pointer.value_or(0) - address);
        return pointer.has_value();
    }
    const auto take_part = [&] {
        const std::string_view part = inside.substr(0, inside.find(','));
        inside.remove_prefix(std::min(part.size() + 1, inside.size()));
        return part;
    };
    const std::string_view base = take_part();
    const std::string_view index = take_part();
    const auto base_number =
        base.empty() ? std::optional{std::uint32_t{FUNCTION_NO_REGISTER}} : index_of(base.substr(1), kRegisters);
    const auto index_number = index.empty() || index == "%riz" ? std::optional{std::uint32_t{FUNCTION_NO_REGISTER}}
                                                               : index_of(index.substr(1), kRegisters);
    jump.base = base_number.value_or(0);
    jump.index = index_number.value_or(0);
    jump.scale = inside.empty() ? 1 : number_of<std::uint32_t>(inside).value_or(1);
    return base_number && index_number;
}

// Branches, calls, nop, and push of a register (arch/x86/kernel/uprobes.c).
CodeInstruction read_x86(const DisassembledLine& line) {
    std::string_view rest = line.text;
    std::string_view name = take_word(rest);
    const bool has_lock = name == "lock";
    bool is_refused = false;
    bool is_untracked = false;
    bool is_of_words = false;
    for (; index_of(name, kPrefixes); name = take_word(rest)) {
        is_refused |= index_of(name, kRefusedPrefixes).has_value();
        is_untracked |= name == "notrack";
        is_of_words |= name == "data16";
    }
    const std::string_view operand = take_word(rest);
    const bool is_branch = name.starts_with('j') || name.starts_with("call") || name.starts_with("loop");
    is_refused |= index_of(name, kRefusedNames) || line.text.find("%cs:") != std::string::npos ||
                  line.text.find("%ss:") != std::string::npos || name.find(",p") != std::string_view::npos ||
                  (is_branch && (is_of_words || name == "jmpw" || name == "callw"));
    CodeInstruction read;
    if (name.empty() || name == "(bad)" || name.starts_with('.')) {
        read.kind = kUnknown;
    } else if (name.starts_with("ret")) {
        read.kind = kReturn;
        read.branch = a_return();
    } else if (name == "ud2" || name == "hlt" || name == "int3") {
        read.kind = kStop;
    } else if (name.starts_with("jmp") && operand.starts_with('*')) {
        read.kind = read_operand(operand.substr(1), rest, line.address, read.branch) ? kComputedJump : kUnknown;
    } else if (name.starts_with("jmp")) {
        read = jump_to(operand, FUNCTION_ALWAYS);
    } else if (name.starts_with('j') || name.starts_with("loop")) {
        // A branch hint follows a comma: "jne,pn".
        read = jump_to(operand, index_of(name.substr(0, name.find(',')), kConditions).value_or(FUNCTION_SOMETIMES));
    }
    if (!is_branch && line.text.find("(%rip)") != std::string::npos) {
        read.reads_from = named_address(line.text).value_or(0);
    }
    read.has_lock = has_lock;
    read.is_refused = is_refused;
    read.is_untracked = is_untracked;
    read.is_emulated = name == "nop" || is_branch || (name.starts_with("push") && operand.starts_with('%'));
    return read;
}

// "x16" of "x16, x17".
std::optional<std::uint32_t> arm_register_of(std::string_view operand) {
    constexpr std::uint32_t kRegisterLast = 30;
    const std::string_view name = operand.substr(0, operand.find(','));
    const auto number = name.starts_with('x') ? number_of<std::uint32_t>(name.substr(1)) : std::nullopt;
    return number && *number <= kRegisterLast ? number : std::nullopt;
}

CodeInstruction read_aarch64(const DisassembledLine& line) {
    std::string_view rest = line.text;
    const std::string_view name = take_word(rest);
    CodeInstruction read;
    if (name.empty() || name.starts_with('.')) {
        read.kind = kUnknown;
    } else if (name == "ret" || name == "retaa" || name == "retab") {
        read.kind = kReturn;
        read.branch = a_return();
    } else if (name == "brk" || name == "udf" || name == "hlt") {
        read.kind = kStop;
    } else if (name == "br" || name.starts_with("braa") || name.starts_with("brab")) {
        const auto number = arm_register_of(take_word(rest));
        read.kind = number ? kComputedJump : kUnknown;
        read.branch.is_computed = 1;
        read.branch.base = number.value_or(0);
        read.branch.index = FUNCTION_NO_REGISTER;
    } else if (name == "b") {
        read = jump_to(take_word(rest), FUNCTION_ALWAYS);
    } else if (name.starts_with("b.") || name.starts_with("bc.")) {
        read = jump_to(take_word(rest), FUNCTION_SOMETIMES);
    } else if (name == "cbz" || name == "cbnz") {
        take_word(rest);
        read = jump_to(take_word(rest), FUNCTION_SOMETIMES);
    } else if (name == "tbz" || name == "tbnz") {
        take_word(rest);
        take_word(rest);
        read = jump_to(take_word(rest), FUNCTION_SOMETIMES);
    }
    return read;
}

}  // namespace

CodeInstruction read_instruction(const DisassembledLine& line, std::uint16_t machine) {
    return machine == EM_AARCH64 ? read_aarch64(line) : read_x86(line);
}

}  // namespace perfleet
