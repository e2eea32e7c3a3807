// The image: a small kernel at EL1 that switches between two threads at EL0, samples them and streams what it finds to
// a gateway over a virtio serial port. It runs for some seconds, says Bye, prints what the functions really took, and
// switches the machine off.
#include <new>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/context.h"
#include "target-collector/bare-metal/device_tree.h"
#include "target-collector/bare-metal/load.h"
#include "target-collector/bare-metal/memory_map.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/bare-metal/sampler.h"
#include "target-collector/bare-metal/virtio_serial.h"
#include "target-collector/small/small_collector.h"

// From virt.ld.
extern "C" const std::byte image_begin[];
extern "C" const std::byte image_end[];
extern "C" const std::byte build_id_note[];

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kSamplesPerSecond = 1'000;
constexpr std::uint64_t kNsPerSample = 1'000'000'000 / kSamplesPerSecond;
constexpr std::uint64_t kRunSeconds = 6;
constexpr std::uint64_t kSamplesMin = 4'000;  // of each event, however slow the host is
constexpr std::uint64_t kRunSecondsMax = 45;
constexpr std::uint64_t kFarewellSeconds = 30;  // for what isn't acknowledged yet
constexpr std::size_t kStackSizeBytes = 16U << 10;
constexpr std::size_t kFramesMax = 32;
constexpr std::uint32_t kPid = 1;

constexpr EventNumber kTimerEvent{0};
constexpr EventNumber kCyclesEvent{1};
constexpr EventDescription kEvents[] = {
    {.name = "timer", .period = kNsPerSample, .exclude_kernel = true, .callchain = true, .unit = "ns"},
    {.name = "cycles", .period = kNsPerSample, .exclude_kernel = true, .callchain = true, .unit = "cycles"},
};
constexpr SmallThread kThreads[] = {{1, "shares"}, {2, "nested"}};

struct alignas(16) UserStack {
    std::array<std::byte, kStackSizeBytes> bytes;
};
[[gnu::section(".user")]] UserStack user_stacks[2];

template <class T>
struct Place {
    alignas(T) std::byte bytes[sizeof(T)];

    template <class... Arguments>
    void make(Arguments&&... arguments) {
        new (bytes) T{static_cast<Arguments&&>(arguments)...};
    }
    T& operator*() { return *std::launder(reinterpret_cast<T*>(bytes)); }
    T* operator->() { return &**this; }
};

Context contexts[2];
std::size_t running = 0;
Place<VirtioSerial> serial;
Place<SmallTarget> target;
Place<SmallImage> image;
Place<Sampler> sampler;
Place<SmallCollector> collector;
std::uint64_t ticks_per_second = 0;
std::uint64_t begun_ticks = 0;
std::uint64_t sample_counts[2];
std::uint64_t seconds_told = 0;
std::uint64_t acknowledged_told = 0;

// Random bytes that QEMU gives each run.
struct Seed {
    SessionId session;
    std::uint64_t jitter = 0;
};
Seed take_seed() {
    const auto tree = std::span{reinterpret_cast<const std::byte*>(kDeviceTreeAddress), kDeviceTreeSizeBytesMax};
    const auto bytes = find_seed(tree);
    if (!bytes.ok()) {
        print("no random bytes in the device tree: this run can't have a session of its own\n");
        PERFLEET_ASSERT(bytes.ok());
    }
    Seed seed;
    std::memcpy(&seed.session.high, bytes->data(), 8);
    std::memcpy(&seed.session.low, bytes->data() + 8, 8);
    seed.jitter = seed.session.high ^ seed.session.low;
    return seed;
}

// The board's clock (PL031) counts seconds: the moment at which it turns is known to a few microseconds.
ClockPoint find_start() {
    constexpr std::uint64_t kRealTimeClock = 0x0901'0000;
    constexpr std::uint64_t kUncertaintyNs = 1'000'000;
    const std::uint32_t before = read_device(kRealTimeClock);
    std::uint32_t now = before;
    while (now == before) {
        now = read_device(kRealTimeClock);
    }
    return {Ticks{counter()}, UtcNs{std::int64_t{now} * kNsPerSecond}, kUncertaintyNs};
}

// The value of the note that the linker has made: three words, "GNU\0", the id.
std::span<const std::byte> find_build_id() {
    std::uint32_t sizes[2];
    std::memcpy(sizes, build_id_note, sizeof sizes);
    PERFLEET_ASSERT(sizes[0] == 4 && sizes[1] <= limits::kBuildIdSizeBytesMax);
    return {build_id_note + 16, sizes[1]};
}

