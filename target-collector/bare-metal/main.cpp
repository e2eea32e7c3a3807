// The image: a small kernel at EL1 that switches between two threads at EL0 and samples them. It streams the samples to
// a gateway over a virtio serial port, or to a file. It runs for some seconds, sends Bye, prints the functions' real
// times, and switches the machine off.
#include <new>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/context.h"
#include "target-collector/bare-metal/device_tree.h"
#include "target-collector/bare-metal/load.h"
#include "target-collector/bare-metal/memory_map.h"
#include "target-collector/bare-metal/network_stream.h"
#include "target-collector/bare-metal/painted_stack.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/bare-metal/run_options.h"
#include "target-collector/bare-metal/sampler.h"
#include "target-collector/bare-metal/sampling_requests.h"
#include "target-collector/bare-metal/target_keys.h"
#include "target-collector/bare-metal/thread_times.h"
#include "target-collector/bare-metal/uart_port.h"
#include "target-collector/bare-metal/virtio_serial.h"
#include "target-collector/pmu/pmu_description.h"
#include "target-collector/small/frame_chain.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/wire/frame_stream_driver.h"
#include "target-collector/wire/one_way_line.h"
#include "target-collector/wire/zmtp_driver.h"

// From virt.ld.
extern "C" const std::byte image_begin[];
extern "C" const std::byte image_end[];
extern "C" const std::byte build_id_note[];
extern "C" const std::byte keys_begin[];
extern "C" std::uint64_t kernel_stack_begin[];
extern "C" std::uint64_t kernel_stack_end[];

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kSamplesPerSecond = 1'000;
constexpr std::uint64_t kNsPerSample = 1'000'000'000 / kSamplesPerSecond;
constexpr std::uint64_t kRunSecondsMax = 80;     // unless more are asked for, though there are not enough samples
constexpr std::uint64_t kFarewellSeconds = 120;  // for what isn't acknowledged yet
constexpr std::size_t kStackSizeBytes = 16U << 10;
constexpr std::size_t kFramesMax = 32;
constexpr std::uint32_t kPid = 1;

constexpr std::uint16_t kFirstTraceEvent = 3;  // of run_options.h's trace=on: functions by their numbers in load.h
constexpr EventDescription kEvents[] = {
    {.name = "timer", .period = kNsPerSample, .exclude_kernel = true, .callchain = true, .unit = "ns"},
    {.name = "cycles", .period = kNsPerSample, .exclude_kernel = true, .callchain = true, .unit = "cycles"},
    {.name = "utilisation", .kind = Kind::kUtilisation, .unit = "cycles"},
    {.name = "heavy", .kind = Kind::kTracepoint, .unit = "ticks"},
    {.name = "medium", .kind = Kind::kTracepoint, .unit = "ticks"},
    {.name = "light", .kind = Kind::kTracepoint, .unit = "ticks"},
    {.name = "outer", .kind = Kind::kTracepoint, .unit = "ticks"},
    {.name = "middle", .kind = Kind::kTracepoint, .unit = "ticks"},
    {.name = "inner", .kind = Kind::kTracepoint, .unit = "ticks"},
};
// Of a run with the Kanata circle.
constexpr EventNumber kCircleEvent{0};
constexpr EventDescription kCircleEvents[] = {{.name = "circle", .kind = Kind::kLatency, .unit = "cycles"}};
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

// Stays closed while no byte may be sent or received, so that a run takes the same instructions with any peer.
class Gate final : public NetworkDriver {
public:
    explicit Gate(NetworkDriver& driver) : driver_{driver} {}

    void tick(std::uint64_t now_ns) override {
        if (is_open) {
            driver_.tick(now_ns);
        }
    }
    [[nodiscard]] bool send(std::span<const std::byte> frame) override { return is_open && driver_.send(frame); }
    [[nodiscard]] std::span<const std::byte> borrowed() const override {
        return is_open ? driver_.borrowed() : std::span<const std::byte>{};
    }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override {
        return is_open ? driver_.receive(into) : Checked<std::size_t>{std::size_t{0}};
    }
    [[nodiscard]] bool reconnected() override { return is_open && driver_.reconnected(); }

    bool is_open = true;

private:
    NetworkDriver& driver_;
};

