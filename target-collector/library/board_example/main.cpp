// A board without an operating system, profiled: QEMU's RISC-V `virt`, which takes 1,000 samples a second of three
// functions and streams them over TCP, or over its UART. docs/board.md goes through it.
#include <new>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/ns16550_port.h"
#include "target-collector/small/frame_chain.h"
#include "target-collector/small/jittered_period.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/wire/line_stream.h"
#include "target-collector/wire/zmtp_driver.h"
#ifdef BOARD_NETWORK
#include "target-collector/bare-metal/virtio_net.h"
#include "target-collector/network/tcp_stream.h"
#endif

using namespace perfleet;
void work();  // load.cpp: the profiled load
extern "C" const std::byte image_begin[], image_end[], build_id_note[], stack_begin[], stack_end[];  // virt.ld

namespace {

constexpr std::uint64_t kTicksPerSecond = 10'000'000;  // of the timer
constexpr std::uint64_t kPeriodTicks = kTicksPerSecond / 1'000;
constexpr std::uint64_t kRunSeconds = 5;

template <class Word>
volatile Word& device(std::uint64_t address) {
    return *reinterpret_cast<volatile Word*>(address);
}
std::uint64_t now() { return device<std::uint64_t>(0x200'bff8); }
void wake_at(std::uint64_t moment) { device<std::uint64_t>(0x200'4000) = moment; }
[[noreturn]] void switch_off(std::uint32_t status) {
    for (;;) device<std::uint32_t>(0x10'0000) = status;
}

UtcNs real_time() {  // reading the low half holds the high one
    const std::uint64_t low = device<std::uint32_t>(0x10'1000);
    return UtcNs{static_cast<std::int64_t>(std::uint64_t{device<std::uint32_t>(0x10'1004)} << 32 | low)};
}

constexpr EventDescription kEvents[] = {{.name = "timer", .period = kPeriodTicks, .callchain = true, .unit = "ticks"}};
constexpr SmallThread kThreads[] = {{1, "main"}};
alignas(SmallCollector) std::byte collector_memory[sizeof(SmallCollector)];
SmallCollector* collector = nullptr;
constexpr std::uint64_t kGreetingSeconds = 10;
constinit JitteredPeriod period{kPeriodTicks, 1};
std::uint64_t due = 0;
std::uint64_t end = 0;

#ifdef BOARD_NETWORK
ByteStream& open_stream() {
    alignas(bare_metal::VirtioNet) static std::byte card_memory[sizeof(bare_metal::VirtioNet)];
    alignas(TcpStream) static std::byte stream_memory[sizeof(TcpStream)];
    auto& card = *new (card_memory) bare_metal::VirtioNet;
    if (!card.start({.devices = 0x1000'1000, .device_distance = 0x1000, .device_count = 8})) {
        switch_off(0x3333);
    }
    // Its own address comes by DHCP. A board with entropy takes the seed from that.
    return *new (stream_memory) TcpStream{card,
                                          {.gateway = {.address = {0x0a00'0264}, .port = 7'411},  // 10.0.2.100
                                           .seed = static_cast<std::uint64_t>(real_time().value)}};
}
#else
ByteStream& open_stream() {
    alignas(LineStream) static std::byte memory[sizeof(LineStream)];
    static bare_metal::Ns16550Port uart{0x1000'0000};
    return *new (memory) LineStream{uart, LineStream::End::kTarget};
}
#endif

}  // namespace

struct Interrupted {
    std::uint64_t return_address, frame_pointer, pc;
};  // start.S

extern "C" void on_interrupt(const Interrupted& at) {
    std::uint64_t addresses[32];
    const std::size_t count =
        walk_frames({at.pc, at.frame_pointer, at.return_address}, {stack_begin, stack_end}, addresses);
    collector->sample({.event = EventNumber{0},
                       .time = Ticks{now()},
                       .tid = 1,
                       .weight = kPeriodTicks,
                       .addresses = std::span{addresses}.first(count)});
    collector->step(Ticks{now()});
    while (due <= now()) due += period.next();
    wake_at(due);
}

extern "C" [[noreturn]] void perfleet_panic(const char*, int line, const char*) {
    switch_off(static_cast<std::uint32_t>(line) << 16 | 0x3333);
}

extern "C" [[noreturn]] void board_main() {
    const SmallImage image{.path = PERFLEET_IMAGE_PATH,
                           .build_id = {build_id_note + 16, 20},
                           .address = reinterpret_cast<std::uint64_t>(image_begin),
                           .size_bytes = static_cast<std::uint64_t>(image_end - image_begin)};
    const SmallTarget target{.target = TargetId{0x7269'7363'76},
                             .name = "riscv-virt",
                             .architecture = "riscv64",
                             .clock = {.name = "mtime", .ticks_per_second = kTicksPerSecond, .linux_clockid = -1},
                             .start_point = {Ticks{now()}, real_time(), 1'000'000},
                             .events = kEvents,
                             .images = {&image, 1},
                             .threads = kThreads};
    ZmtpDriver driver{open_stream()};
    collector = new (collector_memory) SmallCollector{target, driver};
    // Without entropy the gateway grants the session: until then there is space for few samples.
    const std::uint64_t patience = now() + kGreetingSeconds * kTicksPerSecond;
    while (collector->status().session.is_none() && now() < patience) collector->step(Ticks{now()});
    due = now();
    end = due + kRunSeconds * kTicksPerSecond;
    asm volatile("csrw mie, %0\n csrsi mstatus, 8" ::"r"(1 << 7));  // the timer's interrupt
    while (now() < end) {
        work();
    }
    asm volatile("csrci mstatus, 8");
    for (collector->finish(); !collector->is_finished();) collector->step(Ticks{now()});
    switch_off(0x5555);
}
