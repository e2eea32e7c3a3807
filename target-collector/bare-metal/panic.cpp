// The image's way to stop at a bug.
#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/console.h"

namespace {

[[noreturn]] void stand_still() {
    for (;;) {
#if defined(__aarch64__)
        asm volatile("wfi");
#else
        asm volatile("");
#endif
    }
}

}  // namespace

extern "C" [[noreturn]] void perfleet_panic(const char* file, int line, const char* condition) {
    const auto print_text = [](const char* text) {
        for (; *text != 0; ++text) {
            perfleet::bare_metal::print({text, 1});
        }
    };
    print_text("panic: ");
    print_text(file);
    print_text(":");
    perfleet::bare_metal::print_number(static_cast<std::uint64_t>(line));
    print_text(": ");
    print_text(condition);
    print_text("\n");
    stand_still();
}

#ifdef PERFLEET_ASSERT_BY_LINE
extern "C" [[noreturn]] void perfleet_panic_at(int line) {
    using perfleet::bare_metal::print;
    print("panic: line ");
    perfleet::bare_metal::print_number(static_cast<std::uint64_t>(line));
    print(" before ");
    perfleet::bare_metal::print_hex(reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
    print(": addr2line -e IMAGE -fi ADDRESS\n");
    stand_still();
}
#endif