void describe_target(const Seed& seed) {
    image.make(SmallImage{.path = PERFLEET_IMAGE_PATH,
                          .build_id = find_build_id(),
                          .address = reinterpret_cast<std::uint64_t>(image_begin),
                          .size_bytes = static_cast<std::uint64_t>(image_end - image_begin)});
    target.make(SmallTarget{
        .target = TargetId{0x7065'7266'7669'7274},
        .name = "qemu-virt",
        .architecture = "aarch64",
        .session = seed.session,
        .pid = kPid,
        .clock = {.name = "cntvct", .ticks_per_second = ticks_per_second, .linux_clockid = -1},
        .start_point = find_start(),
        .host = {.os_release = "bare metal", .cpus_online = 1, .cpus_configured = 1, .page_size_bytes = 4'096},
        .events = kEvents,
        .images = {&*image, 1},
        .threads = kThreads});
}

void start_thread(std::size_t number, void (*entry)()) {
    contexts[number].pc = reinterpret_cast<std::uint64_t>(entry);
    contexts[number].sp = reinterpret_cast<std::uint64_t>(&user_stacks[number]) + sizeof(UserStack);
}

void take_sample(EventNumber event) {
    std::uint64_t addresses[kFramesMax];
    const std::size_t count = walk_frames(contexts[running], user_stacks[running].bytes, addresses);
    collector->sample({.event = event,
                       .time = Ticks{counter()},
                       .cpu = 0,
                       .tid = kThreads[running].tid,
                       .weight = kNsPerSample,
                       .addresses = std::span{addresses}.first(count)});
    ++sample_counts[event.value];
}

// A line for each second, and for each batch that the gateway has acknowledged.
void tell_progress(std::uint64_t seconds) {
    if (seconds > seconds_told) {
        seconds_told = seconds;
        print("second ");
        print_number(seconds);
        print("\n");
    }
    while (acknowledged_told < collector->status().batches_acknowledged) {
        print("acknowledged ");
        print_number(++acknowledged_told);
        print("\n");
    }
}

bool is_over() {
    const std::uint64_t seconds = (counter() - begun_ticks) / ticks_per_second;
    tell_progress(seconds);
    const bool has_enough = sample_counts[0] >= kSamplesMin && sample_counts[1] >= kSamplesMin;
    return (seconds >= kRunSeconds && has_enough) || seconds >= kRunSecondsMax;
}

void print_value(std::string_view name, std::uint64_t value) {
    print(" ");
    print(name);
    print("=");
    print_number(value);
}

[[noreturn]] void end_run() {
    sampler->stop();
    collector->finish();
    const std::uint64_t stopped_ticks = counter();
    while (!collector->is_finished() && counter() - stopped_ticks < kFarewellSeconds * ticks_per_second) {
        collector->step(Ticks{counter()});
    }
    print("took");
    print_value("heavy", load_times.heavy);
    print_value("medium", load_times.medium);
    print_value("light", load_times.light);
    print_value("outer", load_times.outer);
    print_value("middle", load_times.middle);
    print_value("inner", load_times.inner);
    print("\nsampled");
    print_value("timer", sample_counts[0]);
    print_value("cycles", sample_counts[1]);
    print_value("handshakes", collector->connection_counts().handshakes);
    print_value("gateways", 1 + collector->status().gateway_changes);
    print_value("dropped", collector->status().batches_dropped);
    print_value("finished", collector->status().finished ? 1 : 0);
    print("\n");
    constexpr std::uint64_t kSystemOff = 0x8400'0008;  // PSCI
    register std::uint64_t function asm("x0") = kSystemOff;
    asm volatile("hvc #0" : "+r"(function)::"memory");
    for (;;) {
        asm volatile("wfi");
    }
}

}  // namespace
}  // namespace perfleet::bare_metal

using namespace perfleet;
using namespace perfleet::bare_metal;

// What was interrupted at EL0 stands in `context`; returns what goes on there. start.S
extern "C" Context* handle_exception(Context* context, std::uint64_t is_interrupt) {
    constexpr std::uint64_t kSupervisorCall = 0x15;
    if (is_interrupt != 0) {
        const Sampler::Cause cause = sampler->take_interrupt();
        if (cause != Sampler::Cause::kNone) {
            take_sample(cause == Sampler::Cause::kTimer ? kTimerEvent : kCyclesEvent);
        }
        collector->step(Ticks{counter()});
        if (is_over()) {
            end_run();
        }
    } else {
        PERFLEET_ASSERT(PERFLEET_READ_REGISTER(esr_el1) >> 26 == kSupervisorCall);
        running = 1 - running;
    }
    (void)context;
    return &contexts[running];
}

extern "C" [[noreturn]] void handle_unexpected(std::uint64_t vector, std::uint64_t syndrome, std::uint64_t at,
                                               std::uint64_t address) {
    print("unexpected exception: vector ");
    print_number(vector);
    print(" syndrome ");
    print_hex(syndrome);
    print(" at ");
    print_hex(at);
    print(" address ");
    print_hex(address);
    print("\n");
    for (;;) {
        asm volatile("wfi");
    }
}

extern "C" [[noreturn]] void kernel_main() {
    turn_translation_on();
    ticks_per_second = PERFLEET_READ_REGISTER(cntfrq_el0);
    constexpr std::uint64_t kUserMayReadCounter = 1U << 1;
    PERFLEET_WRITE_REGISTER(cntkctl_el1, kUserMayReadCounter);
    serial.make();
    if (!serial->start()) {
        print("no virtio serial port: give QEMU -device virtio-serial-device and -device virtserialport,nr=1\n");
        PERFLEET_ASSERT(false);
    }
    const Seed seed = take_seed();
    describe_target(seed);
    collector.make(*target, *serial);
    sampler.make(ticks_per_second / kSamplesPerSecond, kNsPerSample, seed.jitter);
    start_thread(0, shares_thread);
    start_thread(1, nested_thread);
    print("running\n");
    begun_ticks = counter();
    sampler->start();
    enter_user(&contexts[0]);
}
