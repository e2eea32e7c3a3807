// Chains that BPF programs unwind, compared with those that the same samples' copies of the stack give.
#include "target-collector/source/linux/bpf/kernel_unwinder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "target-collector/source/linux/bpf/region_allocator.h"
#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet {
namespace {

constexpr Series kFirst{Kind::kSample, EventNumber{0}};

TEST(RegionAllocator, NeighboursThatAreFreeAreOne) {
    RegionAllocator regions;
    EXPECT_FALSE(regions.take(1));
    regions.give(0, 100);
    const auto a = regions.take(30);
    const auto b = regions.take(30);
    const auto c = regions.take(40);
    ASSERT_TRUE(a && b && c);
    EXPECT_FALSE(regions.take(1));
    regions.give(*a, 30);
    regions.give(*c, 40);
    EXPECT_FALSE(regions.take(60));
    EXPECT_EQ(regions.free_size(), 70U);
    regions.give(*b, 30);
    EXPECT_EQ(regions.take(100), 0U);
}

[[gnu::noinline]] std::uint64_t recurse(unsigned depth, std::uint64_t rounds) {
    if (depth == 0) {
        burn_cpu(rounds);
        return rounds;
    }
    return recurse(depth - 1, rounds) + 1;
}

std::uint64_t now_ms() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return (static_cast<std::uint64_t>(time.tv_sec) * 1000) + (static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000);
}

// Of this process and of children that have ended.
std::uint64_t cpu_ms() {
    std::uint64_t time_ms = 0;
    for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used{};
        ::getrusage(whose, &used);
        for (const timeval& time : {used.ru_utime, used.ru_stime}) {
            time_ms +=
                static_cast<std::uint64_t>(time.tv_sec) * 1'000 + static_cast<std::uint64_t>(time.tv_usec) / 1'000;
        }
    }
    return time_ms;
}

// Longer if other programs leave it less CPU than samples need.
void repeat_for_a_second(const std::function<void()>& work) {
    constexpr std::uint64_t kCpuMs = 300;
    const std::uint64_t cpu_end = cpu_ms() + kCpuMs;
    for (const std::uint64_t end = now_ms() + 1000; now_ms() < end || cpu_ms() < cpu_end;) {
        work();
    }
}

void run_program(std::vector<const char*> words) {
    words.push_back(nullptr);
    (void)!::freopen("/dev/null", "w", stdout);
    ::execvp(words[0], const_cast<char* const*>(words.data()));
    ::_exit(127);
}

struct Compared {
    std::uint64_t sample_count = 0;
    std::uint64_t unwound_count = 0;  // by BPF
    std::uint64_t equal_count = 0;    // of them
    std::uint64_t copied_count = 0;   // not
    std::uint64_t incomplete_count = 0;
    std::set<std::string> images;
};

// Every sample comes with a copy of its stack, which was begun before, after the program's own result.
Compared compare(const std::function<void()>& work) {
    Worker worker(work);
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.frequency_hz = 997;
    options.events.callchain = true;
    options.events.user_stack_bytes = 32'768;
    options.events.ring_page_count = 4'096;  // of copies of half a second: a busy machine empties it late
    auto unwinder = KernelUnwinder::open({0, true, 0});
    EXPECT_TRUE(unwinder.ok()) << unwinder.error().message;
    options.kernel_unwinder = std::move(*unwinder);
    RecordingSink sink;
    const auto source = record(worker, options, "cpu-clock", sink);
    EXPECT_TRUE(source.ok()) << source.error().message;
    Compared compared;
    EXPECT_EQ(sink.count_of(kFirst, CountName::kLostKernelRing), 0U);
    const auto samples = sink.of(Kind::kSample);
    const std::uint64_t copied = sink.count_of(kFirst, CountName::kStacksCopied);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        ++compared.sample_count;
        const bool is_pair = i + 1 < samples.size() && samples[i][ColumnId::kTid] == samples[i + 1][ColumnId::kTid] &&
                             samples[i][ColumnId::kCpu] == samples[i + 1][ColumnId::kCpu] &&
                             samples[i][ColumnId::kTime] >= samples[i + 1][ColumnId::kTime];
        if (is_pair) {
            ++compared.unwound_count;
            compared.equal_count += samples[i][ColumnId::kStack] == samples[i + 1][ColumnId::kStack] ? 1 : 0;
            ++i;
        }
    }
    compared.copied_count = copied - compared.unwound_count;
    compared.incomplete_count = sink.count_of(kFirst, CountName::kStacksNoTable) +
                                sink.count_of(kFirst, CountName::kStacksBadAddress) +
                                sink.count_of(kFirst, CountName::kStacksNotCopied);
    EXPECT_EQ(samples.size(), compared.unwound_count + copied);
    for (const auto& image : sink.of(Kind::kImage)) {
        compared.images.insert(image.bytes.at(ColumnId::kNameBytes));
    }
    return compared;
}

