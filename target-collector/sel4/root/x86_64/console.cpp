// The root task's output on a PC: to COM1, once PcBoard has opened it.
#include "target-collector/bare-metal/console.h"

#include "target-collector/sel4/root/x86_64/pc_console.h"

namespace perfleet {
namespace {

sel4::ComPort* console = nullptr;

}  // namespace

void sel4::open_console(ComPort& port) { console = &port; }

void bare_metal::print(std::string_view text) {
    auto left = std::as_bytes(std::span{text});
    while (console != nullptr && !left.empty()) {
        left = left.subspan(console->write(left));
    }
}

}  // namespace perfleet
