#include "tools/perfleet/disassembly.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace perfleet {
namespace {

constexpr std::size_t kOutputSizeBytesMax = 256U << 20U;

struct Output {
    std::string text;
    int status = -1;
};

// Standard output and standard error of the program, together.
Result<Output> run_program(const std::vector<std::string>& command) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        return error_from_errno(errno, "pipe");
    }
    std::vector<char*> arguments;
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
    pid_t pid = 0;
    const int failure = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    Output output;
    std::array<char, 65'536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    while (failure == 0 && output.text.size() < kOutputSizeBytesMax) {
        const ssize_t size = ::read(pipe[0], buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            break;
        }
        output.text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(pipe[0]);
    if (failure != 0) {
        return failure == ENOENT
                   ? Error{ErrorCode::kNotFound, command[0] +
                                                     ": isn't installed (package binutils); --objdump PATH "
                                                     "names another one"}
                   : error_from_errno(failure, command[0]);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    output.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return output;
}

// "  401136:\tpush   %rbp"
bool read_instruction(const std::string& line, DisassembledLine& read) {
    const std::size_t first = line.find_first_not_of(' ');
    const std::size_t colon = line.find(":\t");
    if (first == std::string::npos || first == 0 || colon == std::string::npos) {
        return false;
    }
    const char* const end = line.data() + colon;
    const auto [stopped, error] = std::from_chars(line.data() + first, end, read.address, 16);
    read.text = line.substr(colon + 2);
    read.is_instruction = error == std::errc{} && stopped == end;
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
    Result<Output> output = run_program(command);
    if (!output.ok()) {
        return std::move(output).error();
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
