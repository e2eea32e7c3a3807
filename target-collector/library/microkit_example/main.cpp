// A protection domain that profiles its child domains: Microkit on an Arm board, telemetry over the board's UART.
// docs/microkit.md goes through it.
#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/bare-metal/uart_port.h"
#include "target-collector/sel4/domain/domain.h"
#include "target-collector/sel4/domain/system_symbols.h"
#include "target-collector/sel4/kernel/cycles.h"
#include "target-collector/sel4/kernel/place.h"
#include "target-collector/sel4/run/cycle_rate.h"
#include "target-collector/wire/line_stream.h"

using namespace perfleet;
using namespace perfleet::sel4;

namespace {

constinit bare_metal::UartPort uart;  // yours: any LinePort, or a ByteStream
Place<LineStream> stream_place;
Place<Domain> domain_place;
Domain* domain = nullptr;

std::uint64_t timer_now() {
    bare_metal::synchronise();
    return PERFLEET_READ_REGISTER(cntpct_el0);
}

// The cycle counter's rate, by the generic timer. The time is the gateway's; no clock is read for it.
BoardClock find_clock() {
    constexpr std::uint64_t kPartOfSecond = 50;
    start_cycles();
    const std::uint64_t timer_rate = PERFLEET_READ_REGISTER(cntfrq_el0);
    const CycleRate rate = measure_cycle_rate(timer_now, cycles, timer_rate, timer_rate / kPartOfSecond);
    return {rate.per_second, {.ticks = rate.measured.cycles}};
}

}  // namespace

extern "C" {

void perfleet_panic(const char* /*file*/, int /*line*/, const char* /*condition*/) {
    for (;;) seL4_Yield();
}

void init() {
    // The UART carries telemetry, and no text.
    bare_metal::set_console(bare_metal::Console::kNone);
    PERFLEET_ASSERT(check_table(perfleet_domain_table).ok());  // perfleet-microkit-domain has filled it in
    uart.start();
    LineStream& stream = stream_place.make(uart, LineStream::End::kTarget);
    const BoardClock clock = find_clock();
    domain = &domain_place.make(perfleet_domain_table, clock, clock.start.ticks.value, stream);
    domain->begin();
}

void notified(unsigned channel) {
    if (domain != nullptr && channel == perfleet_domain_table.tick_channel && !domain->turn()) {
        domain = nullptr;  // --seconds are over
    }
}

// A child that faulted stays stopped: 0 means that it isn't resumed.
seL4_Bool fault(unsigned /*child*/, seL4_MessageInfo_t /*message*/, seL4_MessageInfo_t* /*reply*/) { return 0; }

}  // extern "C"
