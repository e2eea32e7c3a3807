// A root task that watches 40 threads: twelve in address spaces of their own, eight that come, give way to others, and
// go. The work of each is known: in every round worker N has one turn, of (1 + N % 8) units. The repository's
// tests/install/target_library_test.py compares what was stored with that.
#include <array>
#include <utility>

#include "board.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/sel4/kernel/frame_window.h"
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
extern "C" const std::byte image_begin[], image_end[], build_id_note[];  // root.ld

namespace {

constexpr std::uint32_t kWorkers = 40;  // worker N is thread N + 2
constexpr std::uint32_t kApart = 12;    // the first of them, each in an address space of its own
constexpr std::uint32_t kGuests = 8;    // the last of them
constexpr std::uint32_t kFirstGuest = kWorkers - kGuests;
constexpr std::uint32_t kRounds = 50;
// In which a guest comes, another takes its place, and that one goes; each at its own turn.
constexpr std::uint32_t kFirstCome = 10, kSecondCome = 25, kSecondGone = 45;
constexpr std::uint32_t kTicksPerTurn = 2;
constexpr std::uint32_t kUnit = 50'000;  // a turn is as long as one to two ticks, at most
constexpr seL4_Word kPriority = 100;
constexpr std::uint64_t kStacks = 0x7000'0000;  // in the other address spaces alone
constexpr std::uint64_t kLogAddress = 0x1000'0000;
constexpr std::uint64_t kWindow = 0x1040'0000;
constexpr std::uint64_t kPageSizeBytes = 1U << seL4_PageBits;
constexpr std::uint32_t kGuestPid = 2 + kApart;

class NoCounters final : public EventCounters {
public:
    std::size_t count() const override { return 0; }
    std::string_view name(std::size_t /*index*/) const override { return {}; }
    std::uint64_t read(std::size_t /*index*/) override { return 0; }
};

seL4_CPtr turns[kWorkers];  // notifications
volatile unsigned long sum = 0;
volatile std::uint32_t who = 0;  // so that the compiler doesn't take these functions for one

[[gnu::noinline]] void spin(std::uint32_t units) {
    for (std::uint32_t i = 0; i < units * kUnit; ++i) {
        sum = sum + 1;
    }
}

// These threads have no IPC buffer.
void wait_for(seL4_CPtr notification) {
    seL4_Word badge = 0;
#ifdef CONFIG_KERNEL_MCS
    (void)seL4_WaitWithMRs(notification, &badge, nullptr, nullptr, nullptr, nullptr);
#else
    (void)seL4_RecvWithMRs(notification, &badge, nullptr, nullptr, nullptr, nullptr);
#endif
}

template <std::uint32_t N>
[[gnu::noinline]] void turn_of() {
    who = N;
    spin(1 + N % 8);
}

template <std::uint32_t N>
void worker() {
    for (;;) {
        wait_for(turns[N]);
        turn_of<N>();
    }
}

// The replacement of a guest, which differs from it by its functions, too.
template <std::uint32_t N>
[[gnu::noinline]] void turn_of_second() {
    who = kWorkers + N;
    spin(1 + N % 8);
}

template <std::uint32_t N>
void second() {
    for (;;) {
        wait_for(turns[N]);
        turn_of_second<N>();
    }
}

using Entry = void (*)();

template <std::size_t... N>
constexpr std::array<Entry, kWorkers> workers(std::index_sequence<N...>) {
    return {&worker<N>...};
}
template <std::size_t... N>
constexpr std::array<Entry, kWorkers> seconds(std::index_sequence<N...>) {
    return {&second<N>...};
}

struct Name {
    std::array<char, 12> bytes{};
    const char* text(const char* before, std::uint32_t number) {
        std::size_t at = 0;
        while (*before != 0) bytes[at++] = *before++;
        bytes[at++] = static_cast<char>('0' + number / 10);
        bytes[at++] = static_cast<char>('0' + number % 10);
        return bytes.data();
    }
};

// Changes the threads during the run: once a tick, before the next samples.
class Rounds final : public WatchedLoad {
public:
    Rounds(const seL4_BootInfo& info, Objects& objects) : info_{info}, objects_{objects} {}

