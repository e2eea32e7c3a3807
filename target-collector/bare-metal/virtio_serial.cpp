#include "target-collector/bare-metal/virtio_serial.h"

#include <cstring>

namespace perfleet::bare_metal {
namespace {

constexpr std::uint32_t kConsole = 3;
constexpr std::uint32_t kMultiport = 1U << 1;

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

bool VirtioSerial::start(const VirtioPlace& place) {
    if (!device_.open(place, kConsole, kMultiport)) {
        return false;
    }
    // Queues 0 and 1 are port 0's, which isn't used.
    control_in_.set_up(device_, 2, VirtqueueDirection::kFromDevice);
    control_out_.set_up(device_, 3, VirtqueueDirection::kToDevice);
    in_.set_up(device_, 4, VirtqueueDirection::kFromDevice);
    out_.set_up(device_, 5, VirtqueueDirection::kToDevice);
    device_.start();
    control_in_.notify();
    in_.notify();
    send_control(~0U, kDeviceReady, 1);
    return true;
}

void VirtioSerial::send_control(std::uint32_t port, std::uint16_t event, std::uint16_t value) {
    // QEMU takes them at once: there are fewer of them than buffers.
    const auto index = control_out_.free_buffer();
    if (!index) {
        return;
    }
    const Control message{port, event, value};
    std::memcpy(control_out_.buffer(*index).data(), &message, sizeof message);
    control_out_.give(*index, sizeof message);
    control_out_.notify();
}

// -- the connection ---------------------------------------------------------------------------------------------------

void VirtioSerial::follow_host() {
    bool was_reported = false;
    while (const auto used = control_in_.used()) {
        obey(std::span<const std::byte>{control_in_.buffer(used->index)}.first(used->size_bytes));
        control_in_.take_used();
        control_in_.give(used->index, control_in_.buffer(used->index).size());
        was_reported = true;
    }
    if (was_reported) {
        control_in_.notify();
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
            // Bytes that the peer has already sent wait in the host until this side reads: no other event may wake it.
            in_.notify();
        }
        if (!is_open_) {
            // All received bytes belong to the previous connection; bytes of the next one may be in the ring before its
            // opening is read.
            in_old_count_ = in_.used_waiting();
        }
        // Buffers in flight at the close are lost.
        out_.forget_given();
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
    while (is_open_ && taken < into.size()) {
        const auto used = in_.used();
        if (!used) {
            break;
        }
        const auto& buffer = in_.buffer(used->index);
        const std::size_t size = used->size_bytes;
        const std::size_t rest = in_old_count_ > 0 || size < in_offset_bytes_ ? 0 : size - in_offset_bytes_;
        const std::size_t part = rest < into.size() - taken ? rest : into.size() - taken;
        std::memcpy(into.data() + taken, buffer.data() + in_offset_bytes_, part);
        taken += part;
        in_offset_bytes_ += part;
        if (part == rest) {
            in_offset_bytes_ = 0;
            in_.take_used();
            in_.give(used->index, buffer.size());
            in_old_count_ = static_cast<std::uint16_t>(in_old_count_ - (in_old_count_ > 0 ? 1 : 0));
            was_given = true;
        }
    }
    if (was_given) {
        in_.notify();
    }
    return taken;
}

std::size_t VirtioSerial::write(std::span<const std::byte> head, std::span<const std::byte> body) {
    if (!is_open_) {
        return 0;
    }
    const auto index = out_.free_buffer();
    if (!index) {
        return 0;  // the host doesn't read
    }
    auto& buffer = out_.buffer(*index);
    const std::size_t of_head = head.size() < buffer.size() ? head.size() : buffer.size();
    const std::size_t room = buffer.size() - of_head;
    const std::size_t of_body = body.size() < room ? body.size() : room;
    if (of_head > 0) {
        std::memcpy(buffer.data(), head.data(), of_head);
    }
    if (of_body > 0) {
        std::memcpy(buffer.data() + of_head, body.data(), of_body);
    }
    out_.give(*index, of_head + of_body);
    out_.notify();
    return of_head + of_body;
}

}  // namespace perfleet::bare_metal
