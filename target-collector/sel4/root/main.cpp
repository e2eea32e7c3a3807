// The root task: follows the kernel's log or utilisation, samples the threads of a small load, measures round trips,
// and streams all of it to a gateway over a virtio serial port, at the same time. It runs for some seconds, says Bye,
// prints what it did, and waits for whoever started the machine to switch it off.
#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "schemas/vocabulary/assert.h"
#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/device_tree.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/bare-metal/run_options.h"
#include "target-collector/bare-metal/virtio_serial.h"
#include "target-collector/sel4/root/events.h"
#include "target-collector/sel4/root/load.h"
#include "target-collector/sel4/root/objects.h"
#include "target-collector/sel4/root/pmu.h"
#include "target-collector/sel4/root/root_orders.h"
#include "target-collector/sel4/root/stock_kernel.h"
#include "target-collector/sel4/root/threads.h"
#include "target-collector/sel4/root/tick.h"
#include "target-collector/small/collector_sink.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/source/sel4/log_source.h"
#include "target-collector/source/sel4/thread_sampler.h"
#include "target-collector/source/sel4/utilisation_window.h"
#include "target-collector/wire/zmtp_driver.h"

// From root.ld.
extern "C" const std::byte image_begin[];
extern "C" const std::byte image_end[];
extern "C" const std::byte build_id_note[];

namespace perfleet::sel4 {
namespace {

using bare_metal::print;
using bare_metal::print_number;

// Where things are mapped: devices at their own addresses, as their drivers know them.
constexpr std::uint64_t kUartPage = 0x0900'0000;
constexpr std::uint64_t kRealTimeClock = 0x0901'0000;
constexpr std::uint64_t kVirtioPages = 0x0a00'0000;
constexpr std::uint64_t kVirtioSizeBytes = 0x4000;
constexpr std::uint64_t kLogAddress = 0x1000'0000;
constexpr std::uint64_t kSerialAddress = 0x1020'0000;

constexpr std::uint64_t kFarewellSeconds = 30;    // for what isn't acknowledged yet
constexpr std::uint64_t kRecordsPerTick = 1'024;  // of the log
constexpr std::uint64_t kTicksBetweenRests = 25;
constexpr std::uint64_t kTicksBetweenTests = 20;
constexpr std::uint32_t kPid = 1;

constexpr std::uint32_t kThreads = 5;
constexpr std::array<std::string_view, kThreads> kThreadNames{"root", "busy", "client", "server", "echo"};
constexpr std::uint32_t kRoot = 0;

template <class T>
struct Place {
    alignas(T) std::byte bytes[sizeof(T)];

