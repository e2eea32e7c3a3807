#include "tools/perfleet/symbol_content.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "gateway/ingest/image_check.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/wire/protocol.h"
#include "target-collector/linux/packed_symbols.h"
#include "target-collector/source/linux/debug_file.h"
#include "target-collector/source/linux/elf_note.h"
#include "target-collector/source/linux/small_file.h"
#include "target-collector/source/linux/symbol_part.h"

namespace perfleet {
namespace {

struct Part {
    ImageContentId content;
    SymbolPart part;
};

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Takes the descriptor.
Result<Part> part_of(int fd, const std::string& path) {
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0) {
        return error_from_errno(errno, path);
    }
    const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
    Part made{content_id_of_file(fd, size_bytes), {}};
    auto part = symbol_part_of_file(fd, size_bytes);
    ::close(fd);
    if (!part.ok()) {
        return Error{part.error().code, path + ": " + part.error().message};
    }
    made.part = std::move(*part);
    return made;
}

Result<Part> part_of(const std::string& path) {
    struct stat status {};
    errno = ENOENT;
    return part_of(open_regular_file(path, status), path);
}

// A file that `objcopy --only-keep-debug` made has no code.
bool is_debug_file(const std::string& path) {
    const auto file = ElfFile::open(path);
    const auto text = file.ok() ? (*file)->find_section(".text") : std::nullopt;
    return text && (*file)->sections()[*text].type == SHT_NOBITS;
}

// Behind the symbols of its program.
Result<Done> add_debug_file(BuildSymbols& symbols, const std::string& path) {
    const auto file = ElfFile::open(path);
    if (!file.ok()) {
        return Error{file.error()};
    }
    if ((*file)->build_id() != symbols.build_id) {
        return Error{ErrorCode::kConflict, path + " is of build-id " + build_id_text((*file)->build_id()) +
                                               ", the program of " + build_id_text(symbols.build_id)};
    }
    auto debug = part_of(path);
    if (!debug.ok()) {
        return Error{debug.error()};
    }
    symbols.content.bytes += packed_symbols(debug->part.bytes);
    symbols.is_whole = symbols.is_whole || !debug->part.is_stripped;
    return Done{};
}

Result<BuildSymbols> checked(BuildSymbols symbols, const std::string& path) {
    if (const auto refusal = refusal_of_image(symbols.build_id, symbols.content)) {
        return Error{ErrorCode::kInvalid,
                     path + ": its symbols can't be stored: " + std::string{reason_name(*refusal)}};
    }
    return symbols;
}

}  // namespace

Result<BuildSymbols> symbols_of_files(const std::string& program, const std::string& debug_file) {
    auto part = part_of(program);
    if (!part.ok()) {
        return Error{part.error()};
    }
    if (part->content.is_hash) {
        return Error{ErrorCode::kInvalid, program + ": has no build-id (link it with -Wl,--build-id)"};
    }
    if (is_debug_file(program)) {
        return Error{ErrorCode::kInvalid,
                     program + ": is a separate debug file; name its program, and this one with --debug-file"};
    }
    BuildSymbols symbols{
        text_of(part->content.view()),
        {static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols), packed_symbols(part->part.bytes)},
        !part->part.is_stripped};
    if (!debug_file.empty()) {
        if (auto added = add_debug_file(symbols, debug_file); !added.ok()) {
            return std::move(added).error();
        }
    } else if (part->part.is_stripped) {
        const int fd = open_debug_file({0, program, part->content.view(), part->part.debug_link});
        if (fd >= 0) {
            (void)add_debug_file(symbols, "/proc/self/fd/" + std::to_string(fd));
            ::close(fd);
        }
    }
    return checked(std::move(symbols), program);
}

Result<BuildSymbols> symbols_of_servers(Debuginfod& servers, std::string_view build_id) {
    const auto program = servers.find(Debuginfod::File::kExecutable, build_id);
    if (!program.ok()) {
        return Error{program.error()};
    }
    const auto debug_file = servers.find(Debuginfod::File::kDebugInfo, build_id);
    return symbols_of_files(*program, debug_file.ok() ? *debug_file : std::string{});
}

}  // namespace perfleet