RunOptions options;
Context contexts[2];
std::size_t running = 0;
Place<VirtioSerial> serial;
Place<VirtioNet> network_card;
TcpStream* network = nullptr;
Place<UartPort> uart;
Place<LineStream> line;
Place<OneWayLine> one_way_line;
Place<Gate> gate;
Place<ZmtpDriver> gateway_driver;
Place<FrameStreamDriver> file_driver;
Place<SmallTarget> target;
Place<SmallImage> image;
Place<PmuLabels> pmu_labels;
Place<Sampler> sampler;
Place<SamplingRequests> requests;
ThreadTimes thread_times;
std::uint64_t window_began_ticks = 0;
Place<SmallCollector> collector;
std::uint64_t ticks_per_second = 0;
std::uint64_t begun_ticks = 0;
std::uint64_t sample_counts[2];
std::uint64_t missed_counts[2];  // likewise
std::uint64_t circles_measured = 0;
std::uint64_t seconds_reported = 0;
std::uint64_t acknowledged_reported = 0;

std::span<const std::byte> device_tree() {
    return {reinterpret_cast<const std::byte*>(kDeviceTreeAddress), kDeviceTreeSizeBytesMax};
}

[[noreturn]] void switch_off() {
    constexpr std::uint64_t kSystemOff = 0x8400'0008;  // PSCI
    register std::uint64_t function asm("x0") = kSystemOff;
    asm volatile("hvc #0" : "+r"(function)::"memory");
    for (;;) {
        asm volatile("wfi");
    }
}

void take_options() {
    const auto words = find_chosen(device_tree(), "bootargs", 1);
    if (!words.ok()) {
        return;  // none were given
    }
    std::string_view text{reinterpret_cast<const char*>(words->data()), words->size()};
    while (!text.empty() && text.back() == '\0') {
        text.remove_suffix(1);
    }
    const auto taken = parse_run_options(text);
    if (!taken.ok()) {
        print("-append: no option of this image: ");
        text.remove_prefix(taken.error().where);
        print(text);
        print("\n");
        switch_off();
    }
    options = *taken;
    if (options.has_uart || options.prints_to_host) {
        set_console(options.prints_to_host ? Console::kHost : Console::kNone);
    }
}

// The line or device that carries telemetry.
ByteStream& open_port(std::uint64_t random) {
    if (options.gateway) {
        network_card.make();
        const NetworkStream opened =
            open_network(*network_card, {}, {.gateway = *options.gateway, .address = options.address, .seed = random});
        if (opened.stream == nullptr) {
            print(opened.error);
            print("\n");
            switch_off();
        }
        network = opened.stream;
        return *network;
    }
    if (options.has_uart) {
        uart.make();
        uart->start();
        if (options.is_for_file) {
            one_way_line.make(*uart);
            return *one_way_line;
        }
        line.make(*uart, LineStream::End::kTarget);
        return *line;
    }
    serial.make();
    if (!serial->start()) {
        print("no virtio serial port: give QEMU -device virtio-serial-device and -device virtserialport,nr=1\n");
        PERFLEET_ASSERT(false);
    }
    return *serial;
}

// The receiver of telemetry.
NetworkDriver& open_driver(ByteStream& port) {
    if (options.is_for_file) {
        file_driver.make(port);
        return *file_driver;
    }
    ZmtpDriver::Options driver_options;
    if (options.has_keys) {
        const auto seed = find_seed(device_tree());
        const TargetKeys opened =
            open_keys({keys_begin, kTargetKeysSizeBytes}, seed.ok() ? *seed : std::span<const std::byte>{});
        if (opened.mechanism == nullptr) {
            print(opened.error);
            print("\n");
            switch_off();
        }
        driver_options.mechanism = opened.mechanism;
    }
    gateway_driver.make(port, driver_options);
    return *gateway_driver;
}

