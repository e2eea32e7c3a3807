#include "target-collector/bare-metal/device_tree.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint32_t kMagic = 0xd00d'feed;
constexpr std::uint32_t kBeginNode = 1;
constexpr std::uint32_t kEndNode = 2;
constexpr std::uint32_t kProperty = 3;
constexpr std::uint32_t kNothing = 4;

// Reads forward, never past the end.
class Walk {
public:
    explicit Walk(std::span<const std::byte> bytes) : bytes_{bytes} {}

    [[nodiscard]] bool has(std::size_t size_bytes) const { return size_bytes <= bytes_.size() - at_; }
    std::uint32_t integer() {
        std::uint32_t value = 0;
        for (const std::byte byte : take(4)) {
            value = value << 8 | std::to_integer<std::uint32_t>(byte);
        }
        return value;
    }
    // Fewer at the end.
    std::span<const std::byte> take(std::size_t size_bytes) {
        const auto part = bytes_.subspan(at_, has(size_bytes) ? size_bytes : bytes_.size() - at_);
        at_ += part.size();
        return part;
    }
    // Up to a NUL, which is taken, too.
    std::string_view text() {
        const std::size_t begin = at_;
        while (at_ < bytes_.size() && bytes_[at_] != std::byte{0}) {
            ++at_;
        }
        const std::string_view text{reinterpret_cast<const char*>(bytes_.data() + begin), at_ - begin};
        at_ += at_ < bytes_.size() ? 1 : 0;
        return text;
    }
    void align() { (void)take((4 - at_ % 4) % 4); }

private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

}  // namespace

Checked<std::span<const std::byte>> find_chosen(std::span<const std::byte> tree_untrusted, std::string_view property,
                                                std::size_t size_bytes_min) {
    constexpr std::size_t kHeaderSizeBytes = 40;
    Walk header{tree_untrusted};
    if (!header.has(kHeaderSizeBytes) || header.integer() != kMagic) {
        return Fault{ErrorCode::kInvalid, 0, 0};
    }
    const std::size_t size = header.integer();
    const std::size_t structure = header.integer();
    const std::size_t strings = header.integer();
    if (size > tree_untrusted.size() || structure > size || strings > size) {
        return Fault{ErrorCode::kInvalid, 4, size};
    }
    const auto tree = tree_untrusted.first(size);
    Walk walk{tree.subspan(structure)};
    std::uint32_t depth = 0;
    bool is_chosen = false;
    while (walk.has(4)) {
        const std::uint32_t token = walk.integer();
        if (token == kBeginNode) {
            is_chosen = ++depth == 2 && walk.text() == "chosen";
            if (depth != 2) {
                (void)walk.text();
            }
            walk.align();
        } else if (token == kEndNode) {
            --depth;
            is_chosen = false;
        } else if (token == kProperty) {
            const std::size_t value_size = walk.integer();
            const std::size_t name = walk.integer();
            const auto value = walk.take(value_size);
            walk.align();
            if (is_chosen && name < size - strings && Walk{tree.subspan(strings + name)}.text() == property &&
                value.size() >= size_bytes_min) {
                return value;
            }
        } else if (token != kNothing) {
            return Fault{ErrorCode::kNotFound, 0, token};
        }
    }
    return Fault{ErrorCode::kInvalid, structure, 0};
}

Checked<std::span<const std::byte>> find_seed(std::span<const std::byte> tree_untrusted) {
    constexpr std::size_t kSeedSizeBytesMin = 16;
    return find_chosen(tree_untrusted, "rng-seed", kSeedSizeBytesMin);
}

}  // namespace perfleet::bare_metal
