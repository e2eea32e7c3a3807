#include "target-collector/linux/host/packed_symbols.h"

#include <sys/stat.h>
#include <zstd.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "target-collector/process/elf_note.h"

namespace perfleet {
namespace {

std::uint64_t size_bytes_of(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// The end of a GNU build-id note.
std::string end_of_note(std::span<const std::byte> build_id) {
    return std::string{"GNU\0", 4} + std::string{reinterpret_cast<const char*>(build_id.data()), build_id.size()};
}

// Empty if the file has no line table, or one that is too large.
std::string packed_lines(int fd) {
    const auto part = symbol_part_of_file(fd, size_bytes_of(fd), PartKind::kLines);
    std::string packed = part.ok() ? packed_symbols(part->bytes) : std::string{};
    return packed.size() <= kPackedLinesSizeBytesMax ? std::move(packed) : std::string{};
}

}  // namespace

// The output grows on demand: a worst-case buffer would be as large as the input.
std::string packed_symbols(std::string_view bytes) {
    constexpr int kCompressionLevel = 3;
    constexpr std::size_t kStepSizeBytes = 256U << 10U;
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(), &ZSTD_freeCCtx};
    if (context == nullptr) {
        return {};
    }
    std::string packed;
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompressionLevel);
    ZSTD_CCtx_setPledgedSrcSize(context.get(), bytes.size());
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer out{nullptr, 0, 0};
    for (std::size_t rest = 1; rest != 0;) {
        packed.resize(out.pos + kStepSizeBytes);
        out = {packed.data(), packed.size(), out.pos};
        rest = ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_end);
        if (ZSTD_isError(rest) != 0) {
            return {};
        }
    }
    packed.resize(out.pos);
    packed.shrink_to_fit();
    return packed;
}

Result<PackedSymbols> packed_symbols_of_file(int fd, const OpenDebugFile& open_debug_file) {
    const auto part = PERFLEET_TRY(symbol_part_of_file(fd, size_bytes_of(fd)));
    PackedSymbols packed{packed_symbols(part.bytes), !part.is_stripped};
    if (packed.bytes.empty()) {
        return Error{ErrorCode::kTooLarge, "there is no memory for its symbols"};
    }
    std::string debug_symbols;
    std::string lines = part.has_lines ? packed_lines(fd) : std::string{};
    const ImageContentId content = content_id_of_file(fd, size_bytes_of(fd));
    const bool wants_debug_file = !content.is_hash && (part.is_stripped || !part.has_lines);
    if (const FileDescriptor debug = wants_debug_file ? open_debug_file(part) : FileDescriptor{}) {
        const int debug_fd = debug.get();
        const auto debug_part = symbol_part_of_file(debug_fd, size_bytes_of(debug_fd));
        if (debug_part.ok() && debug_part->bytes.find(end_of_note(content.view())) != std::string::npos) {
            if (part.is_stripped && !debug_part->is_stripped) {
                debug_symbols = packed_symbols(debug_part->bytes);
                packed.is_whole = !debug_symbols.empty();
            }
            lines = debug_part->has_lines && !part.has_lines ? packed_lines(debug_fd) : std::move(lines);
        }
    }
    if (!part.has_symbols && debug_symbols.empty()) {
        return PackedSymbols{};
    }
    if (!debug_symbols.empty() || !lines.empty()) {
        packed.bytes += debug_symbols.empty() ? packed_symbols({}) : debug_symbols;
        packed.bytes += lines;
    }
    return packed;
}

}  // namespace perfleet
