#include "tools/perfleet/function/function_code.h"

#include <fmt/format.h>

#include <algorithm>

namespace perfleet {
namespace {

using enum InstructionKind;

struct Line {
    const DisassembledLine* text = nullptr;
    CodeInstruction instruction;
    bool is_reached = false;
};

class CodeReader {
public:
    CodeReader(std::span<const DisassembledLine> lines, std::span<const CodeRange> parts, std::uint16_t machine)
        : parts_{parts} {
        for (const DisassembledLine& line : lines) {
            if (line.is_instruction) {
                lines_[line.address] = {&line, read_instruction(line, machine)};
            }
        }
    }

    FunctionCode read(bool has_hidden_ways) {
        follow();
        const bool takes_all = has_hidden_ways || has_switch_;
        for (auto& [address, line] : lines_) {
            if (line.is_reached || takes_all) {
                take(address, line);
            }
            const std::uint64_t place = line.is_reached && takes_all ? line.instruction.reads_from : 0;
            const auto read = lines_.lower_bound(place);
            if (place != 0 && is_inside(place) && (read == lines_.end() || !read->second.is_reached)) {
                code_.unknown = fmt::format("{:#x} refers to {:#x}, where data may stand", address, place);
            }
        }
        return std::move(code_);
    }

private:
    [[nodiscard]] bool is_inside(std::uint64_t address) const {
        return std::any_of(parts_.begin(), parts_.end(), [&](const CodeRange& part) { return part.holds(address); });
    }

    // The line at an address, or the line with a "lock" prefix that a jump skips.
    [[nodiscard]] std::map<std::uint64_t, Line>::iterator line_at(std::uint64_t address) {
        const auto found = lines_.find(address);
        const auto before = found == lines_.end() ? lines_.find(address - 1) : lines_.end();
        return before != lines_.end() && before->second.instruction.has_lock ? before : found;
    }

    // Marks the code that is reached from the first instruction.
    void follow() {
        std::vector<std::uint64_t> begins{parts_.front().first};
        while (!begins.empty()) {
            auto line = line_at(begins.back());
            begins.pop_back();
            while (line != lines_.end() && !line->second.is_reached) {
                const CodeInstruction& instruction = line->second.instruction;
                line->second.is_reached = true;
                has_switch_ |= instruction.kind == kComputedJump && !is_pointer(instruction.branch);
                if (instruction.kind == kJump && is_inside(instruction.target)) {
                    begins.push_back(instruction.target);
                }
                if (!instruction.goes_on()) {
                    break;
                }
                ++line;
            }
        }
    }

    // Whether the target is read from a fixed address: then it isn't a switch table.
    static bool is_pointer(const function_branch& jump) {
        return jump.is_computed == 0 || (jump.is_loaded != 0 && jump.index == FUNCTION_NO_REGISTER &&
                                         (jump.base == FUNCTION_OWN_ADDRESS || jump.base == FUNCTION_NO_REGISTER));
    }

    void take(std::uint64_t address, const Line& line) {
        const CodeInstruction& instruction = line.instruction;
        const bool is_first = address == parts_.front().first;
        const bool is_exit = instruction.kind == kReturn || instruction.kind == kComputedJump ||
                             (instruction.kind == kJump && !is_inside(instruction.target));
        if (instruction.kind == kUnknown) {
            code_.unknown = "'" + line.text->text + "' wasn't understood";
        } else if (instruction.kind == kComputedJump && instruction.is_untracked && !is_first) {
            return;
        } else if ((is_first || is_exit) && instruction.is_refused) {
            code_.unknown = "the kernel puts no probe at '" + line.text->text + "'";
        } else if (instruction.kind == kReturn || instruction.kind == kComputedJump) {
            code_.exits.push_back({address, instruction.branch});
        } else if (instruction.kind == kJump && !is_inside(instruction.target)) {
            code_.exits.push_back({address, instruction.branch});
            code_.leads_to[address] = instruction.target;
        } else if (instruction.kind == kJump && line_at(instruction.target) == lines_.end()) {
            code_.unknown = fmt::format("{:#x} jumps into the middle of an instruction", address);
        } else if (instruction.kind == kJump && instruction.target == parts_.front().first) {
            code_.again.push_back({address, instruction.branch});
        }
        if (is_first) {
            code_.is_first_emulated = instruction.is_emulated;
        }
    }

    std::span<const CodeRange> parts_;
    std::map<std::uint64_t, Line> lines_;
    bool has_switch_ = false;
    FunctionCode code_;
};

}  // namespace

FunctionCode read_function_code(std::span<const DisassembledLine> lines, std::span<const CodeRange> parts,
                                std::uint16_t machine, bool has_hidden_ways) {
    return CodeReader{lines, parts, machine}.read(has_hidden_ways);
}

}  // namespace perfleet
