// The root task: wires the parts of a run (run/collector_run.h). It runs for some seconds, sends Bye, prints a report,
// and waits until the machine is switched off.
#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/painted_stack.h"
#include "target-collector/sel4/kernel/frame_window.h"
#include "target-collector/sel4/kernel/place.h"
#include "target-collector/sel4/kernel/run_report.h"
#include "target-collector/sel4/kernel/stock_kernel.h"
#include "target-collector/sel4/root/board.h"
#include "target-collector/sel4/root/boot/kernel_log.h"
#include "target-collector/sel4/root/boot/objects.h"
#include "target-collector/sel4/root/load.h"
#include "target-collector/sel4/root/threads.h"
#include "target-collector/sel4/run/events.h"
#include "target-collector/sel4/run/run_requests.h"
#include "target-collector/sel4/run/tick.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/wire/zmtp_driver.h"

// From root.ld.
extern "C" const std::byte image_begin[];
extern "C" const std::byte image_end[];
extern "C" const std::byte build_id_note[];
extern "C" std::uint64_t root_stack_begin[];
extern "C" std::uint64_t root_stack_end[];

namespace perfleet::sel4 {
namespace {

using bare_metal::print;
using bare_metal::print_number;

constexpr std::uint64_t kLogAddress = 0x1000'0000;
constexpr std::uint64_t kWindowAddress = 0x1040'0000;  // 2 MiB: frames of other address spaces
constexpr std::uint64_t kApartStack = 0x7000'0000;     // in the other address space alone
constexpr std::uint64_t kPageSizeBytes = 1U << seL4_PageBits;

constexpr std::uint32_t kThreads = 6;
constexpr std::array<std::string_view, kThreads> kThreadNames{"root", "busy", "client", "server", "echo", "apart"};
constexpr std::uint32_t kBusyThread = 2;
constexpr std::uint32_t kApartPid = CollectorRun::kPid + 1;  // the last thread's

ThreadStack stacks[kThreads - 2];
Place<SmallCollector> collector_place;
Place<ZmtpDriver> driver_place;
Place<Objects> objects_place;
Place<Board> board_place;
Place<FrameWindow> window_place;
Place<CollectorRun> run_place;

// The value of the note that the linker has made: three words, "GNU\0", the id.
std::span<const std::byte> find_build_id() {
    std::uint32_t sizes[2];
    std::memcpy(sizes, build_id_note, sizeof sizes);
    PERFLEET_ASSERT(sizes[0] == 4 && sizes[1] <= limits::kBuildIdSizeBytesMax);
    return {build_id_note + 16, sizes[1]};
}

StockKernel::Log make_log(Objects& objects) {
    const StockKernel::Log log = map_kernel_log(objects, kLogAddress);
    if (log.frame != seL4_CapNull) {
        print("log at ");
        print_number(Objects::physical_address_of(log.frame));
        print("\n");
    }
    return log;
}

void delete_object(seL4_CPtr capability) {
    require(static_cast<seL4_Word>(seL4_CNode_Delete(seL4_CapInitThreadCNode, capability, seL4_WordBits)),
            "deleting an object");
}

// With the copies of its capability.
void revoke_frame(seL4_CPtr frame) {
    require(static_cast<seL4_Word>(seL4_CNode_Revoke(seL4_CapInitThreadCNode, frame, seL4_WordBits)),
            "revoking a frame");
    delete_object(frame);
}

void print_summary(const CollectorRun& run, const TickTimer& timer, const SmallCollector& collector,
                   std::uint64_t handshakes, StockKernel& kernel, const FrameWindow& window) {
    print_run(run, timer);
    print("took");
    print_value("heavy", load_times.heavy);
    print_value("medium", load_times.medium);
    print_value("light", load_times.light);
    print("\n");
    print_end(collector, handshakes);
    print_value("frames_mapped", window.counts().mapped);
    print_value("frames_gone", window.counts().gone);
    print_value("stack_bytes", bare_metal::used_stack_bytes({root_stack_begin, root_stack_end}));
    if (run.log_counts() != nullptr) {
        print_value("log_index", kernel.finalize_log());
    }
    print("\n");
}

[[noreturn]] void run_root(const seL4_BootInfo& info) {
    Objects& objects = objects_place.make(info);
    Board& board = board_place.make(objects, info);
    print("root task of perfleet\n");

    const RunWords words = board.words();
    latency_tests.shape = words.circle;
    const SessionId session = board.session();
    const BoardClock clock = board.find_clock();
    // Without entropy, the moment at which the board's clock changed seeds the jitter.
    const std::uint64_t seed = session.high ^ session.low ^ clock.start.ticks.value;
    board.start_machine(clock, seed);
    RootLoad load;
    const Machine machine{board.alarm(), board.cycle_interrupts(), board.counters(), &load};
    const RunEvents events{StockKernel::built_for(), clock.cycles_per_second / 1'000, machine.counters};
    TickTimer timer{machine.alarm, seed};
    RunRequests requests{{.event_count = events.descriptions().size(), .cycles_per_second = clock.cycles_per_second},
                         timer,
                         machine.cycles};
    SmallImage images[2];
    for (std::uint32_t i = 0; i < std::size(images); ++i) {
        images[i] = {.path = PERFLEET_IMAGE_PATH,
                     .build_id = find_build_id(),
                     .address = reinterpret_cast<std::uint64_t>(image_begin),
                     .size_bytes = static_cast<std::uint64_t>(image_end - image_begin),
                     .pid = CollectorRun::kPid + i};
    }
    SmallThread named[kThreads];
    for (std::uint32_t i = 0; i < kThreads; ++i) {
        named[i] = {i + 1, kThreadNames[i], i + 1 == kThreads ? kApartPid : CollectorRun::kPid};
    }
    const PmuLabels pmu{Board::pmu()};
    // With keys, name, id and labels are those that the gateway knows the key by.
    const SmallTarget target{
        .target = words.has_keys ? TargetId{} : Board::kTarget,
        .name = words.has_keys ? std::string_view{} : Board::kName,
        .architecture = Board::kArchitecture,
        .session = session,
        .pid = CollectorRun::kPid,
        .clock = {.name = Board::kClockName, .ticks_per_second = clock.cycles_per_second, .linux_clockid = -1},
        .start_point = clock.start,
        .host = {.os_release = "seL4 " PERFLEET_SEL4_VERSION,
                 .cpus_online = 1,
                 .cpus_configured = 1,
                 .page_size_bytes = 4'096},
        .labels = words.has_keys ? decltype(pmu.labels()){} : pmu.labels(),
        .events = events.descriptions(),
        .images = images,
        .threads = named,
        .taker = &requests};
    ZmtpDriver& driver =
        driver_place.make(board.open_stream(words, seed),
                          ZmtpDriver::Options{.mechanism = words.has_keys ? &board.open_keys() : nullptr});
    SmallCollector& collector = collector_place.make(target, driver);

    load_caps = {.rest = objects.make(seL4_NotificationObject),
                 .begin = objects.make(seL4_NotificationObject),
                 .there = objects.make(seL4_NotificationObject),
                 .back = objects.make(seL4_NotificationObject),
                 .endpoint = objects.make(seL4_EndpointObject),
                 .apart = objects.make(seL4_NotificationObject)};
#ifdef CONFIG_KERNEL_MCS
    load_caps.reply = objects.make(seL4_ReplyObject, seL4_ReplyBits);
#endif
    const StockKernel::Log log = make_log(objects);
    const seL4_CPtr apart_space = objects.make_address_space();
    objects.share_image(apart_space, reinterpret_cast<std::uint64_t>(image_begin));
    ForeignFrame apart_frames[2];
    for (std::size_t i = 0; i < std::size(apart_frames); ++i) {
        const std::uint64_t address = kApartStack + i * kPageSizeBytes;
        apart_frames[i] = {address, objects.map_new_page(apart_space, address)};
    }
    constexpr seL4_Word kBusyPriority = 100;
    constexpr seL4_Word kApartPriority = 101;
    constexpr seL4_Word kTalkPriority = 102;
    StockKernel::ThreadCaps caps[kThreads] = {
        StockKernel::root_thread(),
        start_thread(objects, info, busy_thread, stacks[0], kBusyPriority, "busy"),
        start_thread(objects, info, client_thread, stacks[1], kTalkPriority, "client"),
        start_thread(objects, info, server_thread, stacks[2], kTalkPriority, "server"),
        start_thread(objects, info, echo_thread, stacks[3], kTalkPriority, "echo"),
        start_thread_in(objects, info, apart_thread, apart_space,
                        kApartStack + std::size(apart_frames) * kPageSizeBytes, kApartPriority, "apart"),
    };
    objects.make_tables(kWindowAddress);
    FrameWindow& window = window_place.make(FrameWindow::Setting{.address = kWindowAddress,
                                                                 .first_slot = objects.take_slots(FrameWindow::kPlaces),
                                                                 .cnode = seL4_CapInitThreadCNode,
                                                                 .vspace = seL4_CapInitThreadVSpace});
    ForeignStack apart_stack{window, apart_frames};
    StockKernel kernel{log, caps, {image_begin, image_end}, clock.cycles_per_second};
    SampledThread sampled[kThreads - 1];
    for (std::uint32_t i = 1; i < kThreads - 1; ++i) {
        sampled[i - 1] = {ThreadNumber{i + 1}, stacks[i - 1].bytes};
    }
    sampled[kThreads - 2] = {.number = ThreadNumber{kThreads}, .reader = &apart_stack};
    CollectorRun& run = run_place.make(CollectorRun::Parts{.kernel = kernel,
                                                           .collector = collector,
                                                           .events = events,
                                                           .machine = machine,
                                                           .timer = timer,
                                                           .requests = requests,
                                                           .cycles_per_second = clock.cycles_per_second,
                                                           .thread_count = kThreads,
                                                           .sampled = sampled});
    print("running\n");
    run.begin();
    bool is_deleted = false;
    while (!run.is_over(words.seconds)) {
        run.turn(board.wait());
        if (!is_deleted && run.is_over(words.delete_after_seconds)) {
            is_deleted = true;
            delete_object(caps[kBusyThread - 1].tcb);
            // Without its stack it would fault.
            require(static_cast<seL4_Word>(seL4_TCB_Suspend(caps[kThreads - 1].tcb)), "stopping a thread");
            for (const ForeignFrame& frame : apart_frames) {
                revoke_frame(frame.frame);
            }
            print("deleted\n");
        }
    }
    run.end_ticks();
    for (std::uint32_t i = is_deleted ? kBusyThread : 1; i < kThreads; ++i) {
        require(static_cast<seL4_Word>(seL4_TCB_Suspend(caps[i].tcb)), "stopping a thread");
    }
    run.finish();
    print_summary(run, timer, collector, driver.counts().handshakes, kernel, window);
    for (;;) {
        (void)seL4_TCB_Suspend(seL4_CapInitThreadTCB);
    }
}

}  // namespace
}  // namespace perfleet::sel4

extern "C" [[noreturn]] void root_main(seL4_BootInfo* info) {
    perfleet::bare_metal::paint_stack({root_stack_begin, root_stack_end});
    seL4_SetIPCBuffer(info->ipcBuffer);
    perfleet::sel4::run_root(*info);
}