    void describe(SmallTarget& target) {
        target_ = &target;
        for (std::uint32_t i = 0; i < images.size(); ++i) {
            images[i] = {.path = PERFLEET_IMAGE_PATH,
                         .build_id = {build_id_note + 16, 20},
                         .address = reinterpret_cast<std::uint64_t>(image_begin),
                         .size_bytes = static_cast<std::uint64_t>(image_end - image_begin),
                         .pid = 1 + i};
        }
        threads[0] = {.tid = 1, .name = "root", .pid = 1};
        for (std::uint32_t i = 0; i < kWorkers; ++i) {
            threads[1 + i] = {.tid = i + 2, .name = names_[i].text("w", i), .pid = i < kApart ? 2 + i : 1};
        }
        target.images = std::span{images}.first(1 + kApart);
        target.threads = std::span{threads}.first(1 + kFirstGuest);
    }

    void start(SmallCollector& collector) {
        collector_ = &collector;
        caps[0] = StockKernel::root_thread();
        objects_.make_tables(kWindow);
        window_.emplace(FrameWindow::Setting{.address = kWindow,
                                             .first_slot = objects_.take_slots(FrameWindow::kPlaces),
                                             .cnode = seL4_CapInitThreadCNode,
                                             .vspace = seL4_CapInitThreadVSpace});
        for (std::uint32_t i = 0; i < kWorkers; ++i) turns[i] = objects_.make(seL4_NotificationObject);
        for (std::uint32_t i = 0; i < kFirstGuest; ++i) {
            start_worker(i, kEntries[i], i < kApart ? make_space() : seL4_CapNull);
        }
    }

    void drive(std::uint64_t tick) override {
        const std::uint32_t i = turn_ % kWorkers, round = turn_ / kWorkers;
        if (tick % kTicksPerTurn != 0) start_second();
        if (is_over() || tick % kTicksPerTurn != 0) return;
        ++turn_;
        if (i >= kFirstGuest) change_guest(i, round);
        if (caps[1 + i].tcb != seL4_CapNull) seL4_Signal(turns[i]);
    }
    std::span<const RoundTrips> tests_over() const override { return {}; }
    bool is_over() const { return turn_ == kRounds * kWorkers; }

    std::array<SmallImage, 1 + kApart + 1> images;
    std::array<SmallThread, 1 + kWorkers> threads;
    std::array<StockKernel::ThreadCaps, 1 + kWorkers> caps{};
    std::array<SampledThread, kWorkers> sampled{};

private:
    static constexpr auto kEntries = workers(std::make_index_sequence<kWorkers>());
    static constexpr auto kSecondEntries = seconds(std::make_index_sequence<kWorkers>());

    seL4_CPtr make_space() {
        const seL4_CPtr vspace = objects_.make_address_space();
        objects_.share_image(vspace, reinterpret_cast<std::uint64_t>(image_begin));
        return vspace;
    }

    void start_worker(std::uint32_t i, Entry entry, seL4_CPtr vspace) {
        if (vspace == seL4_CapNull) {
            caps[1 + i] = start_thread(objects_, info_, entry, stacks_[i], kPriority, threads[1 + i].name.data());
            sampled[i] = {ThreadNumber{i + 2}, stacks_[i].bytes};
            return;
        }
        const std::uint64_t stack = kStacks + i * std::size(frames_[i]) * kPageSizeBytes;
        for (std::size_t page = 0; page < std::size(frames_[i]); ++page) {
            const std::uint64_t address = stack + page * kPageSizeBytes;
            frames_[i][page] = {address, objects_.map_new_page(vspace, address)};
        }
        caps[1 + i] = start_thread_in(objects_, info_, entry, vspace, stack + std::size(frames_[i]) * kPageSizeBytes,
                                      kPriority, threads[1 + i].name.data());
        sampled[i] = {.number = ThreadNumber{i + 2}, .reader = &foreign_[i].emplace(*window_, frames_[i])};
    }

