#include "query-engine/symbol/mini_debug_info.h"

#include <lzma.h>

#include <algorithm>
#include <string>
#include <utility>

namespace perfleet {
namespace {

constexpr std::size_t kPieceSizeBytes = 1U << 20;

}  // namespace

Result<std::unique_ptr<ElfFile>> open_mini_debug_info(const ElfFile& file) {
    const auto section = file.find_section(".gnu_debugdata");
    const std::string_view packed = section ? file.section_bytes(*section) : std::string_view{};
    const std::string name = file.path() + " (.gnu_debugdata)";
    if (packed.empty()) {
        return Error{ErrorCode::kNotFound, name + ": there is none"};
    }
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, kMiniDebugInfoMemorySizeBytesMax, 0) != LZMA_OK) {
        return Error{ErrorCode::kUnavailable, name + ": no memory for the xz decoder"};
    }
    stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream.avail_in = packed.size();
    std::string bytes;
    lzma_ret status = LZMA_OK;
    while (status == LZMA_OK && bytes.size() <= kMiniDebugInfoSizeBytesMax) {
        const std::size_t before = bytes.size();
        bytes.resize(before + kPieceSizeBytes);
        stream.next_out = reinterpret_cast<std::uint8_t*>(bytes.data()) + before;
        stream.avail_out = kPieceSizeBytes;
        status = lzma_code(&stream, LZMA_FINISH);
        bytes.resize(bytes.size() - stream.avail_out);
    }
    lzma_end(&stream);
    if (bytes.size() > kMiniDebugInfoSizeBytesMax || status == LZMA_MEMLIMIT_ERROR) {
        return Error{ErrorCode::kTooLarge, name + ": too large"};
    }
    if (status != LZMA_STREAM_END) {
        return Error{ErrorCode::kCorrupt, name + ": damaged"};
    }
    return ElfFile::from_memory(std::move(bytes), name);
}

}  // namespace perfleet
