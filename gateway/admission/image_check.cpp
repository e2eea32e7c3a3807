#include "gateway/admission/image_check.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "schemas/pprof/profile_frames.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

// Finds notes with GNU build-ids in bytes that arrive in pieces: name size (4), build-id size, type (3), "GNU\0",
// build-id.
class BuildIdFinder {
public:
    explicit BuildIdFinder(std::string_view build_id) : build_id_{build_id} {}

    void add(std::string_view piece) {
        bytes_.append(piece);
        std::size_t kept_from = bytes_.size() - std::min(bytes_.size(), kNameAt + kName.size() - 1);
        for (std::size_t name = name_from(kNameAt); name != std::string::npos && !is_over();
             name = name_from(name + 1)) {
            if (bytes_.size() - name < kName.size() + limits::kBuildIdSizeBytesMax) {
                kept_from = name - kNameAt;
                break;
            }
            look_at(std::string_view{bytes_}.substr(name - kNameAt));
        }
        bytes_.erase(0, kept_from);
    }
    void finish() { add(std::string(limits::kBuildIdSizeBytesMax, '\0')); }

    // Set as soon as the refusal is certain.
    [[nodiscard]] std::optional<ImageRefusal> refusal() const {
        return has_another_                     ? std::optional{ImageRefusal::kBuildId}
               : name_count_ > kNamesOfNotesMax ? std::optional{ImageRefusal::kContent}
                                                : std::nullopt;
    }

private:
    static constexpr std::string_view kName{"GNU\0", 4};
    static constexpr std::size_t kNameAt = 12;

    [[nodiscard]] bool is_over() const { return refusal().has_value(); }

    // memmem() takes linear time on any bytes; std::string::find() is slow if many of them begin like the name.
    [[nodiscard]] std::size_t name_from(std::size_t at) const {
        if (at >= bytes_.size()) {
            return std::string::npos;
        }
        const void* found = ::memmem(bytes_.data() + at, bytes_.size() - at, kName.data(), kName.size());
        return found == nullptr ? std::string::npos
                                : static_cast<std::size_t>(static_cast<const char*>(found) - bytes_.data());
    }

    void look_at(std::string_view note) {
        ++name_count_;
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
    std::uint32_t name_count_ = 0;
    bool has_another_ = false;
};

// Whether a frame begins as this type must.
bool begins_as(protocol::ImageType type, bool is_first_frame, std::string_view head) {
    constexpr std::string_view kElf{"\177ELF"};
    constexpr std::string_view kSymbols{"0123456789abcdef"};
    constexpr std::array kSources{kProfileMark, 'f', 'p'};  // profile_frames.h, kept_sources.h
    const std::string_view sources{kSources.data(), kSources.size()};
    return type == protocol::ImageType::kElfSymbols
               ? head.starts_with(kElf)
               : !head.empty() && (is_first_frame ? kSymbols : sources).find(head.front()) != std::string_view::npos;
}

// Unpacks the frames of one content, piece by piece.
class Unpacking {
public:
    Unpacking(std::string_view build_id, const ImageContent& content, const std::atomic<bool>* is_stopping)
        : type_{static_cast<protocol::ImageType>(content.type)},
          in_{content.bytes.data(), content.bytes.size(), 0},
          bytes_max_{kUnpackedFreeBytes + kUnpackedRatioMax * content.bytes.size()},
          is_stopping_{is_stopping},
          finder_{build_id} {}

    ImageVerdict verdict() {
        const auto refusal = check();
        return {refusal, unpacked_bytes_};
    }

private:
    std::optional<ImageRefusal> check() {
        if (type_ != protocol::ImageType::kElfSymbols && type_ != protocol::ImageType::kKernelSymbols) {
            return ImageRefusal::kType;
        }
        if (context_ == nullptr ||
            ZSTD_isError(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLogMax)) != 0) {
            return ImageRefusal::kDamaged;
        }
        // An ELF file has up to three frames: its symbols, those of its debug file, and its debug information. Other
        // types have up to two: symbols, and sources that an imported profile names.
        const int frame_count_max = type_ == protocol::ImageType::kElfSymbols ? 3 : 2;
        for (int i = 0; i == 0 || in_.pos < in_.size; ++i) {
            const auto refusal = i == frame_count_max ? ImageRefusal::kDamaged : check_frame(i == 0);
            if (refusal) {
                return refusal;
            }
        }
        return std::nullopt;
    }

    std::optional<ImageRefusal> check_frame(bool is_first_frame) {
        const unsigned long long reported_size =
            ZSTD_getFrameContentSize(static_cast<const char*>(in_.src) + in_.pos, in_.size - in_.pos);
        if (reported_size == ZSTD_CONTENTSIZE_UNKNOWN || reported_size == ZSTD_CONTENTSIZE_ERROR) {
            return ImageRefusal::kDamaged;
        }
        if (reported_size > limits::kSymbolsSizeBytesMax) {
            return ImageRefusal::kTooLarge;
        }
        if (unpacked_bytes_ + reported_size > bytes_max_) {
            return ImageRefusal::kRatio;
        }
        std::size_t size = 0;
        for (std::size_t rest = 1; rest != 0;) {
            ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
            rest = ZSTD_decompressStream(context_.get(), &out, &in_);
            const bool is_first = size == 0;
            size += out.pos;
            unpacked_bytes_ += out.pos;
            if (ZSTD_isError(rest) != 0 || (out.pos == 0 && rest != 0) || size > reported_size) {
                return ImageRefusal::kDamaged;
            }
            const std::string_view bytes{piece_.data(), out.pos};
            const bool may_be_empty = !is_first_frame && reported_size == 0;
            if (is_first && !may_be_empty && !begins_as(type_, is_first_frame, bytes)) {
                return ImageRefusal::kContent;
            }
            finder_.add(bytes);
            if (finder_.refusal() || (is_stopping_ != nullptr && *is_stopping_)) {
                return finder_.refusal();
            }
        }
        finder_.finish();
        return size == reported_size ? finder_.refusal() : ImageRefusal::kDamaged;
    }

    protocol::ImageType type_;
    ZSTD_inBuffer in_;
    std::uint64_t bytes_max_;
    const std::atomic<bool>* is_stopping_;
    BuildIdFinder finder_;
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
    std::string piece_ = std::string(ZSTD_DStreamOutSize(), '\0');
    std::uint64_t unpacked_bytes_ = 0;
};

}  // namespace

ImageVerdict check_image(std::string_view build_id, const ImageContent& content, const std::atomic<bool>* is_stopping) {
    return Unpacking{build_id, content, is_stopping}.verdict();
}

}  // namespace perfleet
