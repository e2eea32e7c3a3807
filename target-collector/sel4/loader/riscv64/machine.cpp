// QEMU's RISC-V `virt`: memory as it is, and once more where the kernel's file wants it, by pages of a gigabyte (Sv39).
#include "target-collector/sel4/loader/machine.h"

extern "C" [[noreturn]] void enter_kernel(std::uint64_t entry, const perfleet::sel4::KernelArguments& arguments,
                                          std::uint64_t translation);

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kGigabyte = 1U << 30;

alignas(4096) std::uint64_t table[512];

void map_gigabyte(std::uint64_t address, std::uint64_t physical_address) {
    constexpr std::uint64_t kAllThatIsAllowed = 0xcf;  // valid; read, written, executed; accessed, dirty
    table[address / kGigabyte % 512] = physical_address / kGigabyte * kGigabyte >> 2 | kAllThatIsAllowed;
}

}  // namespace

void start_kernel(const ElfSegment& kernel, std::uint64_t entry, const KernelArguments& arguments) {
    if (kernel.address % kGigabyte != kernel.physical_address % kGigabyte) {
        give_up("the kernel isn't at the same place in its gigabyte",
                {ErrorCode::kInvalid, kernel.address, kernel.physical_address});
    }
    map_gigabyte(kMemoryAddress, kMemoryAddress);
    map_gigabyte(kernel.address, kernel.physical_address);
    constexpr std::uint64_t kSv39 = 8ULL << 60;
    enter_kernel(entry, arguments, kSv39 | reinterpret_cast<std::uint64_t>(table) >> 12);
}

}  // namespace perfleet::sel4
