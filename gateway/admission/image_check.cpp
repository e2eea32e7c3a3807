#include "gateway/admission/image_check.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

// Finds the notes of GNU build-ids in bytes that come piece by piece: the size of the name (4), its own, the type (3),
// "GNU\0", the build-id.
class BuildIdFinder {
public:
    explicit BuildIdFinder(std::string_view build_id) : build_id_{build_id} {}

    void add(std::string_view piece) {
        bytes_.append(piece);
        std::size_t kept_from = bytes_.size() - std::min(bytes_.size(), kNameAt + kName.size() - 1);
        for (std::size_t name = bytes_.find(kName, kNameAt); name != std::string::npos;
             name = bytes_.find(kName, name + 1)) {
            if (bytes_.size() - name < kName.size() + limits::kBuildIdSizeBytesMax) {
                kept_from = name - kNameAt;
                break;
            }
            look_at(std::string_view{bytes_}.substr(name - kNameAt));
        }
        bytes_.erase(0, kept_from);
    }
    void finish() { add(std::string(limits::kBuildIdSizeBytesMax, '\0')); }

    [[nodiscard]] bool has_another() const { return has_another_; }

private:
    static constexpr std::string_view kName{"GNU\0", 4};
    static constexpr std::size_t kNameAt = 12;

    void look_at(std::string_view note) {
        constexpr std::uint32_t kBuildIdType = 3;
        std::array<std::uint32_t, 3> header{};
        std::memcpy(header.data(), note.data(), sizeof(header));
        if (header[0] == kName.size() && header[2] == kBuildIdType && header[1] > 0 &&
            header[1] <= limits::kBuildIdSizeBytesMax) {
            has_another_ = has_another_ || note.substr(kNameAt + kName.size(), header[1]) != build_id_;
        }
    }

    std::string_view build_id_;
    std::string bytes_;
    bool has_another_ = false;
};

// What a content of this type begins with.
bool begins_as(protocol::ImageType type, std::string_view head) {
    constexpr std::string_view kElf{"\177ELF"};
    return type == protocol::ImageType::kElfSymbols
               ? head.starts_with(kElf)
               : !head.empty() && std::string_view{"0123456789abcdef"}.find(head.front()) != std::string_view::npos;
}

using Context = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

std::optional<ImageRefusal> refusal_of_frame(ZSTD_inBuffer& in, ZSTD_DCtx& context, protocol::ImageType type,
                                             bool is_first_frame, BuildIdFinder& finder) {
    const unsigned long long reported_size =
        ZSTD_getFrameContentSize(static_cast<const char*>(in.src) + in.pos, in.size - in.pos);
    if (reported_size == ZSTD_CONTENTSIZE_UNKNOWN || reported_size == ZSTD_CONTENTSIZE_ERROR) {
        return ImageRefusal::kDamaged;
    }
    if (reported_size > kSymbolsSizeBytesMax) {
        return ImageRefusal::kTooLarge;
    }
    std::string piece(ZSTD_DStreamOutSize(), '\0');
    std::size_t size = 0;
    for (std::size_t rest = 1; rest != 0;) {
        ZSTD_outBuffer out{piece.data(), piece.size(), 0};
        rest = ZSTD_decompressStream(&context, &out, &in);
        const bool is_first = size == 0;
        size += out.pos;
        if (ZSTD_isError(rest) != 0 || (out.pos == 0 && rest != 0) || size > reported_size) {
            return ImageRefusal::kDamaged;
        }
        const std::string_view bytes{piece.data(), out.pos};
        const bool may_be_empty = !is_first_frame && reported_size == 0;
        if (is_first && !may_be_empty && !begins_as(type, bytes)) {
            return ImageRefusal::kContent;
        }
        finder.add(bytes);
    }
    finder.finish();
    return size == reported_size ? std::nullopt : std::optional{ImageRefusal::kDamaged};
}

}  // namespace

std::optional<ImageRefusal> refusal_of_image(std::string_view build_id, const ImageContent& content) {
    const auto type = static_cast<protocol::ImageType>(content.type);
    if (type != protocol::ImageType::kElfSymbols && type != protocol::ImageType::kKernelSymbols) {
        return ImageRefusal::kType;
    }
    const Context context{ZSTD_createDCtx(), &ZSTD_freeDCtx};
    if (context == nullptr ||
        ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLogMax)) != 0) {
        return ImageRefusal::kDamaged;
    }
    BuildIdFinder finder{build_id};
    ZSTD_inBuffer in{content.bytes.data(), content.bytes.size(), 0};
    // Of a file: its symbols, those of its separate debug file, and its debug information; else: symbols, and the
    // sources that an imported profile names.
    const int frame_count_max = type == protocol::ImageType::kElfSymbols ? 3 : 2;
    for (int i = 0; i == 0 || in.pos < in.size; ++i) {
        const auto refusal =
            i == frame_count_max ? ImageRefusal::kDamaged : refusal_of_frame(in, *context, type, i == 0, finder);
        if (refusal) {
            return refusal;
        }
    }
    return finder.has_another() ? std::optional{ImageRefusal::kBuildId} : std::nullopt;
}

}  // namespace perfleet