    void delete_worker(std::uint32_t i) {
        sampled[i].number = {};
        for (const seL4_CPtr object : {caps[1 + i].tcb, caps[1 + i].scheduling_context}) {
            if (object != seL4_CapNull) {
                require(seL4_CNode_Delete(seL4_CapInitThreadCNode, object, seL4_WordBits), "deleting a thread");
            }
        }
        caps[1 + i] = {};
    }

    void change_guest(std::uint32_t i, std::uint32_t round) {
        if (round == kFirstCome) {
            target_->threads = std::span{threads}.first(2 + i);
            collector_->redefine(cycles());
            start_worker(i, kEntries[i], seL4_CapNull);
        } else if (round == kSecondCome) {
            delete_worker(i);
            coming_ = i;
        } else if (round == kSecondGone) {
            delete_worker(i);
        }
    }

    // A tick after the first has gone: nothing of it counts for the second. Those of the second time share an address
    // space that wasn't there before.
    void start_second() {
        if (coming_ == 0) return;
        const std::uint32_t i = coming_;
        coming_ = 0;
        guest_space_ = guest_space_ == seL4_CapNull ? make_space() : guest_space_;
        threads[1 + i] = {.tid = i + 2, .name = second_names_[i - kFirstGuest].text("s", i), .pid = kGuestPid};
        target_->images = images;
        collector_->redefine(cycles());
        start_worker(i, kSecondEntries[i], guest_space_);
        seL4_Signal(turns[i]);
    }

    const seL4_BootInfo& info_;
    Objects& objects_;
    SmallTarget* target_ = nullptr;
    SmallCollector* collector_ = nullptr;
    std::uint32_t turn_ = 0;
    std::uint32_t coming_ = 0;  // the guest whose place is free; 0: none
    std::array<ThreadStack, kWorkers> stacks_;
    std::array<Name, kWorkers> names_;
    std::array<Name, kGuests> second_names_;
    std::optional<FrameWindow> window_;
    ForeignFrame frames_[kWorkers][2];
    std::optional<ForeignStack> foreign_[kWorkers];
    seL4_CPtr guest_space_ = seL4_CapNull;
};

Place<Objects> objects_place;
Place<SmallCollector> collector_place;
Place<CollectorRun> run_place;
Place<Rounds> rounds_place;

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
    const std::uint64_t alarm_rate = alarm.ticks_per_second();
    const std::uint64_t rate =
        measure_cycle_rate([&] { return alarm.now(); }, cycles, alarm_rate, alarm_rate / 2).per_second;

    NoCounters counters;
    Rounds& rounds = rounds_place.make(*info, objects);
    const Machine machine{alarm, nullptr, counters, &rounds};
    const RunEvents events{StockKernel::built_for(), rate / 1'000, counters};
    TickTimer timer{alarm, 1};
    RunRequests requests{{.event_count = events.descriptions().size(), .cycles_per_second = rate}, timer, nullptr};
    SmallTarget target{.target = TargetId{0x6d61'6e79},
                       .name = "many-threads",
                       .architecture = kArchitecture,
                       .clock = {.name = kClockName, .ticks_per_second = rate, .linux_clockid = -1},
                       .start_point = {.ticks = cycles()},
                       .events = events.descriptions(),
                       .taker = &requests};
    rounds.describe(target);
    SmallCollector& collector = collector_place.make(target, driver);
    rounds.start(collector);
    StockKernel kernel{map_kernel_log(objects, kLogAddress), rounds.caps, {image_begin, image_end}, rate};
    // Without entropy the gateway grants the session: nothing begins before, so that nothing is lost.
    while (collector.status().session.is_none()) collector.step(cycles());
    CollectorRun& run = run_place.make(
        CollectorRun::Parts{kernel, collector, events, machine, timer, requests, rate, 1 + kWorkers, rounds.sampled});
    constexpr int kTicksBehind = 20;  // for the last turn's samples
    run.begin();
    for (int behind = 0; behind < kTicksBehind; behind += rounds.is_over() ? 1 : 0) {
        seL4_Word badge = 0;
        seL4_Wait(woken, &badge);
        run.turn({.is_tick = true});
    }
    run.end_ticks();
    run.finish();
    for (;;) seL4_Yield();
}
