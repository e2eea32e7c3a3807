#include "target-collector/bare-metal/virtio_serial.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/device_memory.h"

namespace perfleet::bare_metal {
namespace {

// virtio-mmio (VIRTIO 1.2, 4.2.4).
constexpr std::uint32_t kMagic = 0x7472'6976;  // "virt"
constexpr std::uint32_t kLegacy = 1;
constexpr std::uint32_t kConsole = 3;
enum Register : std::uint64_t {
    kMagicValue = 0x00,
    kVersion = 0x04,
    kDeviceId = 0x08,
    kGuestFeatures = 0x20,
    kGuestFeaturesSelect = 0x24,
    kGuestPageSize = 0x28,
    kQueueSelect = 0x30,
    kQueueSizeMax = 0x34,
    kQueueSize = 0x38,
    kQueueAlign = 0x3c,
    kQueuePage = 0x40,
    kQueueNotify = 0x50,
    kStatus = 0x70,
};
constexpr std::uint32_t kAcknowledge = 1;
constexpr std::uint32_t kDriver = 2;
constexpr std::uint32_t kDriverOk = 4;
constexpr std::uint32_t kMultiport = 1U << 1;
constexpr std::uint32_t kPageSizeBytes = 4'096;
constexpr std::uint16_t kDeviceWrites = 2;

// Control messages of the console device (VIRTIO 1.2, 5.3.6.2).
constexpr std::uint32_t kPort = 1;
constexpr std::uint16_t kDeviceReady = 0;
constexpr std::uint16_t kPortAdd = 1;
constexpr std::uint16_t kPortReady = 3;
constexpr std::uint16_t kPortOpen = 6;
struct Control {
    std::uint32_t port;
    std::uint16_t event;
    std::uint16_t value;
};

}  // namespace

bool VirtioSerial::start(const Place& place) {
    bus_offset_ = place.bus_offset;
    for (int i = 0; i < place.device_count && device_ == 0; ++i) {
        const std::uint64_t at = place.devices + static_cast<std::uint64_t>(i) * place.device_distance;
        if (read_device(at + kMagicValue) == kMagic && read_device(at + kVersion) == kLegacy &&
            read_device(at + kDeviceId) == kConsole) {
            device_ = at;
        }
    }
    if (device_ == 0) {
        return false;
    }
    write_device(device_ + kStatus, 0);
    write_device(device_ + kStatus, kAcknowledge);
    write_device(device_ + kStatus, kAcknowledge | kDriver);
    write_device(device_ + kGuestFeaturesSelect, 0);
    write_device(device_ + kGuestFeatures, kMultiport);
    write_device(device_ + kGuestPageSize, kPageSizeBytes);
    // Queues 0 and 1 are port 0's, which nobody uses.
    set_up(control_in_, 2, Direction::kFromDevice);
    set_up(control_out_, 3, Direction::kToDevice);
    set_up(in_, 4, Direction::kFromDevice);
    set_up(out_, 5, Direction::kToDevice);
    write_device(device_ + kStatus, kAcknowledge | kDriver | kDriverOk);
    for (const std::uint16_t queue : {control_in_.number, in_.number}) {
        write_device(device_ + kQueueNotify, queue);
    }
    send_control(~0U, kDeviceReady, 1);
    return true;
}

template <std::size_t kSizeBytes>
void VirtioSerial::set_up(Queue<kSizeBytes>& queue, std::uint16_t number, Direction direction) {
    queue.number = number;
    write_device(device_ + kQueueSelect, number);
    PERFLEET_ASSERT(read_device(device_ + kQueueSizeMax) >= kEntries);
    write_device(device_ + kQueueSize, kEntries);
    write_device(device_ + kQueueAlign, kPageSizeBytes);
    write_device(device_ + kQueuePage, static_cast<std::uint32_t>(bus_address(&queue.ring) / kPageSizeBytes));
    for (std::uint16_t i = 0; i < kEntries && direction == Direction::kFromDevice; ++i) {
        give(queue, i, kSizeBytes, direction);
    }
}

template <std::size_t kSizeBytes>
void VirtioSerial::give(Queue<kSizeBytes>& queue, std::uint16_t index, std::size_t size_bytes, Direction direction) {
    Ring& ring = queue.ring;
    ring.descriptors[index] = {bus_address(queue.buffers[index].data()), static_cast<std::uint32_t>(size_bytes),
                               direction == Direction::kFromDevice ? kDeviceWrites : std::uint16_t{0}, 0};
    ring.given[ring.given_count % kEntries] = index;
    barrier();  // the device reads the entry once the count has grown
    ring.given_count = static_cast<std::uint16_t>(ring.given_count + 1);
    barrier();
}

void VirtioSerial::send_control(std::uint32_t port, std::uint16_t event, std::uint16_t value) {
    // QEMU takes them at once: the buffers are free again.
    const auto index = static_cast<std::uint16_t>(control_sent_++ % kEntries);
    const Control message{port, event, value};
    std::memcpy(control_out_.buffers[index].data(), &message, sizeof message);
    give(control_out_, index, sizeof message, Direction::kToDevice);
    write_device(device_ + kQueueNotify, control_out_.number);
}

// -- the connection ---------------------------------------------------------------------------------------------------

void VirtioSerial::follow_host() {
    bool was_reported = false;
    while (control_in_.used_seen != control_in_.ring.used_count) {
        barrier();
        const Ring::Used used = control_in_.ring.used[control_in_.used_seen % kEntries];
        const auto index = static_cast<std::uint16_t>(used.index % kEntries);
        const std::size_t size =
            used.size_bytes < control_in_.buffers[index].size() ? used.size_bytes : control_in_.buffers[index].size();
        obey(std::span<const std::byte>{control_in_.buffers[index]}.first(size));
        give(control_in_, index, control_in_.buffers[index].size(), Direction::kFromDevice);
        control_in_.used_seen = static_cast<std::uint16_t>(control_in_.used_seen + 1);
        was_reported = true;
    }
    if (was_reported) {
        write_device(device_ + kQueueNotify, control_in_.number);
    }
}

void VirtioSerial::obey(std::span<const std::byte> message) {
    Control control{};
    if (message.size() < sizeof control) {
        return;
    }
    std::memcpy(&control, message.data(), sizeof control);
    if (control.port != kPort) {
        return;
    }
    if (control.event == kPortAdd) {
        send_control(kPort, kPortReady, 1);
        send_control(kPort, kPortOpen, 1);
    } else if (control.event == kPortOpen) {
        is_open_ = control.value != 0;
        if (is_open_) {
            ++connections_;
            in_offset_bytes_ = 0;
            // What the peer has said already waits in the host until somebody asks: nothing else may wake it.
            write_device(device_ + kQueueNotify, in_.number);
        }
        if (!is_open_) {
            // All that has come is of the connection that was; what the next one says may stand in the ring before we
            // read that it is open.
            in_old_count_ = static_cast<std::uint16_t>(in_.ring.used_count - in_.used_seen);
        }
        // What was under way at the close never comes back.
        out_.used_seen = out_.ring.used_count;
        is_out_.fill(false);
    }
}

std::uint64_t VirtioSerial::connection() {
    follow_host();
    return is_open_ ? connections_ : 0;
}

// -- bytes ------------------------------------------------------------------------------------------------------------

std::size_t VirtioSerial::read(std::span<std::byte> into) {
    std::size_t taken = 0;
    bool was_given = false;
    while (is_open_ && taken < into.size() && in_.used_seen != in_.ring.used_count) {
        barrier();
        const Ring::Used used = in_.ring.used[in_.used_seen % kEntries];
        const auto index = static_cast<std::uint16_t>(used.index % kEntries);
        const std::size_t size =
            used.size_bytes < in_.buffers[index].size() ? used.size_bytes : in_.buffers[index].size();
        const std::size_t rest = in_old_count_ > 0 || size < in_offset_bytes_ ? 0 : size - in_offset_bytes_;
        const std::size_t part = rest < into.size() - taken ? rest : into.size() - taken;
        std::memcpy(into.data() + taken, in_.buffers[index].data() + in_offset_bytes_, part);
        taken += part;
        in_offset_bytes_ += part;
        if (part == rest) {
            in_offset_bytes_ = 0;
            give(in_, index, in_.buffers[index].size(), Direction::kFromDevice);
            in_.used_seen = static_cast<std::uint16_t>(in_.used_seen + 1);
            in_old_count_ = static_cast<std::uint16_t>(in_old_count_ - (in_old_count_ > 0 ? 1 : 0));
            was_given = true;
        }
    }
    if (was_given) {
        write_device(device_ + kQueueNotify, in_.number);
    }
    return taken;
}

void VirtioSerial::take_back_sent() {
    while (out_.used_seen != out_.ring.used_count) {
        barrier();
        is_out_[out_.ring.used[out_.used_seen % kEntries].index % kEntries] = false;
        out_.used_seen = static_cast<std::uint16_t>(out_.used_seen + 1);
    }
}

std::size_t VirtioSerial::write(std::span<const std::byte> head, std::span<const std::byte> body) {
    if (!is_open_) {
        return 0;
    }
    take_back_sent();
    std::uint16_t index = 0;
    while (index < kEntries && is_out_[index]) {
        ++index;
    }
    if (index == kEntries) {
        return 0;  // the host doesn't read
    }
    auto& buffer = out_.buffers[index];
    const std::size_t of_head = head.size() < buffer.size() ? head.size() : buffer.size();
    const std::size_t room = buffer.size() - of_head;
    const std::size_t of_body = body.size() < room ? body.size() : room;
    if (of_head > 0) {
        std::memcpy(buffer.data(), head.data(), of_head);
    }
    if (of_body > 0) {
        std::memcpy(buffer.data() + of_head, body.data(), of_body);
    }
    is_out_[index] = true;
    give(out_, index, of_head + of_body, Direction::kToDevice);
    write_device(device_ + kQueueNotify, out_.number);
    return of_head + of_body;
}

}  // namespace perfleet::bare_metal