    template <class... Arguments>
    T& make(Arguments&&... arguments) {
        return *new (bytes) T{static_cast<Arguments&&>(arguments)...};
    }
};

ThreadStack stacks[kThreads - 1];
Place<SmallCollector> collector_place;
Place<ZmtpDriver> driver_place;
Place<Objects> objects_place;

// -- what the machine says of itself ----------------------------------------------------------------------------------

// The device tree that the loader has passed on.
std::span<const std::byte> find_device_tree(const seL4_BootInfo& info) {
    const auto* at = reinterpret_cast<const std::byte*>(&info) + seL4_BootInfoFrameSize;
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

// Random bytes that QEMU gives each run.
SessionId make_session(std::span<const std::byte> tree) {
    const auto random = bare_metal::find_seed(tree);
    PERFLEET_ASSERT(random.ok());
    SessionId session;
    std::memcpy(&session.high, random->data(), sizeof session.high);
    std::memcpy(&session.low, random->data() + sizeof session.high, sizeof session.low);
    return session;
}

// What QEMU's -append says, as the bare-metal image understands it: here `seconds` and `session` mean something.
bare_metal::RunOptions find_options(std::span<const std::byte> tree) {
    const auto found = bare_metal::find_chosen(tree, "bootargs", 1);
    if (!found.ok()) {
        return {};
    }
    // It ends with a NUL.
    const auto options = bare_metal::parse_run_options(
        std::string_view{reinterpret_cast<const char*>(found->data()), found->size() - 1});
    if (!options.ok()) {
        perfleet_panic("-append", static_cast<int>(options.error().where), "is where a word stands that is no option");
    }
    return *options;
}

struct Clock {
    std::uint64_t cycles_per_second = 0;
    ClockPoint start;
};

// The board's clock (PL031) counts seconds: the moment at which it turns is known to a few microseconds. Between two
// turns the cycle counter's rate is measured.
Clock find_clock() {
    constexpr std::uint64_t kUncertaintyNs = 1'000'000;
    const auto next_turn = [] {
        const std::uint32_t before = bare_metal::read_device(kRealTimeClock);
        std::uint32_t now = before;
        while (now == before) {
            now = bare_metal::read_device(kRealTimeClock);
        }
        return now;
    };
    (void)next_turn();
    const std::uint64_t begun_cycles = cycles().value;
    const std::uint64_t begun = TickTimer::now();
    const std::uint32_t seconds = next_turn();
    const Ticks now = cycles();
    const std::uint64_t ticks = TickTimer::now() - begun;
    const std::uint64_t rate = PERFLEET_READ_REGISTER(cntfrq_el0);
    return {(now.value - begun_cycles) * rate / ticks,
            {now, UtcNs{std::int64_t{seconds} * kNsPerSecond}, kUncertaintyNs}};
}

// The value of the note that the linker has made: three words, "GNU\0", the id.
std::span<const std::byte> find_build_id() {
    std::uint32_t sizes[2];
    std::memcpy(sizes, build_id_note, sizeof sizes);
    PERFLEET_ASSERT(sizes[0] == 4 && sizes[1] <= limits::kBuildIdSizeBytesMax);
    return {build_id_note + 16, sizes[1]};
}

// The port's memory has to lie in one piece for the device, too.
bare_metal::VirtioSerial& open_serial(Objects& objects) {
    const seL4_CPtr frame = objects.map_large_page(kSerialAddress, Objects::Access::kReadAndWrite);
    const seL4_ARM_Page_GetAddress_t physical = seL4_ARM_Page_GetAddress(frame);
    require(static_cast<seL4_Word>(physical.error), "a frame's address");
    auto& serial = *new (reinterpret_cast<void*>(kSerialAddress)) bare_metal::VirtioSerial;
    bare_metal::VirtioSerial::Place place;
    place.bus_offset = physical.paddr - kSerialAddress;
    if (!serial.start(place)) {
        perfleet_panic("seL4", 0, "no virtio serial port: -device virtio-serial-device -device virtserialport,nr=1");
    }
    return serial;
}

StockKernel::Log make_log(Objects& objects) {
    const BenchmarkMode mode = StockKernel::built_for().mode;
    if (mode != BenchmarkMode::kKernelEntries && mode != BenchmarkMode::kTracepoints) {
        return {};
    }
    const seL4_CPtr frame = objects.map_large_page(kLogAddress, Objects::Access::kRead);
    const seL4_ARM_Page_GetAddress_t physical = seL4_ARM_Page_GetAddress(frame);
    print("log at ");
    print_number(physical.paddr);
    print("\n");
    return {frame, {reinterpret_cast<const std::byte*>(kLogAddress), kLogBufferSizeBytes}};
}

void print_value(std::string_view name, std::uint64_t value) {
    print(" ");
    print(name);
    print("=");
    print_number(value);
}

// -- the run ----------------------------------------------------------------------------------------------------------

// What wakes the root task: one notification, with a badge for each cause.
struct Wakers {
    seL4_CPtr notification;
    TickTimer& timer;
    CycleOverflow* overflow;  // null: this kernel lets no overflow interrupt
};
constexpr seL4_Word kTickBadge = 1;
constexpr seL4_Word kOverflowBadge = 2;

// For what was gathered while nobody wanted it.
class NoSink final : public RowSink {
public:
    void append(Series /*series*/, Ticks /*time*/, std::span<const std::uint64_t> /*integers*/,
                std::span<const std::span<const std::byte>> /*bytes*/) override {}
    void count_lost(Series /*series*/, TallyName /*reason*/, std::uint64_t /*row_count*/) override {}
    void count(Series /*series*/, TallyName /*name*/, std::uint64_t /*value*/) override {}
    [[nodiscard]] bool epoch_is_over() const override { return false; }
    void begin_epoch(Ticks /*now*/) override {}
};

class Run {
public:
    Run(StockKernel& kernel, SmallCollector& collector, const RootEvents& events, const Wakers& wakers,
        RootOrders& orders, EventCounters& counters, const Clock& clock, std::span<const SampledThread> sampled)
        : kernel_{kernel},
          collector_{collector},
          sink_{collector},
          wakers_{wakers},
          orders_{orders},
          event_of_mode_{events.first_of_mode()},
          timer_{wakers.timer},
          counters_{counters},
          clock_{clock} {
        const BenchmarkMode mode = kernel.features().mode;
        if (mode == BenchmarkMode::kUtilisation) {
            utilisation_.emplace(kernel, events.first_of_mode(), kThreads);
        } else if (mode != BenchmarkMode::kNone) {
            log_.emplace(kernel, events.first_of_mode());
        }
        sampler_.emplace(kernel, utilisation_ ? &*utilisation_ : nullptr, sampled);
        if (wakers.overflow != nullptr) {
            cycle_sampler_.emplace(kernel, utilisation_ ? &*utilisation_ : nullptr, sampled);
        }
    }

    void begin() {
        if (log_) {
            PERFLEET_ASSERT(log_->start().ok());
        }
        if (utilisation_) {
            PERFLEET_ASSERT(utilisation_->begin().ok());
        }
        begun_ = second_begun_ = cycles();
        timer_.start();
        if (wakers_.overflow != nullptr) {
            wakers_.overflow->start();
        }
    }

    void go_on_for(std::uint64_t seconds) {
        while (cycles().value - begun_.value < seconds * clock_.cycles_per_second) {
            seL4_Word causes = 0;
            seL4_Wait(wakers_.notification, &causes);
            const Ticks woken = cycles();
            forget_what_was_stopped();
            if ((causes & kOverflowBadge) != 0 && wakers_.overflow->go_on()) {
                take_samples(*cycle_sampler_, RootEvents::kCycleSamples, woken);
            }
            if ((causes & kTickBadge) != 0) {
                timer_.go_on();
                take_samples(*sampler_, RootEvents::kSamples, woken);
                drive_load();
            }
            follow_log();
            pass_latencies();
            if (woken.value - second_begun_.value >= clock_.cycles_per_second) {
                second_begun_ = woken;
                pass_second(woken);
            }
            // Now: an order's time lies behind that of every row before it.
            collector_.step(cycles());
            own_cycles_ += cycles().value - woken.value;
        }
        timer_.stop();
        if (wakers_.overflow != nullptr) {
            wakers_.overflow->stop();
        }
    }

    // The load stands still.
    void end() {
        follow_log();
        while (log_ && log_->poll(kRecordsPerTick, sink_of_mode()) > 8) {
        }
        pass_latencies();
        pass_second(cycles());
        collector_.finish();
        const Ticks stopped = cycles();
        while (!collector_.is_finished() &&
               cycles().value - stopped.value < kFarewellSeconds * clock_.cycles_per_second) {
            collector_.step(cycles());
        }
    }

    void tell(std::uint64_t handshakes) {
        const TickTimer::Coverage& coverage = timer_.coverage();
        print("ran");
        print_value("ticks", coverage.ticks);
        print_value("samples", samples_);
        print_value("uncovered_ppm", coverage.uncovered * 1'000'000 / std::max<std::uint64_t>(coverage.measured, 1));
        print_value("gap_max_us", coverage.gap_max * 1'000'000 / PERFLEET_READ_REGISTER(cntfrq_el0));
        print_value("own_permille",
                    own_cycles_ * 1'000 / std::max<std::uint64_t>(second_begun_.value - begun_.value, 1));
        print_value("latencies", latencies_passed_);
        if (log_) {
            const LogFollower::Counts& counts = log_->counts();
            print_value("records", counts.records);
            print_value("resets", counts.resets);
            print_value("recovered", counts.recovered);
            print_value("saturations", counts.saturations);
            print_value("lost", counts.lost);
        }
        if (utilisation_) {
            print_value("windows", windows_);
            print_value("windows_unaccounted", windows_unaccounted_);
        }
        print("\ntook");
        print_value("heavy", load_times.heavy);
        print_value("medium", load_times.medium);
        print_value("light", load_times.light);
        print("\nend");
        print_value("handshakes", handshakes);
        print_value("acknowledged", collector_.status().batches_acknowledged);
        print_value("dropped", collector_.status().batches_dropped);
        print_value("finished", collector_.status().finished ? 1 : 0);
        if (log_) {
            print_value("log_index", kernel_.finalize_log());
        }
        print("\n");
    }

private:
    // Of events that were started again.
    void forget_what_was_stopped() {
        const auto forget = [](ThreadSampler& sampler) {
            for (std::size_t i = 0; i < sampler.thread_count(); ++i) {
                (void)sampler.take(i);
            }
        };
        if (orders_.take_start(RootEvents::kSamples)) {
            forget(*sampler_);
        }
        if (orders_.take_start(RootEvents::kCycleSamples) && cycle_sampler_) {
            forget(*cycle_sampler_);
        }
        if (orders_.take_start(event_of_mode_)) {
            if (utilisation_) {
                PERFLEET_ASSERT(utilisation_->turn(no_sink_).ok());
            }
            while (log_ && log_->poll(kRecordsPerTick, no_sink_) == kRecordsPerTick) {
            }
        }
    }

    [[nodiscard]] RowSink& sink_of_mode() {
        return orders_.is_running(event_of_mode_) ? static_cast<RowSink&>(sink_) : no_sink_;
    }

    void take_samples(ThreadSampler& sampler, EventNumber event, Ticks now) {
        if (!orders_.is_running(event)) {
            return;
        }
        for (std::size_t i = 0; i < sampler.thread_count(); ++i) {
            if (const auto sample = sampler.take(i)) {
                ++samples_;
                collector_.sample({.event = event,
                                   .time = now,
                                   .cpu = 0,
                                   .tid = sample->thread.value,
                                   .weight = sample->ran_ticks.value_or(1),
                                   .addresses = sample->addresses});
            }
        }
    }

    void follow_log() {
        if (log_) {
            (void)log_->poll(kRecordsPerTick, sink_of_mode());
        }
    }

    void pass_latencies() {
        for (; latencies_passed_ < latency_tests.count; ++latencies_passed_) {
            const LatencyTests::Test& test = latency_tests.tests[latencies_passed_];
            const EventNumber event =
                test.is_notification ? RootEvents::kNotificationLatency : RootEvents::kCallLatency;
            const std::uint64_t row[] = {test.begun_cycles, test.size, test.group, test.number, test.took_cycles};
            if (orders_.is_running(event)) {
                sink_.append({Kind::kLatency, event}, Ticks{test.begun_cycles}, row, {});
            }
        }
    }

    void drive_load() {
        const std::uint64_t tick = timer_.coverage().ticks;
        if (tick % kTicksBetweenRests == 0) {
            seL4_Signal(load_caps.rest);
        }
        if (tick % kTicksBetweenTests == 0) {
            seL4_Signal(load_caps.begin);
        }
    }

    void pass_second(Ticks now) {
        const std::uint64_t ran_ns = (now.value - begun_.value) * 1'000 / (clock_.cycles_per_second / 1'000'000);
        const std::uint64_t row[] = {now.value, 0, kPid, kRoot + 1, own_cycles_, ran_ns, ran_ns};
        if (orders_.is_running(RootEvents::kCollectorTime)) {
            sink_.append({Kind::kCounter, RootEvents::kCollectorTime}, now, row, {});
        }
        for (std::size_t i = 0; i < counters_.count(); ++i) {
            constexpr std::uint64_t kWholeCpu = 0xffff'ffff;
            const std::uint64_t value[] = {now.value, 0, kWholeCpu, kWholeCpu, counters_.read(i), ran_ns, ran_ns};
            const EventNumber event{static_cast<std::uint16_t>(RootEvents::kFirstCounter.value + i)};
            if (orders_.is_running(event)) {
                sink_.append({Kind::kCounter, event}, now, value, {});
            }
        }
        if (utilisation_) {
            PERFLEET_ASSERT(utilisation_->turn(sink_of_mode()).ok());
            ++windows_;
            windows_unaccounted_ += utilisation_->unaccounted_cycles() == 0 ? 0 : 1;
        }
    }

    StockKernel& kernel_;
    SmallCollector& collector_;
    CollectorSink sink_;
    NoSink no_sink_;
    const Wakers& wakers_;
    RootOrders& orders_;
    EventNumber event_of_mode_;
    TickTimer& timer_;
    EventCounters& counters_;
    const Clock& clock_;
    std::optional<UtilisationWindow> utilisation_;
    std::optional<LogSource> log_;
    std::optional<ThreadSampler> sampler_;
    std::optional<ThreadSampler> cycle_sampler_;
    Ticks begun_;
    Ticks second_begun_;
    std::uint64_t own_cycles_ = 0;
    std::uint64_t samples_ = 0;
    std::uint64_t windows_ = 0;
    std::uint64_t windows_unaccounted_ = 0;
    std::size_t latencies_passed_ = 0;
};

// On MCS kernels a thread's consumed time can be asked once only, which the timer's samples do.
bool may_overflow(CycleOverflow& overflow, seL4_CPtr notification) {
    return !StockKernel::built_for().is_mcs && overflow.works(notification);
}

[[noreturn]] void run_root(const seL4_BootInfo& info) {
    Objects& objects = objects_place.make(info);
    objects.map_device(kUartPage);
    objects.map_device(kRealTimeClock);
    for (std::uint64_t at = kVirtioPages; at < kVirtioPages + kVirtioSizeBytes; at += 1U << seL4_PageBits) {
        objects.map_device(at);
    }
    print("root task of perfleet\n");

    const auto tree = find_device_tree(info);
    const bare_metal::RunOptions options = find_options(tree);
    const SessionId session = options.session.is_none() ? make_session(tree) : options.session;
    start_cycles();
    const Clock clock = find_clock();
    EventCounters counters;
    const RootEvents events{StockKernel::built_for(), kThreadNames, clock.cycles_per_second / 1'000, counters};
    const seL4_CPtr woken = objects.make(seL4_NotificationObject);
    TickTimer timer{objects, objects.with_badge(woken, kTickBadge), PERFLEET_READ_REGISTER(cntfrq_el0),
                    session.high ^ session.low};
    CycleOverflow overflow{objects, objects.with_badge(woken, kOverflowBadge), clock.cycles_per_second / 1'000,
                           session.high + session.low};
    const Wakers wakers{woken, timer, may_overflow(overflow, woken) ? &overflow : nullptr};
    print(wakers.overflow == nullptr ? "overflows of the PMU don't interrupt\n" : "overflows of the PMU interrupt\n");
    RootOrders orders{{.event_count = events.descriptions().size(),
                       .cycles_per_second = clock.cycles_per_second,
                       .ticks_per_second = PERFLEET_READ_REGISTER(cntfrq_el0)},
                      timer,
                      wakers.overflow};
    const SmallImage image{.path = PERFLEET_IMAGE_PATH,
                           .build_id = find_build_id(),
                           .address = reinterpret_cast<std::uint64_t>(image_begin),
                           .size_bytes = static_cast<std::uint64_t>(image_end - image_begin)};
    SmallThread named[kThreads];
    for (std::uint32_t i = 0; i < kThreads; ++i) {
        named[i] = {i + 1, kThreadNames[i]};
    }
    const SmallTarget target{
        .target = TargetId{0x7065'7266'7365'4c34},
        .name = "qemu-sel4",
        .architecture = "aarch64",
        .session = session,
        .pid = kPid,
        .clock = {.name = "pmccntr", .ticks_per_second = clock.cycles_per_second, .linux_clockid = -1},
        .start_point = clock.start,
        .host = {.os_release = "seL4 " PERFLEET_SEL4_VERSION,
                 .cpus_online = 1,
                 .cpus_configured = 1,
                 .page_size_bytes = 4'096},
        .events = events.descriptions(),
        .images = {&image, 1},
        .threads = named,
        .taker = &orders};
    ZmtpDriver& driver = driver_place.make(open_serial(objects));
    SmallCollector& collector = collector_place.make(target, driver);

    load_caps = {.rest = objects.make(seL4_NotificationObject),
                 .begin = objects.make(seL4_NotificationObject),
                 .there = objects.make(seL4_NotificationObject),
                 .back = objects.make(seL4_NotificationObject),
                 .endpoint = objects.make(seL4_EndpointObject)};
#ifdef CONFIG_KERNEL_MCS
    load_caps.reply = objects.make(seL4_ReplyObject, seL4_ReplyBits);
#endif
    const StockKernel::Log log = make_log(objects);
    constexpr seL4_Word kBusyPriority = 100;
    constexpr seL4_Word kTalkPriority = 101;
    StockKernel::ThreadCaps caps[kThreads] = {
        {.tcb = seL4_CapInitThreadTCB, .scheduling_context = seL4_CapInitThreadSC},
        start_thread(objects, info, busy_thread, stacks[0], kBusyPriority, "busy"),
        start_thread(objects, info, client_thread, stacks[1], kTalkPriority, "client"),
        start_thread(objects, info, server_thread, stacks[2], kTalkPriority, "server"),
        start_thread(objects, info, echo_thread, stacks[3], kTalkPriority, "echo"),
    };
    StockKernel kernel{log, caps, {image_begin, image_end}};
    SampledThread sampled[kThreads - 1];
    for (std::uint32_t i = 1; i < kThreads; ++i) {
        sampled[i - 1] = {ThreadNumber{i + 1}, stacks[i - 1].bytes};
    }
    Run run{kernel, collector, events, wakers, orders, counters, clock, sampled};
    print("running\n");
    run.begin();
    run.go_on_for(options.seconds);
    for (std::uint32_t i = 1; i < kThreads; ++i) {
        require(static_cast<seL4_Word>(seL4_TCB_Suspend(caps[i].tcb)), "stopping a thread");
    }
    run.end();
    run.tell(driver.counts().handshakes);
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}

}  // namespace
}  // namespace perfleet::sel4

extern "C" [[noreturn]] void root_main(seL4_BootInfo* info) {
    seL4_SetIPCBuffer(info->ipcBuffer);
    perfleet::sel4::run_root(*info);
}
