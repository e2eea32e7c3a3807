// Utilisation by windows, and samples of threads.
#include <gtest/gtest.h>

#include "schemas/sel4/log_description.h"
#include "target-collector/source/sel4/kernel_description.h"
#include "target-collector/source/sel4/testing/simulated_kernel.h"
#include "target-collector/source/sel4/thread_sampler.h"
#include "target-collector/source/sel4/utilisation_window.h"

namespace perfleet::sel4::thread_source_test {
namespace {

constexpr EventNumber kEvent{1};

KernelFeatures utilisation_kernel() { return {.mode = BenchmarkMode::kUtilisation}; }

// Words in the kernel's order: thread, idle, total, with the figures of each.
std::array<std::uint64_t, kUtilisationWords> words_of(std::uint64_t cycles, std::uint64_t idle, std::uint64_t total) {
    return {cycles, 2, 3, 4, idle, idle, 6, 7, 8, total, 10, 11, 12};
}

TEST(UtilisationWindow, ResetsThreadsBeforeTheLogAndReadsAfterItIsFinalised) {
    SimulatedKernel kernel{utilisation_kernel()};
    UtilisationWindow window{kernel, kEvent, 2};
    ASSERT_TRUE(window.begin().ok());
    EXPECT_EQ(kernel.calls, (std::vector<std::string>{"reset thread 1", "reset thread 2", "reset log"}));
    kernel.calls.clear();
    kernel.pass(1'000);
    kernel.words = {{1, words_of(300, 600, 1'000)}, {2, words_of(100, 600, 1'000)}};
    KeptRows kept;
    ASSERT_TRUE(window.turn(kept).ok());
    EXPECT_EQ(kernel.calls, (std::vector<std::string>{"finalize", "reset thread 1", "reset thread 2", "reset log"}));
    const Series series{Kind::kUtilisation, kEvent};
    EXPECT_EQ(kept.rows, (std::vector<KeptRows::Row>{{series, Ticks{2'000}, {0, 1'000, ~0ULL, 1'000, 10, 11, 12}},
                                                     {series, Ticks{2'000}, {0, 1'000, 0, 600, 6, 7, 8}},
                                                     {series, Ticks{2'000}, {0, 1'000, 1, 300, 2, 3, 4}},
                                                     {series, Ticks{2'000}, {0, 1'000, 2, 100, 2, 3, 4}}}));
    EXPECT_EQ(window.unaccounted_cycles(), 0);
}

TEST(UtilisationWindow, SaysWhatNoThreadThatItKnowsRan) {
    SimulatedKernel kernel{utilisation_kernel()};
    UtilisationWindow window{kernel, kEvent, 1};
    ASSERT_TRUE(window.begin().ok());
    kernel.words = {{1, words_of(300, 600, 1'000)}};
    KeptRows kept;
    ASSERT_TRUE(window.turn(kept).ok());
    EXPECT_EQ(window.unaccounted_cycles(), 100);
}

TEST(UtilisationWindow, AThreadThatIsGoneHasNoRowUntilItsNumberIsAnothers) {
    SimulatedKernel kernel{utilisation_kernel()};
    UtilisationWindow window{kernel, kEvent, 2};
    ASSERT_TRUE(window.begin().ok());
    const auto threads_of_window = [&] {
        kernel.words = {{1, words_of(300, 600, 1'000)}, {2, words_of(100, 600, 1'000)}};
        KeptRows kept;
        EXPECT_TRUE(window.turn(kept).ok());
        std::vector<std::uint64_t> threads;
        for (const KeptRows::Row& row : kept.rows) {
            threads.push_back(row.integers.at(2));
        }
        return threads;
    };
    kernel.gone = {1};
    EXPECT_EQ(threads_of_window(), (std::vector<std::uint64_t>{~0ULL, 0, 2})) << "the system's figures are those of 2";
    EXPECT_TRUE(window.is_gone(ThreadNumber{1}));
    EXPECT_FALSE(window.is_gone(ThreadNumber{2}));
    EXPECT_EQ(window.unaccounted_cycles(), 300);
    kernel.gone = {1, 2};
    EXPECT_EQ(threads_of_window(), std::vector<std::uint64_t>{});
    kernel.gone = {};
    EXPECT_EQ(threads_of_window(), (std::vector<std::uint64_t>{~0ULL, 0, 1, 2}));
    EXPECT_FALSE(window.is_gone(ThreadNumber{1}));
}

TEST(UtilisationWindow, AThreadsCyclesGrowOverWindows) {
    SimulatedKernel kernel{utilisation_kernel()};
    UtilisationWindow window{kernel, kEvent, 1};
    ASSERT_TRUE(window.begin().ok());
    KeptRows kept;
    kernel.words = {{1, words_of(300, 0, 300)}};
    EXPECT_EQ(window.cycles_of(ThreadNumber{1}), 300U);
    kernel.words = {{1, words_of(500, 0, 500)}};
    ASSERT_TRUE(window.turn(kept).ok());
    EXPECT_EQ(window.cycles_of(ThreadNumber{1}), 500U);
    kernel.words = {{1, words_of(20, 0, 20)}};
    EXPECT_EQ(window.cycles_of(ThreadNumber{1}), 520U);
}

struct alignas(16) Frame {
    std::uint64_t caller = 0;
    std::uint64_t return_address = 0;
};

TEST(ThreadSampler, ASampleCarriesWhatItsThreadRanSinceTheLastOne) {
    SimulatedKernel kernel{utilisation_kernel()};
    UtilisationWindow window{kernel, kEvent, 2};
    ASSERT_TRUE(window.begin().ok());
    std::array<Frame, 4> stack{};
    stack[1] = {reinterpret_cast<std::uint64_t>(&stack[3]), 0x2000};
    const SampledThread threads[] = {{ThreadNumber{2}, std::as_bytes(std::span{stack})}};
    ThreadSampler sampler{kernel, &window, threads};
    kernel.registers[2] = {{0x1000, reinterpret_cast<std::uint64_t>(&stack[1])}, false};

    kernel.words = {{2, words_of(0, 0, 0)}};
    EXPECT_FALSE(sampler.take(0)) << "it didn't run";
    kernel.words = {{2, words_of(70, 0, 100)}};
    auto sample = sampler.take(0);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->thread, ThreadNumber{2});
    EXPECT_EQ(sample->ran_ticks, 70U);
    EXPECT_EQ(std::vector<std::uint64_t>(sample->addresses.begin(), sample->addresses.end()),
              (std::vector<std::uint64_t>{0x1000, 0x2000}));
    EXPECT_FALSE(sampler.take(0)) << "nor since then";
    KeptRows kept;
    kernel.words = {{2, words_of(90, 0, 100)}};
    ASSERT_TRUE(window.turn(kept).ok());
    kernel.words = {{2, words_of(5, 0, 10)}};
    sample = sampler.take(0);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->ran_ticks, 25U) << "20 before the window turned, 5 after";
}

TEST(ThreadSampler, ANumberThatIsAnothersHasNothingOfTheThreadBefore) {
    SimulatedKernel kernel{utilisation_kernel()};
    UtilisationWindow window{kernel, kEvent, 2};
    ASSERT_TRUE(window.begin().ok());
    SampledThread threads[] = {{ThreadNumber{2}}};
    ThreadSampler sampler{kernel, &window, threads};
    kernel.registers[2] = {{0x1000, 0}, false};
    kernel.words = {{2, words_of(70, 0, 100)}};
    ASSERT_TRUE(sampler.take(0));
    KeptRows kept;
    ASSERT_TRUE(window.turn(kept).ok());
    kernel.words = {{2, words_of(500, 0, 600)}};
    EXPECT_EQ(sampler.take(0).value().ran_ticks, 500U);
    // Deleted; another has its number before anybody noticed.
    kernel.words = {{2, words_of(20, 0, 700)}};
    EXPECT_EQ(sampler.take(0).value().ran_ticks, 20U);
    kernel.words = {{2, words_of(45, 0, 800)}};
    EXPECT_EQ(sampler.take(0).value().ran_ticks, 25U);
}

// Who leaves a number empty for a tick hides nothing: the next one's first sample has all that it ran.
TEST(ThreadSampler, ANumberThatWasFreeHasNothingOfTheThreadBefore) {
    SimulatedKernel kernel{utilisation_kernel()};
    UtilisationWindow window{kernel, kEvent, 2};
    ASSERT_TRUE(window.begin().ok());
    std::array<SampledThread, 1> threads{SampledThread{ThreadNumber{2}}};
    ThreadSampler sampler{kernel, &window, threads};
    kernel.registers[2] = {{0x1000, 0}, false};
    kernel.words = {{2, words_of(70, 0, 100)}};
    EXPECT_EQ(sampler.take(0).value().ran_ticks, 70U);
    threads[0].number = {};
    EXPECT_FALSE(sampler.take(0));
    kernel.words = {{2, words_of(90, 0, 200)}};  // more than the one before had
    threads[0].number = ThreadNumber{2};
    EXPECT_EQ(sampler.take(0).value().ran_ticks, 90U);
}

// As many as a root task may have, in places that are empty at times.
TEST(ThreadSampler, ThreadsComeAndGo) {
    SimulatedKernel kernel{{.mode = BenchmarkMode::kNone, .is_mcs = true}};
    std::array<SampledThread, kThreadsMax> threads{};
    ThreadSampler sampler{kernel, nullptr, threads};
    const auto sampled = [&] {
        std::vector<std::uint32_t> numbers;
        for (std::size_t i = 0; i < sampler.thread_count(); ++i) {
            if (const auto sample = sampler.take(i)) {
                numbers.push_back(sample->thread.value);
            }
        }
        return numbers;
    };
    EXPECT_TRUE(sampled().empty());
    for (const std::uint32_t number : {1U, 17U, kThreadsMax}) {
        threads[number - 1].number = ThreadNumber{number};
        kernel.registers[number] = {{0x1000, 0}, false};
    }
    const auto run = [&] { kernel.consumed = {{1, 10}, {17, 10}, {kThreadsMax, 10}}; };
    run();
    EXPECT_EQ(sampled(), (std::vector<std::uint32_t>{1, 17, kThreadsMax}));
    threads[16] = {};
    run();
    EXPECT_EQ(sampled(), (std::vector<std::uint32_t>{1, kThreadsMax}));
    threads[16] = {ThreadNumber{17}};
    run();
    EXPECT_EQ(sampled(), (std::vector<std::uint32_t>{1, 17, kThreadsMax}));
}

TEST(ThreadSampler, AnMcsKernelTellsWhoRanAndOthersDont) {
    const SampledThread threads[] = {{ThreadNumber{1}}};
    SimulatedKernel mcs{{.mode = BenchmarkMode::kNone, .is_mcs = true}};
    mcs.registers[1] = {{0x1000, 0}, false};
    ThreadSampler of_mcs{mcs, nullptr, threads};
    EXPECT_FALSE(of_mcs.take(0));
    mcs.consumed[1] = 40;
    EXPECT_EQ(of_mcs.take(0).value().ran_ticks, 40U);

    SimulatedKernel stock{{.mode = BenchmarkMode::kNone}};
    ThreadSampler of_stock{stock, nullptr, threads};
    EXPECT_FALSE(of_stock.take(0)) << "the thread is gone";
    stock.registers[1] = {{0x1000, 0}, false};
    EXPECT_EQ(of_stock.take(0).value().ran_ticks, std::nullopt);
    stock.registers[1].is_at_syscall = true;
    EXPECT_FALSE(of_stock.take(0)) << "where waiting threads stand";
    mcs.registers[1].is_at_syscall = true;
    mcs.consumed[1] = 40;
    EXPECT_TRUE(of_mcs.take(0)) << "the kernel knows better";
}

TEST(KernelDescription, IsReadAsTheImportersAreRead) {
    const KernelDescription written{
        {.mode = BenchmarkMode::kTracepoints, .architecture_name = "aarch64", .version = "16.0.0-dev", .is_mcs = true},
        {.tracepoint_id = 13}};
    const auto read = parse_description(written.text());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->architecture, Architecture::kAarch64);
    EXPECT_EQ(read->version, "16.0.0-dev");
    EXPECT_EQ(read->numbering(), PathNumbering::kSince14);
    EXPECT_TRUE(read->is_mcs);
    EXPECT_EQ(read->tracepoint_id, 13U);
}

TEST(KernelDescription, AnOldKernelOfUnknownVersionIsNumberedAsAnOldOne) {
    const KernelDescription old{{.numbering = PathNumbering::kBefore14}, {}};
    EXPECT_EQ(parse_description(old.text()).value().numbering(), PathNumbering::kBefore14);
    const KernelDescription current{{.numbering = PathNumbering::kSince14}, {}};
    EXPECT_EQ(parse_description(current.text()).value().numbering(), PathNumbering::kSince14);
}

}  // namespace
}  // namespace perfleet::sel4::thread_source_test
