// Reads stacks of threads in other address spaces through the capabilities of their frames: a copy of a frame's
// capability is mapped read-only into a window of the collector's own memory when a call chain needs it. Nothing must
// be mapped beforehand, and the thread's own mapping stays unchanged.
//
// seL4 doesn't let user code read page tables. The code that maps frames must keep the address space's list
// (ForeignFrame) up to date.
//
// One thread, with a higher priority than all that delete frames: between two kernel calls here no frame disappears.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/small/frame_chain.h"

namespace perfleet::sel4 {

struct ForeignFrame {
    std::uint64_t address = 0;       // in its address space, a multiple of the frame's size
    seL4_CPtr frame = seL4_CapNull;  // in the CNode of FrameWindow::Setting
};

// Maps a few frames of one size at a time. The least recently used one is replaced.
class FrameWindow : NonCopyable {
public:
    static constexpr std::size_t kPlaces = 8;

    struct Setting {
        std::uint64_t address = 0;            // kPlaces pages without mappings, but with page tables
        seL4_CPtr first_slot = seL4_CapNull;  // first of kPlaces consecutive empty slots
        seL4_CPtr cnode = seL4_CapNull;       // the collector's own
        seL4_Word depth = seL4_WordBits;      // of slots in it
        seL4_CPtr vspace = seL4_CapNull;      // the collector's own
        unsigned page_bits = seL4_PageBits;
    };
    explicit FrameWindow(const Setting& setting) : setting_{setting} {}

    [[nodiscard]] std::uint64_t page_size_bytes() const { return std::uint64_t{1} << setting_.page_bits; }
    // Begins a turn: frames are checked again, because some may have been deleted since.
    void begin() { ++turn_; }
    // The frame's content, valid until the next call. Empty: the capability is no longer a frame of this size.
    [[nodiscard]] std::span<const std::byte> open(seL4_CPtr frame);
    // Deletes all copies: call it before memory is reclaimed by deleting capabilities one by one. (Revoking a frame
    // also deletes its copy.)
    void close();

    struct Counts {
        std::uint64_t mapped = 0;  // times that a frame was mapped
        std::uint64_t gone = 0;    // … that it no longer existed
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    struct Place {
        seL4_CPtr frame = seL4_CapNull;  // none: free
        std::uint64_t physical_address = 0;
        std::uint64_t used = 0;  // turn_ of the last check
    };

    [[nodiscard]] seL4_CPtr slot_of(const Place& place) const;
    [[nodiscard]] std::uint64_t address_of(const Place& place) const;
    [[nodiscard]] std::span<const std::byte> bytes_of(const Place& place) const;
    [[nodiscard]] bool is_same(const Place& place) const;
    void release(Place& place);

    Setting setting_;
    std::uint64_t turn_ = 1;
    std::array<Place, kPlaces> places_{};
    Counts counts_;
};

// The stacks of one address space, for ThreadSampler.
class ForeignStack final : public StackReader {
public:
    // Borrows both; `frames` is read anew at each chain.
    ForeignStack(FrameWindow& window, std::span<const ForeignFrame> frames) : window_{window}, frames_{frames} {}

    void begin_chain() override { window_.begin(); }
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte, kRecordSizeBytes> into) override;

private:
    FrameWindow& window_;
    std::span<const ForeignFrame> frames_;
};

}  // namespace perfleet::sel4
