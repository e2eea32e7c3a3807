#include "query-engine/symbol/kept_symbols.h"

#include <zstd.h>

#include <utility>

namespace perfleet {

Result<std::string> unpacked_symbols(std::string_view packed, const std::string& name) {
    const unsigned long long size_bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (size_bytes == ZSTD_CONTENTSIZE_UNKNOWN || size_bytes == ZSTD_CONTENTSIZE_ERROR) {
        return Error{ErrorCode::kCorrupt, name + ": its kept symbols are damaged"};
    }
    if (size_bytes > kKeptSymbolsSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, name + ": its kept symbols are larger than 64 MiB"};
    }
    std::string bytes(static_cast<std::size_t>(size_bytes), '\0');
    if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != bytes.size()) {
        return Error{ErrorCode::kCorrupt, name + ": its kept symbols are damaged"};
    }
    return bytes;
}

Result<std::unique_ptr<ElfFile>> open_kept_symbols(std::string_view packed, std::string name) {
    Result<std::string> bytes = unpacked_symbols(packed, name);
    return bytes.ok() ? ElfFile::from_memory(*std::move(bytes), std::move(name))
                      : Result<std::unique_ptr<ElfFile>>{std::move(bytes).error()};
}

}  // namespace perfleet
