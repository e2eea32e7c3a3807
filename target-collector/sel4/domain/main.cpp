// The protection domain's entry points, which Microkit calls: init() once, notified() at each interrupt, fault() when a
// child domain has faulted.
#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/device_tree.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/bare-metal/uart_port.h"
#include "target-collector/bare-metal/virtio_serial.h"
#include "target-collector/sel4/domain/domain.h"
#include "target-collector/sel4/domain/system_symbols.h"
#include "target-collector/sel4/kernel/boot_keys.h"
#include "target-collector/sel4/kernel/cycles.h"
#include "target-collector/sel4/kernel/place.h"
#include "target-collector/sel4/run/cycle_rate.h"
#include "target-collector/wire/line_stream.h"

namespace perfleet::sel4 {
namespace {

using bare_metal::print;
using bare_metal::print_number;

// The addresses at which the system description maps devices, as their drivers expect them.
constexpr std::uint64_t kClockAddress = 0x0901'0000;
constexpr std::uint64_t kPortAddress = 0x1020'0000;  // the memory that the virtio port shares with its device

Place<Domain> domain_place;
Domain* domain = nullptr;
constinit bare_metal::UartPort uart;
Place<LineStream> line_place;

void check(const DomainTable& table) {
    const auto checked = check_table(table);
    if (checked.ok()) {
        bare_metal::set_console(table.has_console != 0 ? bare_metal::Console::kUart : bare_metal::Console::kNone);
        return;
    }
    bare_metal::set_console(bare_metal::Console::kNone);
    perfleet_panic("domain table", static_cast<int>(checked.error().where),
                   checked.error().code == ErrorCode::kNotFound ? "tools/microkit-domain hasn't filled it in"
                                                                : "is wrong: of another version?");
}

std::uint64_t timer_now() {
    bare_metal::synchronise();
    return PERFLEET_READ_REGISTER(cntpct_el0);
}

// By the generic timer, over a few milliseconds in which no other thread runs. UTC is the board's clock, to half a
// second; the gateway's answer is more exact.
BoardClock find_clock(bool has_clock) {
    constexpr std::uint64_t kMeasurementsPerSecond = 50;
    constexpr std::uint64_t kHalfSecondNs = kNsPerSecond / 2;
    start_cycles();
    const std::uint64_t timer_rate = PERFLEET_READ_REGISTER(cntfrq_el0);
    const CycleRate rate = measure_cycle_rate(timer_now, cycles, timer_rate, timer_rate / kMeasurementsPerSecond);
    const std::uint64_t seconds = has_clock ? bare_metal::read_device(kClockAddress) : 0;
    return {rate.per_second,
            {rate.measured.cycles, UtcNs{static_cast<std::int64_t>(seconds * kNsPerSecond + kHalfSecondNs)},
             kHalfSecondNs}};
}

ByteStream& open_stream(DomainStream kind) {
    if (kind == DomainStream::kUart) {
        uart.start();
        return line_place.make(uart, LineStream::End::kTarget);
    }
    auto& port = *new (reinterpret_cast<void*>(kPortAddress)) bare_metal::VirtioSerial;
    bare_metal::VirtioPlace place;
    place.bus_offset = perfleet_port_paddr - kPortAddress;
    if (!port.start(place)) {
        perfleet_panic("domain", 0, "no virtio serial port: -device virtio-serial-device -device virtserialport,nr=1");
    }
    return port;
}

// Null: the system description gives it none.
ZmtpMechanism* find_keys() {
    if (perfleet_keys_vaddr == ~0ULL) {
        return nullptr;
    }
    const bool has_tree = perfleet_tree_vaddr != ~0ULL;
    return &find_boot_keys(perfleet_keys_vaddr, {reinterpret_cast<const std::byte*>(perfleet_tree_vaddr),
                                                 has_tree ? bare_metal::kDeviceTreeSizeBytesMax : 0});
}

void start() {
    const DomainTable& table = perfleet_domain_table;
    check(table);
    print("protection domain of perfleet\n");
    const BoardClock clock = find_clock(table.has_clock != 0);
    domain = &domain_place.make(table, clock, clock.start.ticks.value, open_stream(table.stream), find_keys());
    print("running");
    for (const DomainChild& child : table.children()) {
        print(" ");
        print(child.name());
    }
    print("\n");
    domain->begin();
}

}  // namespace
}  // namespace perfleet::sel4

extern "C" {

void init() { perfleet::sel4::start(); }

void notified(unsigned channel) {
    using perfleet::sel4::domain;
    if (domain != nullptr && channel == perfleet_domain_table.tick_channel && !domain->turn()) {
        domain = nullptr;
    }
}

// It stays stopped. 0: it isn't resumed.
seL4_Bool fault(unsigned child, seL4_MessageInfo_t /*message*/, seL4_MessageInfo_t* /*reply*/) {
    perfleet::bare_metal::print("a child domain faulted, and stays stopped: ");
    perfleet::bare_metal::print_number(child);
    perfleet::bare_metal::print("\n");
    return 0;
}

}  // extern "C"
