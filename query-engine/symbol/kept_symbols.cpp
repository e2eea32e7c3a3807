#include "query-engine/symbol/kept_symbols.h"

#include <zstd.h>

#include <utility>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

Error damaged(const std::string& name) { return {ErrorCode::kCorrupt, name + ": its kept symbols are damaged"}; }

// Takes one frame off the front.
Result<std::string> take_frame(std::string_view& packed, const std::string& name) {
    const unsigned long long size_bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
    const std::size_t packed_size_bytes = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
    if (size_bytes == ZSTD_CONTENTSIZE_UNKNOWN || size_bytes == ZSTD_CONTENTSIZE_ERROR ||
        ZSTD_isError(packed_size_bytes) != 0) {
        return damaged(name);
    }
    if (size_bytes > limits::kSymbolsSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, name + ": its kept symbols are larger than 64 MiB"};
    }
    std::string bytes(static_cast<std::size_t>(size_bytes), '\0');
    if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed_size_bytes) != bytes.size()) {
        return damaged(name);
    }
    packed.remove_prefix(packed_size_bytes);
    return bytes;
}

Result<std::unique_ptr<ElfFile>> take_file(std::string_view& packed, const std::string& name) {
    Result<std::string> bytes = take_frame(packed, name);
    return bytes.ok() ? ElfFile::from_memory(*std::move(bytes), name)
                      : Result<std::unique_ptr<ElfFile>>{std::move(bytes).error()};
}

// The frame after `frames_before` others; empty if there is none.
Result<std::string> unpacked_frame(std::string_view packed, const std::string& name, int frames_before) {
    for (int i = 0; i < frames_before && !packed.empty(); ++i) {
        const std::size_t packed_size_bytes = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
        if (ZSTD_isError(packed_size_bytes) != 0) {
            return damaged(name);
        }
        packed.remove_prefix(packed_size_bytes);
    }
    return packed.empty() ? Result<std::string>{std::string{}} : take_frame(packed, name);
}

}  // namespace

Result<std::string> unpacked_symbols(std::string_view packed, const std::string& name) {
    return take_frame(packed, name);
}

Result<KeptSymbols> open_kept_symbols(std::string_view packed, const std::string& name) {
    KeptSymbols symbols;
    for (auto* file : {&symbols.file, &symbols.debug_file}) {
        const bool is_first = file == &symbols.file;
        if (!is_first && (packed.empty() || ZSTD_getFrameContentSize(packed.data(), packed.size()) == 0)) {
            break;
        }
        auto opened = PERFLEET_TRY(take_file(packed, name));
        *file = std::move(opened);
    }
    return symbols;
}

Result<std::string> unpacked_lines(std::string_view packed, const std::string& name) {
    return unpacked_frame(packed, name, 2);
}

bool has_made_names(const ImageDefinition& image) {
    return (image.flags & image_flags::kContentHash) != 0 && (image.flags & image_flags::kFileOffset) == 0 &&
           !image.build_id.empty();
}

Result<std::string> unpacked_sources(std::string_view packed, const std::string& name) {
    return unpacked_frame(packed, name, 1);
}

}  // namespace perfleet