struct Case {
    const char* name;
    std::function<void()> work;
};

class KernelUnwinderTest : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        if (const auto unwinder = KernelUnwinder::open({}); !unwinder.ok()) {
            GTEST_SKIP() << unwinder.error().message;
        }
    }
};

bool is_kernel_since(int major, int minor) {
    utsname name{};
    int at_hand[2] = {};
    return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &at_hand[0], &at_hand[1]) == 2 &&
           std::pair{at_hand[0], at_hand[1]} >= std::pair{major, minor};
}

void record(const std::function<void()>& work, RecordingSink& sink, bool by_copies = false) {
    Worker worker(work);
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.frequency_hz = 997;
    options.events.callchain = true;
    options.events.user_stack_bytes = by_copies ? 1'024 : 32'768;
    if (!by_copies) {
        auto unwinder = KernelUnwinder::open({});
        ASSERT_TRUE(unwinder.ok());
        options.kernel_unwinder = std::move(*unwinder);
    }
    auto source = open_source(options, "cpu-clock");
    ASSERT_TRUE(source.ok()) << source.error().message;
    (*source)->begin(sink);
    worker.go();
    worker.wait(**source);
    (*source)->finish();
    EXPECT_GT(sink.of(Kind::kSample).size(), 50U);
}

TEST_P(KernelUnwinderTest, ChainsAreThoseOfTheCopies) {
    const Compared compared = compare(GetParam().work);
    std::printf(
        "%s: %llu samples, %llu unwound in the kernel, %llu of them equal; %llu by copies alone; %llu not whole\n",
        GetParam().name, static_cast<unsigned long long>(compared.sample_count),
        static_cast<unsigned long long>(compared.unwound_count), static_cast<unsigned long long>(compared.equal_count),
        static_cast<unsigned long long>(compared.copied_count),
        static_cast<unsigned long long>(compared.incomplete_count));
    ASSERT_GT(compared.sample_count, 50U);
    // Tables are made while the program runs: how soon depends on the machine's load.
    EXPECT_GE(compared.unwound_count * 10, compared.sample_count * 3);
    // Of those whose copy is whole: a page may be gone when the kernel copies it.
    EXPECT_GE((compared.equal_count + compared.incomplete_count) * 100, compared.unwound_count * 95);
    EXPECT_GE(compared.equal_count * 100, compared.unwound_count * 80);
}

void on_timer(int /*signal*/) { burn_cpu(1'000'000); }

