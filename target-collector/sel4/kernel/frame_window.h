// Stacks of threads in other address spaces, read through the capabilities of their frames: a copy of a frame's
// capability is mapped into a window of the collector's own memory, to be read, when a call chain needs it. Nothing has
// to be mapped beforehand, and the thread's own mapping stays as it is.
//
// seL4 lets nobody read page tables. Which frame stands at which address is known to whoever mapped it, who keeps the
// list of an address space (ForeignFrame) up to date.
//
// One thread, with a priority above all that delete frames: between two calls of the kernel here none goes away.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/small/frame_chain.h"

namespace perfleet::sel4 {

struct ForeignFrame {
    std::uint64_t address = 0;       // in its address space, a multiple of the frame's size
    seL4_CPtr frame = seL4_CapNull;  // in the CNode of FrameWindow::Setting
};

// Some frames of one size, mapped at a time. The one that was used least recently gives way.
class FrameWindow {
public:
    static constexpr std::size_t kPlaces = 8;

    struct Setting {
        std::uint64_t address = 0;            // kPlaces pages where nothing is mapped, but their page tables are
        seL4_CPtr first_slot = seL4_CapNull;  // kPlaces empty ones in a row
        seL4_CPtr cnode = seL4_CapNull;       // the collector's own
        seL4_Word depth = seL4_WordBits;      // of slots in it
        seL4_CPtr vspace = seL4_CapNull;      // the collector's own
        unsigned page_bits = seL4_PageBits;
    };
    explicit FrameWindow(const Setting& setting) : setting_{setting} {}
    FrameWindow(const FrameWindow&) = delete;
    FrameWindow& operator=(const FrameWindow&) = delete;

    [[nodiscard]] std::uint64_t page_size_bytes() const { return std::uint64_t{1} << setting_.page_bits; }
    // From here on each frame is looked at anew, for frames may have been deleted since.
    void begin() { ++turn_; }
    // What stands in it, until the next call. Empty: that capability is no frame's of this size any more.
    [[nodiscard]] std::span<const std::byte> open(seL4_CPtr frame);
    // Gives all copies back: to be called before memory is reclaimed by deleting capabilities one by one. (A revoked
    // frame takes its copy with it.)
    void close();

    struct Counts {
        std::uint64_t mapped = 0;  // times that a frame was
        std::uint64_t gone = 0;    // … that it wasn't there any more
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    struct Place {
        seL4_CPtr frame = seL4_CapNull;  // none: free
        std::uint64_t physical_address = 0;
        std::uint64_t used = 0;  // turn_ when it was looked at last
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
    // Borrowed; what `frames` says is read at each chain.
    ForeignStack(FrameWindow& window, std::span<const ForeignFrame> frames) : window_{window}, frames_{frames} {}

    void begin_chain() override { window_.begin(); }
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte, kRecordSizeBytes> into) override;

private:
    FrameWindow& window_;
    std::span<const ForeignFrame> frames_;
};

}  // namespace perfleet::sel4
