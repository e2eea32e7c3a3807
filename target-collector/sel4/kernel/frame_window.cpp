#include "target-collector/sel4/kernel/frame_window.h"

#include <cstring>

#include "target-collector/sel4/kernel/page_calls.h"

namespace perfleet::sel4 {

seL4_CPtr FrameWindow::slot_of(const Place& place) const {
    return setting_.first_slot + static_cast<seL4_CPtr>(&place - places_.data());
}

std::uint64_t FrameWindow::address_of(const Place& place) const {
    return setting_.address + (static_cast<std::uint64_t>(&place - places_.data()) << setting_.page_bits);
}

std::span<const std::byte> FrameWindow::bytes_of(const Place& place) const {
    return {reinterpret_cast<const std::byte*>(address_of(place)), page_size_bytes()};
}

// Both the copy and what it was copied from: a slot may hold another frame by now, and a revoked copy is mapped
// nowhere.
bool FrameWindow::is_same(const Place& place) const {
    return physical_address_of(slot_of(place)) == place.physical_address &&
           physical_address_of(place.frame) == place.physical_address;
}

void FrameWindow::release(Place& place) {
    if (place.frame == seL4_CapNull) {
        return;
    }
    // Deleting unmaps. An empty slot is no error.
    (void)seL4_CNode_Delete(setting_.cnode, slot_of(place), static_cast<std::uint8_t>(setting_.depth));
    place = {};
}

std::span<const std::byte> FrameWindow::open(seL4_CPtr frame) {
    if (frame == seL4_CapNull) {
        return {};
    }
    Place* least_used = places_.data();
    for (Place& place : places_) {
        if (place.frame == frame) {
            if (place.used == turn_ || is_same(place)) {
                place.used = turn_;
                return bytes_of(place);
            }
            release(place);
        }
        least_used = place.used < least_used->used ? &place : least_used;
    }
    release(*least_used);
    const auto depth = static_cast<std::uint8_t>(setting_.depth);
    if (seL4_CNode_Copy(setting_.cnode, slot_of(*least_used), depth, setting_.cnode, frame, depth, seL4_CanRead) !=
        seL4_NoError) {
        ++counts_.gone;
        return {};
    }
    *least_used = {.frame = frame, .used = turn_};
    const auto address = physical_address_of(slot_of(*least_used));
    if (!address || map_page(slot_of(*least_used), setting_.vspace, address_of(*least_used), seL4_CanRead,
                             kCachedData) != seL4_NoError) {
        release(*least_used);
        ++counts_.gone;
        return {};
    }
    least_used->physical_address = *address;
    ++counts_.mapped;
    return bytes_of(*least_used);
}

void FrameWindow::close() {
    for (Place& place : places_) {
        release(place);
    }
}

bool ForeignStack::read(std::uint64_t address, std::span<std::byte, kRecordSizeBytes> into) {
    for (const ForeignFrame& frame : frames_) {
        const std::uint64_t offset = address - frame.address;
        if (address >= frame.address && offset < window_.page_size_bytes()) {
            const std::span<const std::byte> bytes = window_.open(frame.frame);
            if (bytes.size() < offset + kRecordSizeBytes) {
                return false;
            }
            std::memcpy(into.data(), bytes.data() + offset, kRecordSizeBytes);
            return true;
        }
    }
    return false;
}

}  // namespace perfleet::sel4
