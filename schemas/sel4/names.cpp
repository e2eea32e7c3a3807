#include "schemas/sel4/names.h"

#include <array>

namespace perfleet::sel4 {
namespace {

struct CapName {
    std::uint8_t cap_type;
    std::string_view name;
};

// Equal on all 64-bit kernels, and on 32-bit RISC-V.
constexpr std::array kCommonCaps{CapName{0, "null"},          CapName{2, "untyped"},      CapName{4, "endpoint"},
                                 CapName{6, "notification"},  CapName{8, "reply"},        CapName{10, "cnode"},
                                 CapName{12, "thread"},       CapName{14, "irq_control"}, CapName{16, "irq_handler"},
                                 CapName{18, "zombie"},       CapName{20, "domain"},      CapName{22, "sched_context"},
                                 CapName{24, "sched_control"}};
constexpr std::array kAarch64Caps{CapName{1, "frame"},
                                  CapName{3, "page_table"},
                                  CapName{5, "page_directory"},
                                  CapName{7, "page_upper_directory"},
                                  CapName{9, "vspace"},  // page_global_directory before version 13.0.0
                                  CapName{11, "asid_control"},
                                  CapName{13, "asid_pool"},
                                  CapName{15, "vcpu"},
                                  CapName{17, "sid_control"},
                                  CapName{19, "sid"},
                                  CapName{21, "cb_control"},
                                  CapName{23, "cb"},
                                  CapName{25, "smc"},
                                  CapName{27, "sgi_signal"}};
constexpr std::array kX86Caps{CapName{1, "frame"},          CapName{3, "page_table"},
                              CapName{5, "page_directory"}, CapName{7, "pdpt"},
                              CapName{9, "pml4"},           CapName{11, "asid_control"},
                              CapName{13, "asid_pool"},     CapName{15, "io_space"},
                              CapName{17, "io_page_table"}, CapName{19, "io_port"},
                              CapName{21, "vcpu"},          CapName{23, "ept_pt"},
                              CapName{25, "ept_pd"},        CapName{27, "ept_pdpt"},
                              CapName{29, "ept_pml4"},      CapName{31, "io_port_control"}};
constexpr std::array kRiscvCaps{CapName{1, "frame"}, CapName{3, "page_table"}, CapName{11, "asid_control"},
                                CapName{13, "asid_pool"}};

// The kernel's types have 4 or 8 bits; the log has 5 bits of them.
constexpr std::array kShortCaps{CapName{0, "null"},
                                CapName{2, "untyped"},
                                CapName{4, "endpoint"},
                                CapName{6, "notification"},
                                CapName{8, "reply"},
                                CapName{10, "cnode"},
                                CapName{12, "thread"},
                                CapName{14, "irq_control/zombie/sched_context"},
                                CapName{30, "irq_handler/domain/sched_control"}};
constexpr std::array kAarch32Caps{CapName{1, "small_frame"},         CapName{3, "frame"},
                                  CapName{5, "asid_pool"},           CapName{7, "page_table"},
                                  CapName{9, "page_directory"},      CapName{11, "asid_control"},
                                  CapName{15, "vcpu/io_page_table"}, CapName{31, "io_space/sgi_signal"}};
constexpr std::array kIa32Caps{CapName{1, "frame"},
                               CapName{3, "page_table"},
                               CapName{5, "page_directory"},
                               CapName{9, "asid_control"},
                               CapName{11, "asid_pool"},
                               CapName{13, "io_space"},
                               CapName{15, "io_page_table/vcpu/ept_pd/ept_pml4"},
                               CapName{31, "io_port/ept_pt/ept_pdpt/io_port_control"}};

template <std::size_t kCount>
std::string_view find(const std::array<CapName, kCount>& names, std::uint32_t cap_type) {
    for (const CapName& one : names) {
        if (one.cap_type == cap_type) {
            return one.name;
        }
    }
    return {};
}

}  // namespace

std::optional<Architecture> architecture_of(std::string_view name) {
    struct Alias {
        std::string_view name;
        Architecture architecture;
    };
    constexpr std::array kAliases{Alias{"aarch64", Architecture::kAarch64}, Alias{"arm64", Architecture::kAarch64},
                                  Alias{"aarch32", Architecture::kAarch32}, Alias{"arm", Architecture::kAarch32},
                                  Alias{"armv7l", Architecture::kAarch32},  Alias{"arm_hyp", Architecture::kAarch32},
                                  Alias{"x86_64", Architecture::kX86_64},   Alias{"amd64", Architecture::kX86_64},
                                  Alias{"ia32", Architecture::kIa32},       Alias{"i686", Architecture::kIa32},
                                  Alias{"i386", Architecture::kIa32},       Alias{"riscv64", Architecture::kRiscv64},
                                  Alias{"riscv32", Architecture::kRiscv32}};
    for (const Alias& alias : kAliases) {
        if (alias.name == name) {
            return alias.architecture;
        }
    }
    return std::nullopt;
}

std::string_view path_name(EntryPath path) {
    switch (path) {
        case EntryPath::kUnknown: return "unknown";
        case EntryPath::kInterrupt: return "interrupt";
        case EntryPath::kUnknownSyscall: return "unknown_syscall";
        case EntryPath::kUserLevelFault: return "user_level_fault";
        case EntryPath::kDebugFault: return "debug_fault";
        case EntryPath::kVmFault: return "vm_fault";
        case EntryPath::kSyscall: return "syscall";
        case EntryPath::kUnimplementedDevice: return "unimplemented_device";
        case EntryPath::kVirtualMachine: return "virtual_machine";
    }
    return "unknown";
}

std::string_view syscall_name(std::uint32_t number, bool is_mcs) {
    constexpr std::array<std::string_view, 8> kMaster{"Call", "ReplyRecv", "Send",  "NBSend",
                                                      "Recv", "Reply",     "Yield", "NBRecv"};
    constexpr std::array<std::string_view, 11> kMcs{"Call", "ReplyRecv", "NBSendRecv", "NBSendWait", "Send", "NBSend",
                                                    "Recv", "NBRecv",    "Wait",       "NBWait",     "Yield"};
    const std::size_t index = std::size_t{number} - 1;
    if (is_mcs) {
        return index < kMcs.size() ? kMcs[index] : std::string_view{};
    }
    return index < kMaster.size() ? kMaster[index] : std::string_view{};
}

std::string_view cap_type_name(std::uint32_t cap_type, Architecture architecture) {
    const bool is_short = word_size_of(architecture) == WordSize::k32;
    const std::string_view common = is_short ? find(kShortCaps, cap_type) : find(kCommonCaps, cap_type);
    if (!common.empty()) {
        return common;
    }
    switch (architecture) {
        case Architecture::kAarch64: return find(kAarch64Caps, cap_type);
        case Architecture::kX86_64: return find(kX86Caps, cap_type);
        case Architecture::kAarch32: return find(kAarch32Caps, cap_type);
        case Architecture::kIa32: return find(kIa32Caps, cap_type);
        case Architecture::kRiscv32:
        case Architecture::kRiscv64: return find(kRiscvCaps, cap_type);
    }
    return {};
}

}  // namespace perfleet::sel4
