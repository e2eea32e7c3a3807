#include "target-collector/sel4/root/boot/objects.h"

#include <bit>

#include "schemas/vocabulary/assert.h"
#include "target-collector/sel4/kernel/page_calls.h"

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kPageSizeBytes = std::uint64_t{1} << seL4_PageBits;

seL4_Word bits_of(seL4_Word type, seL4_Word size_bits) { return type == kLargePage ? seL4_LargePageBits : size_bits; }

}  // namespace

void require(seL4_Word error, const char* what) {
    if (error != seL4_NoError) {
        perfleet_panic(what, static_cast<int>(error), "is the error of seL4");
    }
}

seL4_CPtr Objects::with_badge(seL4_CPtr capability, seL4_Word badge) {
    const seL4_CPtr slot = take_slot();
    require(
        static_cast<seL4_Word>(seL4_CNode_Mint(seL4_CapInitThreadCNode, slot, seL4_WordBits, seL4_CapInitThreadCNode,
                                               capability, seL4_WordBits, seL4_AllRights, badge)),
        "a badge");
    return slot;
}

seL4_Error Objects::retype(seL4_CPtr untyped, seL4_Word type, seL4_Word size_bits, seL4_CPtr into) {
    return static_cast<seL4_Error>(
        seL4_Untyped_Retype(untyped, type, size_bits, seL4_CapInitThreadCNode, 0, 0, into, 1));
}

seL4_CPtr Objects::make(seL4_Word type, seL4_Word size_bits) {
    const seL4_CPtr slot = take_slot();
    const seL4_Word count = info_.untyped.end - info_.untyped.start;
    for (seL4_Word i = 0; i < count; ++i) {
        // A kernel with printing warns of each one that is too small, so each is tried once.
        const std::uint64_t asked = std::uint64_t{1} << type % 64;
        if (info_.untypedList[i].isDevice != 0 || info_.untypedList[i].sizeBits < bits_of(type, size_bits) ||
            (too_small_for_[i] & asked) != 0) {
            continue;
        }
        if (retype(info_.untyped.start + i, type, size_bits, slot) == seL4_NoError) {
            return slot;
        }
        too_small_for_[i] |= asked;
    }
    perfleet_panic("seL4", static_cast<int>(type), "no memory is left for an object of that type");
}

// Memory of devices is given out from its beginning: what lies before is taken in the largest parts that fit.
seL4_CPtr Objects::make_device_page(std::uint64_t address) {
    const seL4_Word count = info_.untyped.end - info_.untyped.start;
    for (seL4_Word i = 0; i < count; ++i) {
        const seL4_UntypedDesc& memory = info_.untypedList[i];
        if (memory.isDevice == 0 || address < memory.paddr || (address - memory.paddr) >> memory.sizeBits != 0) {
            continue;
        }
        std::uint64_t at = memory.paddr + device_used_bytes_[i];
        PERFLEET_ASSERT(at <= address);
        while (at < address) {
            const int by_alignment = std::countr_zero(at);
            const int by_distance = 63 - std::countl_zero(address - at);
            const int bits = by_alignment < by_distance ? by_alignment : by_distance;
            require(retype(info_.untyped.start + i, seL4_UntypedObject, static_cast<seL4_Word>(bits), take_slot()),
                    "memory before a device");
            at += std::uint64_t{1} << bits;
        }
        const seL4_CPtr slot = take_slot();
        require(retype(info_.untyped.start + i, kSmallPage, 0, slot), "a device's page");
        device_used_bytes_[i] = at + kPageSizeBytes - memory.paddr;
        return slot;
    }
    perfleet_panic("seL4", static_cast<int>(address >> seL4_PageBits), "no device memory at that page");
}

// Also maps the missing tables on the way.
void Objects::map(seL4_CPtr frame, seL4_CPtr vspace, std::uint64_t address, seL4_CapRights_t rights,
                  unsigned attributes) {
    for (;;) {
        const seL4_Error error = map_page(frame, vspace, address, rights, attributes);
        if (error != seL4_FailedLookup) {
            require(error, "mapping a frame");
            return;
        }
        map_table(vspace, address);
    }
}

