#include "target-collector/bare-metal/virtio_net.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint32_t kNetworkCard = 1;
constexpr std::uint32_t kHasMacAddress = 1U << 5;
constexpr std::uint32_t kHasStatus = 1U << 16;
constexpr std::uint64_t kStatusOffset = 6;  // in the configuration, after the MAC address
constexpr std::uint8_t kLinkUp = 1;
// Precedes each frame; all zeros, because its fields are about offloads. Modern devices have one field more.
constexpr std::size_t kLegacyHeaderSizeBytes = 10;
constexpr std::size_t kHeaderSizeBytes = 12;
constexpr std::size_t kEthernetHeaderSizeBytes = 14;

}  // namespace

bool VirtioNet::start(const VirtioPlace& place) {
    static_assert(kBufferSizeBytes >= kHeaderSizeBytes + kFrameSizeBytesMax);
    if (!device_.open(place, kNetworkCard, kHasMacAddress | kHasStatus)) {
        return false;
    }
    header_size_bytes_ = device_.is_legacy() ? kLegacyHeaderSizeBytes : kHeaderSizeBytes;
    in_.set_up(device_, 0, VirtqueueDirection::kFromDevice);
    out_.set_up(device_, 1, VirtqueueDirection::kToDevice);
    device_.start();
    in_.notify();
    return true;
}

EthernetPort::MacAddress VirtioNet::mac_address() {
    MacAddress address{0x02, 0, 0, 0, 0, 1};  // administered locally
    for (std::size_t i = 0; i < address.size() && device_.has(kHasMacAddress); ++i) {
        address[i] = device_.config(i);
    }
    return address;
}

bool VirtioNet::is_link_up() { return !device_.has(kHasStatus) || (device_.config(kStatusOffset) & kLinkUp) != 0; }

std::span<std::byte> VirtioNet::outgoing_frame() {
    outgoing_ = out_.free_buffer();
    if (!outgoing_) {
        return {};
    }
    return std::span{out_.buffer(*outgoing_)}.subspan(header_size_bytes_, kFrameSizeBytesMax);
}

void VirtioNet::send(std::size_t size_bytes) {
    PERFLEET_ASSERT(outgoing_ && size_bytes <= kFrameSizeBytesMax);
    std::memset(out_.buffer(*outgoing_).data(), 0, header_size_bytes_);
    out_.give(*outgoing_, header_size_bytes_ + size_bytes);
    out_.notify();
    outgoing_.reset();
    ++counts_.frames_sent;
}

void VirtioNet::give_back(std::uint16_t index) {
    in_.give(index, kBufferSizeBytes);
    in_.notify();
}

std::span<const std::byte> VirtioNet::receive() {
    if (held_) {
        give_back(*held_);
        held_.reset();
    }
    while (const auto used = in_.used()) {
        in_.take_used();
        if (used->size_bytes >= header_size_bytes_ + kEthernetHeaderSizeBytes) {
            held_ = used->index;
            ++counts_.frames_received;
            return std::span{in_.buffer(used->index)}.subspan(header_size_bytes_,
                                                              used->size_bytes - header_size_bytes_);
        }
        ++counts_.frames_damaged;
        give_back(used->index);
    }
    return {};
}

}  // namespace perfleet::bare_metal