// Random bytes that QEMU gives each run; with `-M virt,dtb-randomness=off` it gives none, and all runs are the same.
struct Seed {
    SessionId session;  // none: the gateway grants one
    std::uint64_t jitter = 0x2545'f491'4f6c'dd1d;
};
Seed take_seed() {
    const auto bytes = find_seed(device_tree());
    Seed seed;
    if (!bytes.ok() && options.session.is_none()) {
        print("no random bytes in the device tree: the gateway is to grant a session\n");
        return seed;
    }
    if (!options.session.is_none()) {
        seed.session = options.session;
        return seed;
    }
    std::memcpy(&seed.session.high, bytes->data(), 8);
    std::memcpy(&seed.session.low, bytes->data() + 8, 8);
    seed.jitter = seed.session.high ^ seed.session.low;
    return seed;
}

// The board's clock (PL031) counts seconds: the moment at which it changes is known to a fraction of a millisecond.
ClockPoint find_start() {
    constexpr std::uint64_t kRealTimeClock = 0x0901'0000;
    constexpr std::uint64_t kUncertaintyNs = 1'000'000;
    constexpr std::uint64_t kReadsPerSecond = 10'000;
    const std::uint32_t before = read_device(kRealTimeClock);
    std::uint32_t now = before;
    while (now == before) {
        wait_until(counter() + ticks_per_second / kReadsPerSecond);
        now = read_device(kRealTimeClock);
    }
    // The run begins a little later, at a tick that doesn't depend on small differences in the time of start-up.
    constexpr std::uint64_t kGranularity = 1U << 21;
    const std::uint64_t turned_ticks = counter();
    const std::uint64_t begin_ticks = (turned_ticks + 2 * kGranularity) & ~(kGranularity - 1);
    const auto until_ns = static_cast<std::int64_t>((begin_ticks - turned_ticks) * kNsPerSecond / ticks_per_second);
    return {Ticks{begin_ticks}, UtcNs{std::int64_t{now} * kNsPerSecond + until_ns}, kUncertaintyNs};
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
    pmu_labels.make(pmu_of_pmcr(PERFLEET_READ_REGISTER(pmcr_el0),
                                pmu_version_of_aa64dfr0(PERFLEET_READ_REGISTER(id_aa64dfr0_el1))));
    target.make(SmallTarget{
        // With keys, name, id and labels are those of the key's enrolment at the gateway.
        .target = options.has_keys ? TargetId{} : TargetId{0x7065'7266'7669'7274},
        .name = options.has_keys ? std::string_view{} : std::string_view{"qemu-virt", 9},
        .architecture = "aarch64",
        .session = seed.session,
        .pid = kPid,
        .clock = {.name = "cntvct", .ticks_per_second = ticks_per_second, .linux_clockid = -1},
        .start_point = find_start(),
        .host = {.os_release = "bare metal", .cpus_online = 1, .cpus_configured = 1, .page_size_bytes = 4'096},
        .labels = options.has_keys ? decltype(pmu_labels->labels()){} : pmu_labels->labels(),
        .events = options.is_circle
                      ? std::span<const EventDescription>{kCircleEvents}
                      : std::span{kEvents}.first(options.is_traced ? std::size(kEvents) : kFirstTraceEvent),
        .images = {&*image, 1},
        .threads = kThreads,
        .taker = options.is_circle ? nullptr : &*requests});
}

void start_thread(std::size_t number, void (*entry)()) {
    contexts[number].pc = reinterpret_cast<std::uint64_t>(entry);
    contexts[number].sp = reinterpret_cast<std::uint64_t>(&user_stacks[number]) + sizeof(UserStack);
}

void take_sample(EventNumber event) {
    std::uint64_t addresses[kFramesMax];
    constexpr std::size_t kFramePointer = 29;
    const Context& context = contexts[running];
    const std::size_t count = walk_frames({.pc = context.pc, .frame_pointer = context.x[kFramePointer]},
                                          user_stacks[running].bytes, addresses);
    collector->sample({.event = event,
                       .time = Ticks{counter()},
                       .cpu = 0,
                       .tid = kThreads[running].tid,
                       .weight = event == kTimerEvent ? requests->timer_period_ns()
                                 : options.is_in_step ? sampler->fixed_cycles()
                                                      : sampler->period(Sampler::Cause::kCycles),
                       .addresses = std::span{addresses}.first(count)});
    ++sample_counts[event.value];
}

// The board's counters go on while its processor, or the host below QEMU, does something else.
void count_missed(EventNumber event) {
    if (const std::uint64_t missed = sampler->take_missed(); missed != 0) {
        collector->count_lost({Kind::kSample, event}, CountName::kLostTimerLate, missed);
        missed_counts[event.value] += missed;
    }
}

void pass_on_trace() {
    while (trace.taken != trace.written) {
        const Trace::Entry entry = trace.entries[trace.taken % Trace::kEntriesMax];
        trace.taken = trace.taken + 1;
        const auto event = static_cast<std::uint16_t>(kFirstTraceEvent + entry.function);
        const std::uint32_t tid = kThreads[entry.function < kTimedFunctions / 2 ? 0 : 1].tid;
        const auto row =
            row_of<Kind::kTracepoint>(column<ColumnId::kPid>(kPid), column<ColumnId::kTid>(tid),
                                      column<ColumnId::kWeight>(1), column<ColumnId::kValue>(entry.took_ticks));
        const std::span<const std::byte> no_raw_bytes[1] = {};
        collector->append({{Kind::kTracepoint, EventNumber{event}}, Ticks{entry.stop_ticks}, row, no_raw_bytes});
    }
}

// A window's rows: the whole system first, then its threads.
void print_utilisation() {
    const Ticks now{counter()};
    const auto append = [&](std::uint64_t thread, const ThreadCycles& of) {
        using enum ColumnId;
        const auto row = row_of<Kind::kUtilisation>(column<kWindowStart>(window_began_ticks), column<kThread>(thread),
                                                    column<kCycles>(of.cycles), column<kSchedules>(of.schedules),
                                                    column<kKernelCycles>(of.kernel_cycles),
                                                    column<kKernelEntries>(of.kernel_entries));
        collector->append({{Kind::kUtilisation, kUtilisationEvent}, now, row});
    };
    ThreadCycles all{.cycles = thread_times.window_cycles()};
    for (const ThreadCycles& one : thread_times.figures()) {
        all.schedules += one.schedules;
        all.kernel_cycles += one.kernel_cycles;
        all.kernel_entries += one.kernel_entries;
    }
    append(~0ULL, all);
    for (std::size_t i = 0; i < ThreadTimes::kThreads; ++i) {
        append(kThreads[i].tid, thread_times.figures()[i]);
    }
}

void pass_on_utilisation() {
    if (options.is_circle || counter() - window_began_ticks < ticks_per_second) {
        return;
    }
    if (requests->tells_utilisation()) {
        print_utilisation();
    }
    thread_times.begin_window();
    window_began_ticks = counter();
}

void pass_on_circle() {
    using enum ColumnId;
    const auto row = row_of<Kind::kLatency>(column<kTestSize>(circle_test.size), column<kGroup>(circle_test.group),
                                            column<kTest>(circle_test.test), column<kValue>(circle_test.took_cycles));
    collector->append({{Kind::kLatency, kCircleEvent}, Ticks{counter()}, row});
    ++circles_measured;
}

// A line for each second, and for each batch that the gateway has acknowledged.
void print_progress(std::uint64_t seconds) {
    if (seconds > seconds_reported) {
        seconds_reported = seconds;
        print("second ");
        print_number(seconds);
        print("\n");
    }
    while (acknowledged_reported < collector->status().batches_acknowledged) {
        print("acknowledged ");
        print_number(++acknowledged_reported);
        print("\n");
    }
}

bool is_over() {
    const std::uint64_t seconds = (counter() - begun_ticks) / ticks_per_second;
    if (gate->is_open) {
        print_progress(seconds);  // not if runs must be equal for every console
    }
    const bool has_enough = sample_counts[0] >= options.samples_min && sample_counts[1] >= options.samples_min &&
                            (options.is_for_file || gateway_driver->counts().handshakes >= options.handshakes_min);
    return seconds >= options.seconds && (has_enough || seconds >= kRunSecondsMax);
}

std::span<std::uint64_t> kernel_stack() { return {kernel_stack_begin, kernel_stack_end}; }

void print_value(std::string_view name, std::uint64_t value) {
    print(" ");
    print(name);
    print("=");
    print_number(value);
}

[[noreturn]] void end_run() {
    sampler->stop();
    pass_on_trace();
    gate->is_open = true;
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
    print_value("timer_missed", missed_counts[0]);
    print_value("cycles_missed", missed_counts[1]);
    print_value("circles", circles_measured);
    print_value("traced", trace.taken);
    print_value("untraced", trace.lost);
    print_value("handshakes", options.is_for_file ? 0 : gateway_driver->counts().handshakes);
    print_value("gateways", 1 + collector->status().gateway_changes);
    print_value("dropped", collector->status().batches_dropped);
    print_value("finished", collector->status().finished ? 1 : 0);
    print_value("stack_bytes", used_stack_bytes(kernel_stack()));
    if (network != nullptr) {
        print("\nnetwork");
        print_value("connections", network->counts().connections_made);
        print_value("frames_sent", network_card->counts().frames_sent);
        print_value("frames_received", network_card->counts().frames_received);
        print_value("frames_damaged", network_card->counts().frames_damaged);
        print_value("frames_unsent", network->counts().frames_unsent);
        print_value("frames_unread", network->counts().frames_unread);
    }
    print("\n");
    switch_off();
}

}  // namespace
}  // namespace perfleet::bare_metal