void Objects::map_table(seL4_CPtr vspace, std::uint64_t address) {
    seL4_Word error = seL4_NoError;
#if defined(__aarch64__)
#if defined(seL4_ARM_VSpaceObject)
    // Before 13.0.0 a table of each level is an object of its own.
    const seL4_Word level = seL4_MappingFailedLookupLevel();
    if (level == SEL4_MAPPING_LOOKUP_NO_PUD) {
        error = static_cast<seL4_Word>(seL4_ARM_PageUpperDirectory_Map(make(seL4_ARM_PageUpperDirectoryObject), vspace,
                                                                       address, seL4_ARM_Default_VMAttributes));
    } else if (level == SEL4_MAPPING_LOOKUP_NO_PD) {
        error = static_cast<seL4_Word>(seL4_ARM_PageDirectory_Map(make(seL4_ARM_PageDirectoryObject), vspace, address,
                                                                  seL4_ARM_Default_VMAttributes));
    } else
#endif
        error = static_cast<seL4_Word>(
            seL4_ARM_PageTable_Map(make(seL4_ARM_PageTableObject), vspace, address, seL4_ARM_Default_VMAttributes));
#elif defined(__x86_64__)
    // The kernel reports which one, by the size that the level below it would have covered.
    const seL4_Word level = seL4_MappingFailedLookupLevel();
    if (level == SEL4_MAPPING_LOOKUP_NO_PDPT) {
        error = static_cast<seL4_Word>(
            seL4_X86_PDPT_Map(make(seL4_X86_PDPTObject), vspace, address, seL4_X86_Default_VMAttributes));
    } else if (level == SEL4_MAPPING_LOOKUP_NO_PD) {
        error = static_cast<seL4_Word>(seL4_X86_PageDirectory_Map(make(seL4_X86_PageDirectoryObject), vspace, address,
                                                                  seL4_X86_Default_VMAttributes));
    } else {
        error = static_cast<seL4_Word>(
            seL4_X86_PageTable_Map(make(seL4_X86_PageTableObject), vspace, address, seL4_X86_Default_VMAttributes));
    }
#elif defined(__riscv)
    error = static_cast<seL4_Word>(
        seL4_RISCV_PageTable_Map(make(seL4_RISCV_PageTableObject), vspace, address, seL4_RISCV_Default_VMAttributes));
#endif
    require(error, "mapping a table");
}

void Objects::map_device(std::uint64_t address) {
    map(make_device_page(address), seL4_CapInitThreadVSpace, address, seL4_ReadWrite, kUncached);
}

seL4_CPtr Objects::map_large_page(std::uint64_t address, Access access) {
    const seL4_CPtr frame = make(kLargePage);
    map(frame, seL4_CapInitThreadVSpace, address, access == Access::kRead ? seL4_CanRead : seL4_ReadWrite, kCachedData);
    return frame;
}

void Objects::make_tables(std::uint64_t address) {
    const seL4_CPtr frame = make(kSmallPage);
    map(frame, seL4_CapInitThreadVSpace, address, seL4_CanRead, kCachedData);
    unmap_page(frame);
}

seL4_CPtr Objects::take_slots(std::size_t count) {
    PERFLEET_ASSERT(count <= info_.empty.end - next_slot_);
    const seL4_CPtr first = next_slot_;
    next_slot_ += count;
    return first;
}

seL4_CPtr Objects::make_address_space() {
#if defined(__aarch64__)
    const seL4_CPtr vspace = make(seL4_ARM_VSpaceObject);
    require(static_cast<seL4_Word>(seL4_ARM_ASIDPool_Assign(seL4_CapInitThreadASIDPool, vspace)), "an address space");
#elif defined(__x86_64__)
    const seL4_CPtr vspace = make(seL4_X64_PML4Object);
    require(static_cast<seL4_Word>(seL4_X86_ASIDPool_Assign(seL4_CapInitThreadASIDPool, vspace)), "an address space");
#elif defined(__riscv)
    const seL4_CPtr vspace = make(seL4_RISCV_PageTableObject);
    require(static_cast<seL4_Word>(seL4_RISCV_ASIDPool_Assign(seL4_CapInitThreadASIDPool, vspace)), "an address space");
#endif
    return vspace;
}

void Objects::share_image(seL4_CPtr vspace, std::uint64_t image_address) {
    std::uint64_t address = image_address;
    for (seL4_CPtr frame = info_.userImageFrames.start; frame < info_.userImageFrames.end; ++frame) {
        const seL4_CPtr copy = take_slot();
        require(static_cast<seL4_Word>(seL4_CNode_Copy(seL4_CapInitThreadCNode, copy, seL4_WordBits,
                                                       seL4_CapInitThreadCNode, frame, seL4_WordBits, seL4_AllRights)),
                "a copy of the image");
        map(copy, vspace, address, seL4_ReadWrite, kCachedCode);
        address += kPageSizeBytes;
    }
}

seL4_CPtr Objects::map_new_page(seL4_CPtr vspace, std::uint64_t address) {
    const seL4_CPtr frame = make(kSmallPage);
    map(frame, vspace, address, seL4_ReadWrite, kCachedData);
    return frame;
}

std::uint64_t Objects::physical_address_of(seL4_CPtr frame) {
    const auto physical = sel4::physical_address_of(frame);
    PERFLEET_ASSERT(physical.has_value());
    return *physical;
}

}  // namespace perfleet::sel4
