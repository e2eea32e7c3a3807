#include "target-collector/bare-metal/virtio_device.h"

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/device_memory.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint32_t kMagic = 0x7472'6976;  // "virt"
constexpr std::uint32_t kLegacy = 1;
constexpr std::uint32_t kModern = 2;
enum Register : std::uint64_t {
    kMagicValue = 0x00,
    kVersion = 0x04,
    kDeviceType = 0x08,
    kDeviceFeatures = 0x10,
    kDeviceFeaturesSelect = 0x14,
    kDriverFeatures = 0x20,
    kDriverFeaturesSelect = 0x24,
    kPageSize = 0x28,  // legacy
    kQueueSelect = 0x30,
    kQueueSizeMax = 0x34,
    kQueueSize = 0x38,
    kQueueAlign = 0x3c,  // legacy
    kQueuePage = 0x40,   // legacy
    kQueueReady = 0x44,
    kQueueNotify = 0x50,
    kStatus = 0x70,
    kQueueDescriptors = 0x80,  // 64 bits, as the next two
    kQueueGiven = 0x90,
    kQueueUsed = 0xa0,
    kConfig = 0x100,
};
constexpr std::uint32_t kAcknowledge = 1;
constexpr std::uint32_t kDriver = 2;
constexpr std::uint32_t kDriverOk = 4;
constexpr std::uint32_t kFeaturesOk = 8;
constexpr std::uint32_t kVersion1 = 1;  // of the upper 32 features; all that modern devices need
constexpr std::uint32_t kPageSizeBytes = 4'096;

void write_address(std::uint64_t at, std::uint64_t address) {
    write_device(at, static_cast<std::uint32_t>(address));
    write_device(at + 4, static_cast<std::uint32_t>(address >> 32));
}

}  // namespace

bool VirtioDevice::open(const VirtioPlace& place, std::uint32_t type, std::uint32_t features) {
    registers_ = 0;
    for (int i = 0; i < place.device_count && registers_ == 0; ++i) {
        const std::uint64_t at = place.devices + static_cast<std::uint64_t>(i) * place.device_distance;
        const std::uint32_t version = read_device(at + kVersion);
        if (read_device(at + kMagicValue) == kMagic && (version == kLegacy || version == kModern) &&
            read_device(at + kDeviceType) == type) {
            registers_ = at;
            is_legacy_ = version == kLegacy;
        }
    }
    if (registers_ == 0) {
        return false;
    }
    bus_offset_ = place.bus_offset;
    write_device(registers_ + kStatus, 0);
    write_device(registers_ + kStatus, kAcknowledge);
    status_ = kAcknowledge | kDriver;
    write_device(registers_ + kStatus, status_);
    write_device(registers_ + kDeviceFeaturesSelect, 0);
    features_ = read_device(registers_ + kDeviceFeatures) & features;
    write_device(registers_ + kDriverFeaturesSelect, 0);
    write_device(registers_ + kDriverFeatures, features_);
    if (is_legacy_) {
        write_device(registers_ + kPageSize, kPageSizeBytes);
        return true;
    }
    write_device(registers_ + kDriverFeaturesSelect, 1);
    write_device(registers_ + kDriverFeatures, kVersion1);
    status_ |= kFeaturesOk;
    write_device(registers_ + kStatus, status_);
    return (read_device(registers_ + kStatus) & kFeaturesOk) != 0;
}

void VirtioDevice::start() {
    status_ |= kDriverOk;
    write_device(registers_ + kStatus, status_);
}

void VirtioDevice::set_queue(std::uint16_t number, std::uint16_t entries, const volatile void* descriptors,
                             const volatile void* given, const volatile void* used) {
    write_device(registers_ + kQueueSelect, number);
    PERFLEET_ASSERT(read_device(registers_ + kQueueSizeMax) >= entries);
    write_device(registers_ + kQueueSize, entries);
    if (is_legacy_) {
        write_device(registers_ + kQueueAlign, kPageSizeBytes);
        write_device(registers_ + kQueuePage, static_cast<std::uint32_t>(bus_address(descriptors) / kPageSizeBytes));
        return;
    }
    write_address(registers_ + kQueueDescriptors, bus_address(descriptors));
    write_address(registers_ + kQueueGiven, bus_address(given));
    write_address(registers_ + kQueueUsed, bus_address(used));
    write_device(registers_ + kQueueReady, 1);
}

void VirtioDevice::notify(std::uint16_t queue) const { write_device(registers_ + kQueueNotify, queue); }

std::uint8_t VirtioDevice::config(std::uint64_t offset) const {
    return read_device_byte(registers_ + kConfig + offset);
}

}  // namespace perfleet::bare_metal
