// A root task that profiles one of its threads: seL4 on QEMU's `virt`, AArch64 or RISC-V, telemetry over the board's
// UART. docs/root-task.md goes through it.
#include "board.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/sel4/kernel/place.h"
#include "target-collector/sel4/kernel/stock_kernel.h"
#include "target-collector/sel4/root/boot/kernel_log.h"
#include "target-collector/sel4/root/boot/objects.h"
#include "target-collector/sel4/root/threads.h"
#include "target-collector/sel4/run/collector_run.h"
#include "target-collector/sel4/run/cycle_rate.h"
#include "target-collector/wire/zmtp_driver.h"

using namespace perfleet;
using namespace perfleet::sel4;
void work();                                                             // load.cpp: the profiled load
extern "C" const std::byte image_begin[], image_end[], build_id_note[];  // root.ld

namespace {

constexpr std::uint64_t kSeconds = 5;
constexpr std::uint64_t kLogAddress = 0x1000'0000;

class NoCounters final : public EventCounters {
public:
    std::size_t count() const override { return 0; }
    std::string_view name(std::size_t /*index*/) const override { return {}; }
    std::uint64_t read(std::size_t /*index*/) override { return 0; }
};

ThreadStack stack;
Place<Objects> objects_place;
Place<SmallCollector> collector_place;
Place<CollectorRun> run_place;

void busy() {
    for (;;) {
        work();
    }
}

std::uint64_t cycles_per_second(BoardAlarm& alarm) {
    const std::uint64_t rate = alarm.ticks_per_second();
    return measure_cycle_rate([&] { return alarm.now(); }, cycles, rate, rate / 2).per_second;
}

}  // namespace

extern "C" [[noreturn]] void perfleet_panic(const char* /*file*/, int /*line*/, const char* /*condition*/) {
    for (;;) seL4_Yield();
}

extern "C" [[noreturn]] void root_main(seL4_BootInfo* info) {
    seL4_SetIPCBuffer(info->ipcBuffer);
    start_cycles();
    Objects& objects = objects_place.make(*info);
    for (const std::uint64_t page : kDevicePages) objects.map_device(page);
    auto uart = make_uart();
    start(uart);
    LineStream stream{uart, LineStream::End::kTarget};
    ZmtpDriver driver{stream};
    const seL4_CPtr woken = objects.make(seL4_NotificationObject), handler = objects.take_slot();
    require(seL4_IRQControl_Get(seL4_CapIRQControl, BoardAlarm::kInterrupt, seL4_CapInitThreadCNode, handler,
                                seL4_WordBits),
            "the timer's interrupt");
    require(seL4_IRQHandler_SetNotification(handler, objects.with_badge(woken, 1)), "its notification");
    BoardAlarm alarm = make_alarm(handler);
    const std::uint64_t rate = cycles_per_second(alarm);

    NoCounters counters;
    const Machine machine{alarm, nullptr, counters, nullptr};
    const RunEvents events{StockKernel::built_for(), rate / 1'000, counters};
    TickTimer timer{alarm, 1};
    RunRequests requests{{.event_count = events.descriptions().size(), .cycles_per_second = rate}, timer, nullptr};
    const SmallImage image{.path = PERFLEET_IMAGE_PATH,
                           .build_id = {build_id_note + 16, 20},
                           .address = reinterpret_cast<std::uint64_t>(image_begin),
                           .size_bytes = static_cast<std::uint64_t>(image_end - image_begin)};
    const SmallThread threads[] = {{1, "root"}, {2, "busy"}};
    const SmallTarget target{.target = TargetId{0x7361'6d70'6c65},
                             .name = "my-root-task",
                             .architecture = kArchitecture,
                             .clock = {.name = kClockName, .ticks_per_second = rate, .linux_clockid = -1},
                             .start_point = {.ticks = cycles()},
                             .events = events.descriptions(),
                             .images = {&image, 1},
                             .threads = threads,
                             .taker = &requests};
    SmallCollector& collector = collector_place.make(target, driver);
    const StockKernel::ThreadCaps caps[] = {StockKernel::root_thread(),
                                            start_thread(objects, *info, busy, stack, 100, "busy")};
    StockKernel kernel{map_kernel_log(objects, kLogAddress), caps, {image_begin, image_end}, rate};
    const SampledThread sampled[] = {{ThreadNumber{2}, stack.bytes}};
    CollectorRun& run =
        run_place.make(CollectorRun::Parts{kernel, collector, events, machine, timer, requests, rate, 2, sampled});
    for (run.begin(); !run.is_over(kSeconds);) {
        seL4_Word badge = 0;
        seL4_Wait(woken, &badge);
        run.turn({.is_tick = true});
    }
    run.end_ticks();
    run.finish();
    for (;;) seL4_Yield();
}
