#include "target-collector/sel4/root/boot/boot_tree.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/device_tree.h"

namespace perfleet::sel4 {

std::span<const std::byte> find_device_tree(const seL4_BootInfo& info) {
    const auto* at = reinterpret_cast<const std::byte*>(&info) + (1U << seL4_PageBits);
    for (const std::byte* end = at + info.extraLen; at < end;) {
        seL4_BootInfoHeader header{};
        std::memcpy(&header, at, sizeof header);
        PERFLEET_ASSERT(header.len >= sizeof header && header.len <= static_cast<std::size_t>(end - at));
        if (header.id == SEL4_BOOTINFO_HEADER_FDT) {
            return {at + sizeof header, header.len - sizeof header};
        }
        at += header.len;
    }
    perfleet_panic("seL4", 0, "the boot information has no device tree");
}

RunWords run_words_of(std::span<const std::byte> tree) {
    const auto found = bare_metal::find_chosen(tree, "bootargs", 1);
    // It ends with a NUL.
    const auto words = parse_run_words(
        found.ok() ? std::string_view{reinterpret_cast<const char*>(found->data()), found->size() - 1} : "");
    if (!words) {
        perfleet_panic("-append", 0, kRunWordsError);
    }
    return *words;
}

SessionId session_of(std::span<const std::byte> tree) {
    SessionId session;
    const auto random = bare_metal::find_seed(tree);
    if (random.ok()) {
        std::memcpy(&session.high, random->data(), sizeof session.high);
        std::memcpy(&session.low, random->data() + sizeof session.high, sizeof session.low);
    }
    return session;
}

}  // namespace perfleet::sel4
