// The device's side of a virtqueue, as VIRTIO 1.2, 2.7 has it, played by a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace perfleet::bare_metal {

class PlayedQueue {
public:
    // The three parts of a queue where the driver says they are.
    PlayedQueue(std::size_t entries, std::byte* descriptors, std::byte* given, std::byte* used)
        : entries_{entries}, descriptors_{descriptors}, given_{given}, used_{used} {}
    // In the legacy layout.
    PlayedQueue(std::size_t entries, std::byte* page)
        : PlayedQueue{entries, page, page + entries * 16, page + kPageSizeBytes} {}

    static constexpr std::size_t kPageSizeBytes = 4'096;

    // The next buffer that the driver has given gets these bytes. False: it has given none, or a smaller one.
    bool put(std::span<const std::byte> bytes) {
        if (!has_next()) {
            return false;
        }
        const auto index = next();
        if (get<std::uint32_t>(descriptors_ + index * 16U + 8) < bytes.size()) {
            return false;
        }
        std::memcpy(memory_of(index), bytes.data(), bytes.size());
        finish(index, static_cast<std::uint32_t>(bytes.size()));
        return true;
    }
    // The bytes of the next buffer that the driver has given, which it gets back; nothing: it has given none.
    std::vector<std::byte> take() {
        if (!has_next()) {
            return {};
        }
        const auto index = next();
        const auto* memory = memory_of(index);
        std::vector<std::byte> bytes(memory, memory + get<std::uint32_t>(descriptors_ + index * 16U + 8));
        finish(index, 0);
        return bytes;
    }
    [[nodiscard]] bool has_next() const { return get<std::uint16_t>(given_ + 2) != taken_; }
    [[nodiscard]] bool is_for_device_to_write() const { return get<std::uint16_t>(descriptors_ + 12) == 2; }

private:
    template <class T>
    [[nodiscard]] static T get(const std::byte* at) {
        T value;
        std::memcpy(&value, at, sizeof value);
        return value;
    }
    [[nodiscard]] std::uint16_t next() const { return get<std::uint16_t>(given_ + 4 + taken_ % entries_ * 2); }
    [[nodiscard]] std::byte* memory_of(std::uint16_t index) const {
        return reinterpret_cast<std::byte*>(get<std::uint64_t>(descriptors_ + index * 16U));
    }
    void finish(std::uint32_t index, std::uint32_t size_bytes) {
        const std::uint32_t used[] = {index, size_bytes};
        std::memcpy(used_ + 4 + taken_ % entries_ * sizeof used, used, sizeof used);
        ++taken_;
        std::memcpy(used_ + 2, &taken_, sizeof taken_);
    }

    std::size_t entries_;
    std::byte* descriptors_;
    std::byte* given_;
    std::byte* used_;
    std::uint16_t taken_ = 0;  // wraps, as the counts in the queue do
};

}  // namespace perfleet::bare_metal
