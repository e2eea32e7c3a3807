#include "target-collector/linux/packed_symbols.h"

#include <zstd.h>

namespace perfleet {

std::string packed_symbols(std::string_view bytes) {
    constexpr int kCompressionLevel = 3;
    std::string packed(ZSTD_compressBound(bytes.size()), '\0');
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kCompressionLevel);
    packed.resize(ZSTD_isError(size) != 0 ? 0 : size);
    packed.shrink_to_fit();
    return packed;
}

}  // namespace perfleet