INSTANTIATE_TEST_SUITE_P(
    Programs, KernelUnwinderTest,
    testing::Values(
        Case{"Recursion", [] { repeat_for_a_second([] { recurse(60, 100'000); }); }},
        Case{"RecursionOf500", [] { repeat_for_a_second([] { recurse(500, 100'000); }); }},
        Case{"RecursionBeyondTheLimit", [] { repeat_for_a_second([] { recurse(700, 100'000); }); }},
        Case{"Signal",
             [] {
                 ::signal(SIGPROF, on_timer);
                 const itimerval timer{{0, 10'000}, {0, 10'000}};
                 ::setitimer(ITIMER_PROF, &timer, nullptr);
                 repeat_for_a_second([] { recurse(5, 100'000); });
             }},
        Case{"Exceptions",
             [] {
                 repeat_for_a_second([] {
                     try {
                         if (recurse(3, 100) > 0) {
                             throw std::runtime_error("thrown");
                         }
                     } catch (const std::runtime_error&) {
                         burn_cpu(100);
                     }
                 });
             }},
        Case{"Vdso",
             [] {
                 repeat_for_a_second([] {
                     for (int i = 0; i < 1000; ++i) {
                         (void)now_ms();
                     }
                 });
             }},
        Case{"LibraryOpenedLater",
             [] {
                 recurse(3, 30'000'000);
                 void* const library = ::dlopen("libz.so.1", RTLD_NOW);
                 auto* const checksum = reinterpret_cast<unsigned long (*)(unsigned long, const char*, unsigned)>(
                     library != nullptr ? ::dlsym(library, "adler32") : nullptr);
                 if (checksum == nullptr) {
                     ::_exit(1);
                 }
                 const std::string bytes(100'000, 'x');
                 repeat_for_a_second([&] { checksum(1, bytes.data(), 100'000); });
             }},
        Case{"ForkedWithoutExec",
             [] {
                 const pid_t child = ::fork();
                 for (int i = 0; i < 3; ++i) {
                     repeat_for_a_second([] { recurse(10, 100'000); });
                 }
                 if (child == 0) {
                     ::_exit(0);
                 }
                 ::waitpid(child, nullptr, 0);
             }},
        Case{"Static",
             [] {
                 run_program(
                     {"sh", "-c",
                      "p=$(mktemp) && echo 'volatile long s; __attribute__((noinline)) void r(int d) { if (d) "
                      "r(d - 1); else for (long i = 0; i < 1000000; ++i) s += i; s++; } int main() { for (int i "
                      "= 0; i < 400; ++i) r(20); }' | gcc -O1 -static -x c -o $p - && chmod +x $p && $p; rm $p"});
             }},
        Case{"Python",
             [] {
                 run_program({"/usr/bin/python3", "-c", "print(sum(i*i for i in range(10000000)))"});
             }},
        Case{"Sqlite",
             [] {
                 run_program({"sqlite3", ":memory:",
                              "with recursive c(x) as (select 1 union all select x+1 from c where x<2000000) "
                              "select count(distinct x%1000) from c"});
             }},
        Case{"Sort",
             [] {
                 run_program({"sh", "-c", "seq 200000 | sort -R"});
             }},
        Case{"Compiler",
             [] {
                 run_program({"sh", "-c",
                              "for i in 1 2 3; do echo '#include <map>\n#include <string>\nstd::map<std::string,"
                              "int> m;int main(){m[\"a\"]++;}' | g++ -O2 -x c++ -c -o /dev/null -; done"});
             }}),
    [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

// As in a container: the program compares the ids of this process's namespace. A test of above runs there.
TEST_F(KernelUnwinderTest, UnwindsInAPidNamespace) {
    const std::string there = "unshare --fork --pid --mount-proc ";
    if (std::system((there + "true").c_str()) != 0) {
        GTEST_SKIP() << "no PID namespace can be made";
    }
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string test = " --gtest_filter=Programs/KernelUnwinderTest.ChainsAreThoseOfTheCopies/Recursion";
    EXPECT_EQ(std::system((there + "'" + program + "'" + test + " | grep -q 'PASSED.* 1 test'").c_str()), 0);
}

TEST_F(KernelUnwinderTest, ChainsThatAreNotWholeSayWhy) {
    const Compared deep = compare([] { repeat_for_a_second([] { recurse(700, 100'000); }); });
    EXPECT_TRUE(deep.images.contains("[truncated: depth]"));
    const Compared whole = compare([] { repeat_for_a_second([] { recurse(500, 100'000); }); });
    EXPECT_FALSE(whole.images.contains("[truncated: depth]"));
}

// Processes that have just begun are unwound by the files that they have mapped: after the first of them no stack is
// copied. `script` runs a hundred of them.
void expect_few_copies(const std::string& script) {
    if (!is_kernel_since(6, 1)) {
        GTEST_SKIP() << "it takes Linux 6.1";
    }
    RecordingSink sink;
    record([&] { run_program({"unshare", "-m", "sh", "-c", script.c_str()}); }, sink);
    std::set<std::uint64_t> processes;
    for (const auto& sample : sink.of(Kind::kSample)) {
        processes.insert(sample[ColumnId::kPid]);
    }
    EXPECT_GT(processes.size(), 80U);
    EXPECT_LT(sink.count_of(kFirst, CountName::kStacksCopied) * 3, processes.size());
    // Of copies: the walk in the kernel ends nowhere else.
    EXPECT_LE(sink.count_of(kFirst, CountName::kStacksNoTable) + sink.count_of(kFirst, CountName::kStacksBadAddress),
              sink.count_of(kFirst, CountName::kStacksCopied));
}

TEST_F(KernelUnwinderTest, ShortProcessesOfKnownFilesNeedNoCopies) {
    expect_few_copies("for i in $(seq 100); do seq 20000 | gzip -9 | wc -c; done");
}

// The mapped file is another one than that in records of mappings.
TEST_F(KernelUnwinderTest, ShortProcessesOfAnOverlayNeedNoCopies) {
    const std::string overlay =
        "mount -t tmpfs none /mnt && mkdir /mnt/l /mnt/u /mnt/w /mnt/m && mount -t overlay -o "
        "lowerdir=/mnt/l,upperdir=/mnt/u,workdir=/mnt/w none /mnt/m";
    if (std::system(("unshare -m sh -c '" + overlay + "' 2> /dev/null").c_str()) != 0) {
        GTEST_SKIP() << "no overlay can be mounted";
    }
    expect_few_copies(overlay +
                      " && cp /usr/bin/gzip /mnt/m/packer && for i in $(seq 100); do seq 20000 | "
                      "/mnt/m/packer -9 | wc -c; done");
}

#if defined(__x86_64__)
// Two functions with frame pointers and without unwind information: the first calls the second on another stack.
extern "C" void call_on_stack(void* top, void (*function)());
asm(R"(
.text
.type call_on_stack, @function
call_on_stack:
    push %rbp
    mov %rsp, %rbp
    mov %rdi, %rsp
    call call_with_frame_pointer
    leave
    ret
.type call_with_frame_pointer, @function
call_with_frame_pointer:
    push %rbp
    mov %rsp, %rbp
    call *%rsi
    leave
    ret
)");

extern "C" void call_with_frame_pointer(void* unused, void (*function)());

// A leaf that says nothing of its frame, as those of musl: it pushes nothing, and rbp isn't its caller's either.
extern "C" void burn_without_frame(std::uint64_t rounds);
asm(R"(
.text
.type burn_without_frame, @function
burn_without_frame:
    dec %rdi
    jnz burn_without_frame
    ret
)");

// Something that isn't code lies at the top of its stack, its frame pointer leads nowhere, and no rule says more.
extern "C" void burn_behind_push(std::uint64_t rounds);
asm(R"(
.text
.type burn_behind_push, @function
burn_behind_push:
    push %rbp
    push %rdi
    xor %ebp, %ebp
1:  dec %rdi
    jnz 1b
    pop %rdi
    pop %rbp
    ret
)");

// Its rule leads behind the stack.
extern "C" void burn_with_wrong_rule(std::uint64_t rounds);
asm(R"(
.text
.type burn_with_wrong_rule, @function
burn_with_wrong_rule:
    .cfi_startproc
    .cfi_def_cfa rsp, 0x4000000
1:  dec %rdi
    jnz 1b
    ret
    .cfi_endproc
)");

bool has_image(const RecordingSink& sink, const std::string& name) {
    const auto images = sink.of(Kind::kImage);
    return std::any_of(images.begin(), images.end(),
                       [&](const auto& image) { return image.bytes.at(ColumnId::kNameBytes) == name; });
}

// A recursion of 10 calls, each with a frame of `size` bytes: by the table of half of that, each second call is
// missing.
void compile_recursion(const std::string& program, int size) {
    std::ofstream{program + ".s"} << ".globl main\nmain: .cfi_startproc\n sub $8, %rsp\n .cfi_def_cfa_offset 16\n"
                                     " mov $9, %edi\n call recurse\n add $8, %rsp\n xor %eax, %eax\n ret\n"
                                     ".cfi_endproc\nrecurse: .cfi_startproc\n sub $"
                                  << size - 8
                                  << ", %rsp\n"
                                     ".cfi_def_cfa_offset "
                                  << size
                                  << "\n test %edi, %edi\n jz 1f\n dec %edi\n"
                                     " call recurse\n jmp 3f\n1: mov $20000000, %eax\n2: dec %eax\n jnz 2b\n"
                                     "3: add $"
                                  << size - 8 << ", %rsp\n ret\n.cfi_endproc\n.section .note.GNU-stack\n";
    (void)std::system(("gcc -no-pie -o " + program + " " + program + ".s").c_str());
}

TEST_F(KernelUnwinderTest, AFileThatIsOverwrittenIsAnotherFile) {
    const Compared compared = compare([] {
        std::string folder = testing::TempDir() + "perfleet-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        compile_recursion(folder + "/64", 64);
        compile_recursion(folder + "/128", 128);
        (void)std::system(("cd " + folder +
                           " && cp 64 p && for i in $(seq 30); do ./p; cat 128 > p; ./p; cat 64 > p; "
                           "done")
                              .c_str());
        std::filesystem::remove_all(folder);
    });
    ASSERT_GT(compared.sample_count, 100U);
    EXPECT_GE((compared.equal_count + compared.incomplete_count) * 100, compared.unwound_count * 95);
}

// Each reason is counted, and marked in the stack.
TEST_F(KernelUnwinderTest, AStackThatIsCutHasItsReasonInTheLedger) {
    struct Cut {
        void (*work)();
        const char* mark;
        CountName count;
        bool by_copies;
    };
    for (const Cut& cut :
         {Cut{[] { burn_behind_push(1'000'000); }, "[truncated: no tables]", CountName::kStacksNoTable, false},
          Cut{[] { burn_with_wrong_rule(1'000'000); }, "[truncated: bad address]", CountName::kStacksBadAddress, false},
          Cut{[] { recurse(300, 100'000); }, "[truncated: stack not dumped]", CountName::kStacksNotCopied, true}}) {
        RecordingSink sink;
        record([work = cut.work] { repeat_for_a_second(work); }, sink, cut.by_copies);
        EXPECT_GT(sink.count_of(kFirst, cut.count) * 2, sink.of(Kind::kSample).size()) << cut.mark;
        EXPECT_TRUE(has_image(sink, cut.mark)) << cut.mark;
    }
}

TEST_F(KernelUnwinderTest, ALeafWithoutARuleHasItsCallerAtTheTopOfTheStack) {
    RecordingSink sink;
    record([] { repeat_for_a_second([] { burn_without_frame(1'000'000); }); }, sink);
    // Copies have no code, by which a return address is known.
    EXPECT_LE(sink.count_of(kFirst, CountName::kStacksNoTable) + sink.count_of(kFirst, CountName::kStacksBadAddress),
              sink.count_of(kFirst, CountName::kStacksCopied));
    // At the start tables are missing; on a busy machine that is much of the second.
    EXPECT_LT(sink.count_of(kFirst, CountName::kStacksCopied) * 2, sink.of(Kind::kSample).size());
}

std::array<std::uint64_t, 8'192> lower_stack;
void* upper_stack = nullptr;

TEST_F(KernelUnwinderTest, FramePointersLeadToAnotherStack) {
    RecordingSink sink;
    record(
        [] {
            std::array<std::uint64_t, 8'192> upper{};
            upper_stack = upper.end();
            call_on_stack(lower_stack.end(),
                          [] { call_on_stack(upper_stack, [] { repeat_for_a_second([] { burn_cpu(100'000); }); }); });
        },
        sink);
    // Copies hold one of the stacks.
    EXPECT_LE(sink.count_of(kFirst, CountName::kStacksNoTable) + sink.count_of(kFirst, CountName::kStacksBadAddress),
              sink.count_of(kFirst, CountName::kStacksCopied));
    // At the start tables are missing; on a busy machine that is much of the second.
    EXPECT_LT(sink.count_of(kFirst, CountName::kStacksCopied) * 2, sink.of(Kind::kSample).size());
}

TEST_F(KernelUnwinderTest, FramePointersLeadToCodeThatWasJustMade) {
    RecordingSink sink;
    record(
        [] {
            // push %rbp; mov %rsp, %rbp; call *%rdx; leave; ret
            constexpr std::array<std::uint8_t, 8> kCode{0x55, 0x48, 0x89, 0xe5, 0xff, 0xd2, 0xc9, 0xc3};
            repeat_for_a_second([&] {
                void* const code =
                    ::mmap(nullptr, 4'096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                std::memcpy(code, kCode.data(), kCode.size());
                reinterpret_cast<void (*)(void*, void (*)(), void*)>(code)(
                    nullptr, [] { burn_cpu(5'000'000); }, reinterpret_cast<void*>(call_with_frame_pointer));
            });
        },
        sink);
    EXPECT_EQ(sink.count_of(kFirst, CountName::kStacksNoTable), 0U);
}
#endif

// Each sample once, whether the program or the event emits it.
TEST_F(KernelUnwinderTest, EachSampleIsThereOnce) {
    Worker worker([] { repeat_for_a_second([] { recurse(5, 100'000); }); });
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.period = 1'000'000;
    options.events.callchain = true;
    options.events.user_stack_bytes = 32'768;
    auto unwinder = KernelUnwinder::open({});
    ASSERT_TRUE(unwinder.ok());
    options.kernel_unwinder = std::move(*unwinder);
    RecordingSink sink;
    const auto source = record(worker, options, "cpu-clock", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    std::map<std::uint64_t, std::uint64_t> counted;  // by CPU, ns
    for (const auto& row : sink.of(Kind::kCounter)) {
        counted[row[ColumnId::kCpu]] = row[ColumnId::kValue];
    }
    std::uint64_t counted_ns = 0;
    for (const auto& [cpu, value] : counted) {
        counted_ns += value;
    }
    std::uint64_t last_time = 0;
    std::uint64_t weight = 0;
    for (const auto& sample : sink.of(Kind::kSample)) {
        EXPECT_GT(sample[ColumnId::kTime], last_time);
        last_time = sample[ColumnId::kTime];
        weight += sample[ColumnId::kWeight];
    }
    EXPECT_EQ(sink.count_of(kFirst, CountName::kLate), 0U);
    const std::uint64_t sample_count = sink.of(Kind::kSample).size();
    EXPECT_EQ(sink.count_of(kFirst, CountName::kProduced), sample_count +
                                                               sink.count_of(kFirst, CountName::kLostTimerLate) +
                                                               sink.count_of(kFirst, CountName::kLostNotDelivered));
    EXPECT_EQ(weight, sample_count * 1'000'000);
    // A period for each sample, but for what a CPU began and the timer was late.
    EXPECT_GT(weight, counted_ns / 2);
    EXPECT_LE(weight, counted_ns + 8'000'000);
    EXPECT_LT(sink.count_of(kFirst, CountName::kStacksCopied), sample_count);
}

// Tables that don't fit replace each other, and no chain becomes wrong.
TEST_F(KernelUnwinderTest, TablesBeyondTheMemoryMakeRoom) {
    auto unwinder = KernelUnwinder::open({0, false, 1});
    ASSERT_TRUE(unwinder.ok());
    const auto read = [](std::uint64_t offset, std::span<std::byte> into) {
        static std::FILE* const file = std::fopen("/proc/self/exe", "rb");
        return std::fseek(file, static_cast<long>(offset), SEEK_SET) == 0 &&
               std::fread(into.data(), 1, into.size(), file) == into.size();
    };
    std::FILE* const file = std::fopen("/proc/self/exe", "rb");
    std::fseek(file, 0, SEEK_END);
    const auto table = UnwindTable::of_image(read, static_cast<std::uint64_t>(std::ftell(file)));
    std::fclose(file);
    ASSERT_TRUE(table.ok());
    std::uint32_t held = 0;
    for (ImageIndex image = 0; image < 200; ++image) {
        (*unwinder)->set_table(image, &*table);
        EXPECT_TRUE((*unwinder)->has_table(image));
        (*unwinder)->tick();
    }
    for (ImageIndex image = 0; image < 200; ++image) {
        held += (*unwinder)->has_table(image) ? 1 : 0;
    }
    EXPECT_GT(held, 0U);
    EXPECT_LT(held, 200U);
    EXPECT_TRUE((*unwinder)->has_table(199)) << "the oldest goes first";
    EXPECT_FALSE((*unwinder)->has_table(0));
    EXPECT_LE((*unwinder)->tables_bytes(), std::size_t{1} << 20U);
    for (std::size_t row = 0; row < table->row_count(); ++row) {
        ASSERT_EQ((*unwinder)->rule(199, table->place(row)), table->find(table->place(row))) << row;
    }
    EXPECT_EQ((*unwinder)->rule(0, table->place(0)), UnwindRule{}) << "its table is gone";
}

}  // namespace
}  // namespace perfleet
