// Information that a Microkit protection domain can't find out itself: the children that it watches, with names and ELF
// files, and the parts of the board that it was given. tools/microkit-domain takes it from the system description and
// writes it into the collector's ELF file; all integers are little-endian, texts end with a NUL:
//
//     0  16  "perfleet-domain1"
//    16   4  seconds to run, 0: forever
//    20   4  stream: 1 a virtio port, 2 the UART
//    24   4  1: there is a UART to print on
//    28   4  1: there is a clock (PL031)
//    32   4  the channel of the timer's interrupt
//    36   4  how many children
//    40   8  the target's id
//    48  48  the target's name
//    96   .  kChildrenMax × 304:
//              0   4  the child's id: its TCB is at BASE_TCB_CAP + id
//              4   4  how many bytes of build-id
//              8  20  build-id
//             28   4  0
//             32   8  where its stack is mapped, at the same address in both domains; 0: it isn't
//             40   8  … and its size
//             48   8  where its ELF file's first byte lies, were all of it mapped as its code is
//             56   8  … and how many bytes of the file, to the code's end
//             64  40  its name
//            104 200  the ELF file's path on the host
//
// This must not change: a domain's ELF file and the tool may be of two versions. Another layout changes the digit.
//
// Freestanding. Readers borrow the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/result.h"

namespace perfleet::sel4 {

struct DomainChild {
    std::uint32_t id{};
    std::uint32_t build_id_size_bytes{};
    std::array<std::byte, limits::kBuildIdSizeBytesMax> build_id_bytes{};
    std::uint32_t nothing{};
    std::uint64_t stack_address{};
    std::uint64_t stack_size_bytes{};
    std::uint64_t image_address{};
    std::uint64_t image_size_bytes{};
    std::array<char, 40> name_bytes{};
    std::array<char, 200> path_bytes{};

    [[nodiscard]] std::span<const std::byte> build_id() const {
        return std::span{build_id_bytes}.first(build_id_size_bytes);
    }
    [[nodiscard]] std::string_view name() const { return name_bytes.data(); }
    [[nodiscard]] std::string_view path() const { return path_bytes.data(); }
};
static_assert(sizeof(DomainChild) == 304 && offsetof(DomainChild, stack_address) == 32);

enum class DomainStream : std::uint32_t { kVirtioPort = 1, kUart = 2 };

struct DomainTable {
    static constexpr std::size_t kChildrenMax = 15;  // one less than the threads that the collector knows

    std::array<char, 16> mark{};
    std::uint32_t run_seconds{};
    DomainStream stream{};
    std::uint32_t has_console{};
    std::uint32_t has_clock{};
    std::uint32_t tick_channel{};
    std::uint32_t child_count{};
    std::uint64_t target_id{};
    std::array<char, 48> target_name_bytes{};
    std::array<DomainChild, kChildrenMax> all_children{};

    [[nodiscard]] std::string_view target_name() const { return target_name_bytes.data(); }
    [[nodiscard]] std::span<const DomainChild> children() const { return std::span{all_children}.first(child_count); }
};
static_assert(offsetof(DomainTable, all_children) == 96);

inline constexpr std::array<char, 16> kDomainMark{'p', 'e', 'r', 'f', 'l', 'e', 'e', 't',
                                                  '-', 'd', 'o', 'm', 'a', 'i', 'n', '1'};

// Faults: kNotFound: the tool hasn't filled it in; kUnsupported: another layout; kInvalid: `where` is the invalid
// child, or kChildrenMax for the rest.
[[nodiscard]] Checked<Done> check_table(const DomainTable& table);

}  // namespace perfleet::sel4
