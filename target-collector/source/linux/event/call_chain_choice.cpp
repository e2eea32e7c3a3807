#include "target-collector/source/linux/event/call_chain_choice.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kProgramsMax = 16;  // examined at most

// Almost every program uses it, too.
std::string own_c_library() {
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        if (mapping.path.find("/libc.so") != std::string::npos || mapping.path.find("/libc-") != std::string::npos) {
            return mapping.path;
        }
    }
    return {};
}

// The first program without frame pointers; empty if all keep them, as far as known.
std::string program_without_frame_pointers(const std::vector<std::string>& programs, ImageReader& reader) {
    bool is_any_known = false;
    for (std::size_t i = 0; i < std::min(programs.size(), kProgramsMax); ++i) {
        const auto keeps = keeps_frame_pointers(programs[i], reader);
        if (keeps == false) {
            return programs[i];
        }
        is_any_known = is_any_known || keeps.has_value();
    }
    const std::string library = is_any_known ? "" : own_c_library();
    return !library.empty() && keeps_frame_pointers(library, reader) == false ? library : "";
}

}  // namespace

std::optional<bool> keeps_frame_pointers(const std::string& path, ImageReader& reader) {
    struct stat status {};
    const FileDescriptor file = open_regular_file(path, status);
    const auto table = file ? reader.unwind_table(file.get()) : Result<UnwindTable>{Error{ErrorCode::kNotFound, path}};
    if (!table.ok()) {
        return std::nullopt;
    }
    std::uint64_t kept_bytes = 0;
    std::uint64_t all_bytes = 0;
    for (std::size_t row = 0; row + 1 < table->row_count(); ++row) {
        const UnwindRule& rule = table->rule(row);
        const std::uint64_t size_bytes = table->place(row + 1) - table->place(row);
        // On AArch64, compilers compute the CFA from the stack pointer, but still save the frame pointer.
        const bool is_kept = rule.cfa_base == CfaBase::kFramePointer ||
                             (table->machine() == UnwindMachine::kAarch64 && rule.frame_pointer == SavedAt::kCfa);
        all_bytes += rule.cfa_base == CfaBase::kNone ? 0 : size_bytes;
        kept_bytes += is_kept ? size_bytes : 0;
    }
    return all_bytes == 0 ? std::nullopt : std::optional{kept_bytes > all_bytes / 2};
}

Result<CallChainChoice> choose_call_chains(const CallChainWish& wish) {
    CallChainChoice choice;
    choice.has_chains = wish.mode != CallChainMode::kNone;
    if (wish.mode == CallChainMode::kDwarf) {
        choice.user_stack_bytes = wish.user_stack_bytes;
    }
    if (wish.mode != CallChainMode::kAuto && wish.mode != CallChainMode::kBpf) {
        return choice;
    }
    DirectImageReader direct_reader;
    ImageReader& reader = wish.image_reader != nullptr ? *wish.image_reader : direct_reader;
    auto unwinder =
        wish.has_details
            ? Result<std::unique_ptr<KernelUnwinder>>{Error{
                  ErrorCode::kUsage, "samples are recorded with details, which those of a BPF program don't have"}}
            : KernelUnwinder::open(wish.kernel_unwinder);
    if (unwinder.ok()) {
        choice.kernel_unwinder = std::move(*unwinder);
        choice.user_stack_bytes = kRareUserStackBytes;
        choice.reason = "call chains are unwound by BPF, which doesn't need frame pointers";
    } else if (wish.mode == CallChainMode::kBpf) {
        Error error = std::move(unwinder).error();
        error.message = "--call-graph bpf: " + error.message + "; --call-graph dwarf does without";
        return error;
    } else if (const std::string program = program_without_frame_pointers(wish.programs, reader); !program.empty()) {
        choice.user_stack_bytes = kUserStackBytes;
        choice.reason = "call chains are unwound from copies of the stack (dwarf), as " + program +
                        " has no frame pointers; " + unwinder.error().message;
    } else {
        choice.reason = "call chains follow frame pointers (fp); " + unwinder.error().message;
    }
    if (wish.mode == CallChainMode::kBpf) {
        choice.reason.clear();
    }
    return choice;
}

}  // namespace perfleet