using namespace perfleet;
using namespace perfleet::bare_metal;

// `context` is the state interrupted at EL0; returns the context to continue. Called by start.S
extern "C" Context* handle_exception(Context* context, std::uint64_t is_interrupt) {
    constexpr std::uint64_t kSupervisorCall = 0x15;
    thread_times.enter_kernel(running);
    if (is_interrupt != 0) {
        const Sampler::Cause cause = sampler->take_interrupt();
        if (cause != Sampler::Cause::kNone) {
            const EventNumber event = cause == Sampler::Cause::kTimer ? kTimerEvent : kCyclesEvent;
            take_sample(event);
            count_missed(event);
        }
        pass_on_trace();
        pass_on_utilisation();
        collector->step(Ticks{counter()});
        if (is_over()) {
            end_run();
        }
    } else {
        PERFLEET_ASSERT(PERFLEET_READ_REGISTER(esr_el1) >> 26 == kSupervisorCall);
        switch (static_cast<Call>(PERFLEET_READ_REGISTER(esr_el1) & 0xffff)) {
            case Call::kYield:
                running = 1 - running;
                if (running == 0) {
                    sampler->take_turn();
                }
                break;
            case Call::kReport:
                pass_on_circle();
                collector->step(Ticks{counter()});
                break;
            case Call::kEnd: end_run();
        }
    }
    (void)context;
    thread_times.leave_kernel(running);
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
    paint_stack(kernel_stack());
    turn_translation_on();
    ticks_per_second = PERFLEET_READ_REGISTER(cntfrq_el0);
    constexpr std::uint64_t kUserMayReadCounter = 1U << 1;
    PERFLEET_WRITE_REGISTER(cntkctl_el1, kUserMayReadCounter);
    take_options();
    load_turns = options.turns;
    load_rounds = options.is_in_step ? 1 : kRounds;  // in step, the period is the time from yield to yield
    trace.is_on = options.is_traced ? 1 : 0;
    circle_shape.initial_size = options.circle.initial_size;
    circle_shape.size_delta = options.circle.size_delta;
    circle_shape.group_count = options.circle.group_count;
    circle_shape.test_count = options.circle.test_count;
    const Seed seed = take_seed();
    ByteStream& port = open_port(seed.jitter);
    sampler.make(ticks_per_second / kSamplesPerSecond, kNsPerSample, seed.jitter);
    requests.make(*sampler,
                  SamplingRequests::Setting{ticks_per_second, kNsPerSample, options.is_in_step, options.is_traced});
    describe_target(seed);
    gate.make(open_driver(port));
    gate->is_open = !options.streams_after;
    collector.make(*target, *gate);
    start_thread(0, options.is_circle ? circle_thread : shares_thread);
    start_thread(1, options.is_circle ? echo_thread : nested_thread);
    print("running\n");
    begun_ticks = target->start_point.ticks.value;
    wait_until(begun_ticks);
    if (options.is_circle) {
        Sampler::count_all_cycles();
    } else {
        sampler->start(begun_ticks, options.is_in_step);
        thread_times.start(0);
        window_began_ticks = begun_ticks;
    }
    enter_user(&contexts[0]);
}
