#include "tools/perfleet/store/symbol_content.h"

#include <elf.h>
#include <sys/stat.h>

#include <cerrno>
#include <span>
#include <utility>

#include "gateway/admission/image_check.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "schemas/wire/protocol.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/image/debug_file.h"

namespace perfleet {
namespace {

// A file that `objcopy --only-keep-debug` made has no code.
bool is_debug_file(const ElfFile& file) {
    const auto text = file.find_section(".text");
    return text && file.sections()[*text].type == SHT_NOBITS;
}

Result<BuildSymbols> checked(BuildSymbols symbols, const std::string& path) {
    if (const auto refusal = check_image(symbols.build_id, symbols.content).refusal) {
        return Error{ErrorCode::kInvalid,
                     path + ": its symbols can't be stored: " + std::string{reason_name(*refusal)}};
    }
    return symbols;
}

}  // namespace

Result<BuildSymbols> symbols_of_files(const std::string& program, const std::string& debug_file) {
    const auto file = PERFLEET_TRY(ElfFile::open(program));
    const std::string build_id{file->build_id()};
    if (build_id.empty()) {
        return Error{ErrorCode::kInvalid, program + ": has no build-id (link it with -Wl,--build-id)"};
    }
    if (is_debug_file(*file)) {
        return Error{ErrorCode::kInvalid,
                     program + ": is a separate debug file; name its program, and this one with --debug-file"};
    }
    if (!debug_file.empty()) {
        const auto debug = PERFLEET_TRY(ElfFile::open(debug_file));
        if (debug->build_id() != build_id) {
            return Error{ErrorCode::kConflict, debug_file + " is of build-id " + hex_of(debug->build_id()) +
                                                   ", the program of " + hex_of(build_id)};
        }
    }
    struct stat status {};
    const FileDescriptor file_of_program = open_regular_file(program, status);
    if (!file_of_program) {
        return error_from_errno(errno, program);
    }
    auto packed = packed_symbols_of_file(file_of_program.get(), [&](const SymbolPart& part) {
        return debug_file.empty() ? open_debug_file({0, program, std::as_bytes(std::span{build_id}), part.debug_link})
                                  : open_regular_file(debug_file, status);
    });
    if (!packed.ok()) {
        return Error{packed.error().code, program + ": " + packed.error().message};
    }
    if (packed->bytes.empty()) {
        return Error{ErrorCode::kInvalid, program + ": neither it nor a debug file of it has symbols"};
    }
    return checked({build_id,
                    {static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols), std::move(packed->bytes)},
                    packed->is_whole},
                   program);
}

Result<BuildSymbols> symbols_of_servers(Debuginfod& servers, std::string_view build_id) {
    const auto program = PERFLEET_TRY(servers.find(Debuginfod::File::kExecutable, build_id));
    const auto debug_file = servers.find(Debuginfod::File::kDebugInfo, build_id);
    return symbols_of_files(program, debug_file.ok() ? *debug_file : std::string{});
}

}  // namespace perfleet
