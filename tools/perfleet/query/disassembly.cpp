#include "tools/perfleet/query/disassembly.h"

#include <sstream>

#include <fmt/format.h>

#include "schemas/text/parse.h"
#include "tools/perfleet/shell/run_program.h"

namespace perfleet {
namespace {

// "  401136:\tpush   %rbp"
bool read_instruction(const std::string& line, DisassembledLine& read) {
    const std::size_t first = line.find_first_not_of(' ');
    const std::size_t colon = line.find(":\t");
    if (first == std::string::npos || first == 0 || colon == std::string::npos) {
        return false;
    }
    const auto address = number_of<std::uint64_t>(line.substr(first, colon - first), 16);
    read.address = address.value_or(0);
    read.text = line.substr(colon + 2);
    read.is_instruction = address.has_value();
    return read.is_instruction;
}

}  // namespace

Result<std::vector<DisassembledLine>> Disassembly::read() const {
    std::vector<std::string> command{objdump, "-d", "-C", "--no-show-raw-insn"};
    if (has_source) {
        command.insert(command.end(), {"-l", "-S"});
        if (has_inlines) {
            command.emplace_back("--inlines");
        }
    }
    command.push_back(fmt::format("--start-address={:#x}", first));
    command.push_back(fmt::format("--stop-address={:#x}", last + 1));
    command.push_back(file);
    const Result<ProgramOutput> output = run_program(command);
    if (!output.ok()) {
        return output.error().code == ErrorCode::kNotFound
                   ? Error{ErrorCode::kNotFound,
                           objdump + ": isn't installed (package binutils); --objdump PATH names another one"}
                   : output.error();
    }
    std::vector<DisassembledLine> lines;
    std::istringstream stream{output->text};
    bool has_begun = false;
    for (std::string line; std::getline(stream, line);) {
        DisassembledLine read;
        if (line.starts_with("Disassembly of section ")) {
            has_begun = true;
        } else if (has_begun && read_instruction(line, read)) {
            lines.push_back(std::move(read));
        } else if (has_begun && !line.empty() && !line.ends_with(">:") && !line.ends_with("():") && line != "\t...") {
            lines.push_back({false, 0, line});
        }
    }
    if (output->status != 0 || lines.empty()) {
        const std::string words = output->text.substr(0, output->text.find('\n', 1));
        return Error{ErrorCode::kInvalid, objdump + " " + file + ": " +
                                              (output->status != 0 ? words : "nothing at these addresses") +
                                              " (--objdump PATH names one for another architecture)"};
    }
    return lines;
}

}  // namespace perfleet
