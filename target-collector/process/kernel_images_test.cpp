#include "target-collector/process/kernel_images.h"

#include <gtest/gtest.h>

#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/process/small_file.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/source/linux/event/cpu_list.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace perfleet {
namespace {

constexpr std::string_view kKallsyms =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000200 t second\n"
    "ffffffff81000100 T first\n"
    "ffffffff81000180 D data\n"
    "ffffffff82000000 T _etext\n"
    "ffffffffc0201000 t in_module\t[some_module]\n"
    "ffffffff80000000 T below\n"
    "ffffffff81000300 t \t[nameless]\n"
    "nonsense\n";

TEST(KernelLayout, SymbolsCountFromTheTextsStartAscending) {
    const KernelLayout layout = read_kernel_layout(kKallsyms);
    EXPECT_EQ(layout.start, 0xffffffff81000000U);
    EXPECT_EQ(layout.size, 0x1000000U);
    EXPECT_EQ(read_kernel_symbols(kKallsyms, {{{}, layout.start, ~0ULL - layout.start}})[{}],
              "0 T _stext\n"
              "100 T first\n"
              "200 t second\n"
              "1000000 T _etext\n");
}

TEST(KernelLayout, SymbolsOfModulesCountFromTheirStart) {
    const auto symbols =
        read_kernel_symbols(std::string{kKallsyms} +
                                "ffffffffc0200010 T begin\t[some_module]\nffffffffc0301000 t program\t[bpf]\n"
                                "ffffffffc0203000 t elsewhere\t[some_module]\nffffffffc0201000 t unloaded\t[gone]\n",
                            {{"some_module", 0xffffffffc0200000, 0x3000}, {"silent", 0xffffffffc0400000, 0x1000}});
    EXPECT_EQ(symbols,
              (std::map<std::string, std::string>{{"silent", ""}, {"some_module", "10 T begin\n1000 t in_module\n"}}));
}

TEST(KernelLayout, HiddenAddressesAreNotKnown) {
    const KernelLayout layout =
        read_kernel_layout("0000000000000000 T _stext\n0000000000000000 T schedule\n0000000000000000 T _etext\n");
    EXPECT_EQ(layout.start, 0U);
    EXPECT_EQ(layout.size, 0U);
    EXPECT_TRUE(layout.scheduler.empty());
}

TEST(KernelLayout, FunctionsOfTheSchedulerReachToTheNextSymbol) {
    const KernelLayout layout = read_kernel_layout(
        "ffffffff81000000 T _stext\n"
        "ffffffff81000100 t __schedule\n"
        "ffffffff81000100 t an_alias\n"
        "ffffffff81000180 t io_schedule\n"
        "ffffffff81000200 T schedule\n"
        "ffffffff81000240 d data\n"
        "ffffffff82000000 T _etext\n");
    ASSERT_EQ(layout.scheduler.size(), 2U);
    EXPECT_EQ(layout.scheduler[0].start, 0xffffffff81000100U);
    EXPECT_EQ(layout.scheduler[0].end, 0xffffffff81000180U);
    EXPECT_EQ(layout.scheduler[1].end, 0xffffffff81000240U);
}

TEST(VisitLines, VisitsEachLineOfAFileOfAnyLength) {
    const std::string path = testing::TempDir() + "lines_" + std::to_string(::getpid());
    std::vector<std::string> lines;
    for (int i = 0; i < 20'000; ++i) {
        lines.push_back("line " + std::to_string(i));
    }
    lines.emplace_back();
    lines.emplace_back(kVisitedLineSizeBytesMax + 10, 'x');
    lines.emplace_back("the last, without an end");
    std::ofstream file{path};
    for (std::size_t i = 0; i < lines.size(); ++i) {
        file << lines[i] << (i + 1 < lines.size() ? "\n" : "");
    }
    file.close();
    lines[lines.size() - 2].resize(kVisitedLineSizeBytesMax);
    lines.insert(lines.end() - 1, std::string(10, 'x'));  // the rest of the long one
    std::vector<std::string> visited;
    EXPECT_TRUE(visit_lines(path, [&](std::string_view line) { visited.emplace_back(line); }).ok());
    EXPECT_EQ(visited, lines);
    std::remove(path.c_str());
    EXPECT_FALSE(visit_lines(path, [](std::string_view) {}).ok());
}

TEST(KernelModules, AreReadAscendingAndOnlyWhenTheirPlaceIsKnown) {
    const auto modules = read_kernel_modules(
        "second 8192 1 - Live 0xffffffffc0300000\n"
        "hidden 4096 0 - Live 0x0000000000000000\n"
        "first 16384 2 a,b, Live 0xffffffffc0200000 (OE)\n"
        "\nbroken\n");
    ASSERT_EQ(modules.size(), 2U);
    EXPECT_EQ(modules[0].name, "first");
    EXPECT_EQ(modules[0].start, 0xffffffffc0200000U);
    EXPECT_EQ(modules[0].size, 16'384U);
    EXPECT_EQ(modules[1].name, "second");
}

TEST(ProcReader, FindsTheParentBehindAnyName) {
    EXPECT_EQ(parent_in_stat("42 (sh) S 7 42 42 0"), 7U);
    EXPECT_EQ(parent_in_stat("42 (a) b) R 4294967295"), 4'294'967'295U);
    EXPECT_EQ(parent_in_stat("42 (sh) S x"), std::nullopt);
    EXPECT_EQ(parent_in_stat("42 (sh) S "), std::nullopt);
    EXPECT_EQ(parent_in_stat("42 (sh"), std::nullopt);
    EXPECT_EQ(parent_in_stat(""), std::nullopt);
}

TEST(KernelImages, KnowsTheRunningKernel) {
    KernelImages kernel = KernelImages::read();
    ImageTable table;
    kernel.intern(table);
    if (kernel.addresses_hidden()) {
        GTEST_SKIP() << "kernel.kptr_restrict hides the kernel's addresses from this user";
    }
    EXPECT_GT(kernel.kernel_content().size_bytes, 0);
    EXPECT_NE(read_kernel_symbols()[{}].find(" T _stext\n"), std::string::npos);
    std::map<std::string, int> contents;
    kernel.each_content([&](const ImageContentId&, const std::string& name) { ++contents[name]; });
    EXPECT_EQ(contents[{}], 1);
    const Image& image = table.at(0);
    EXPECT_EQ(image.name, "[kernel.kallsyms]");
    const auto place = kernel.find(image.address + 0x123);
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->image, 0U);
    EXPECT_EQ(place->offset, 0x123U);
    EXPECT_FALSE(kernel.find(image.address - 1).has_value());
}

TEST(KernelFunctions, ReachToTheNextOneOrALimit) {
    const std::vector<Image> functions =
        read_kernel_layout(
            "ffffffffc0002000 t bpf_prog_second\t[bpf]\nffffffffc0001f00 t bpf_prog_first\t[bpf]\n"
            "ffffffffc0009000 t of_a_module\t[ext4]\n0000000000000000 t bpf_prog_hidden\t[bpf]\n"
            "ffffffffc0001f80 d data\t[bpf]\n")
            .functions;
    ASSERT_EQ(functions.size(), 2U);
    EXPECT_EQ(functions[0].name, "bpf_prog_first");
    EXPECT_EQ(functions[0].size, 0x100U);
    EXPECT_EQ(functions[1].address, 0xffff'ffff'c000'2000U);
    EXPECT_EQ(functions[1].size, kKernelFunctionSizeBytesMax);
}

TEST(KernelFunctions, AreThereBetweenTheirRecords) {
    constexpr std::uint64_t kStart = 0xffff'ffff'c000'0000;
    ImageTable table;
    KernelImages kernel =
        KernelImages::of({"[kernel.kallsyms]", image_flags::kKernel, kStart - 0x100000, 0x1000, {}}, {});
    kernel.intern(table);
    const auto name_at = [&](std::uint64_t address) {
        const auto place = kernel.find(address);
        return place ? table.at(place->image).name + "+" + std::to_string(place->offset) : std::string{};
    };
    kernel.put_function(kernel_function("later", kStart + 0x100, 0x80), table);
    kernel.put_function(kernel_function("earlier", kStart, 0x100), table);
    EXPECT_EQ(name_at(kStart + 0xff), "earlier+255");
    EXPECT_EQ(name_at(kStart + 0x100), "later+0");
    EXPECT_EQ(name_at(kStart + 0x180), "");
    kernel.put_function(kernel_function("in its place", kStart, 0x10), table);
    EXPECT_EQ(name_at(kStart + 0xf), "in its place+15");
    EXPECT_EQ(name_at(kStart + 0x10), "");
    kernel.remove_function(kStart);
    EXPECT_EQ(name_at(kStart), "");
    for (std::uint64_t i = 0; i < KernelLayout::kFunctionsMax + 10; ++i) {
        kernel.put_function(kernel_function("one of many", kStart + 0x1000 + i * 0x10, 0x10), table);
    }
    EXPECT_EQ(name_at(kStart + 0x1000), "one of many+0");
    EXPECT_EQ(name_at(kStart + 0x1000 + (KernelLayout::kFunctionsMax + 5) * 0x10), "");
}

TEST(StackResolver, KeepsFramesOutsideAnyMappingOfAnotherMachineByTheirAddress) {
    constexpr std::uint64_t kText = 0xffff'ffff'8000'0000;
    KernelImages kernel = KernelImages::of({"[kernel.kallsyms]", image_flags::kKernel, kText, 0x1000, {}}, {});
    ImageTable table;
    kernel.intern(table);
    constexpr ImageIndex kUnknown = 77;
    const std::array<std::uint64_t, 5> words{perf::context::kKernel, kText + 0xfff, kText + 0x1000,
                                             perf::context::kUser, 0x9999};
    ResolvedStack stack;
    resolve_stack(words, MappingList{}, kernel, kUnknown, UnmappedFrames::kKept, stack);
    ASSERT_EQ(stack.frame_count, 3U);
    EXPECT_NE(stack.frames[0].image, kUnknown);
    EXPECT_EQ(stack.frames[0].offset, 0xfffU);
    EXPECT_EQ(stack.frames[1].image, kUnknown);
    EXPECT_EQ(stack.frames[1].offset, kText + 0x1000);
    EXPECT_EQ(stack.frames[2].offset, 0x9999U);
    EXPECT_EQ(stack.unmapped_count, 0);
}

TEST(StackResolver, LeavesOutFramesOutsideAnyMappingButNeverTheLeaf) {
    KernelImages kernel = KernelImages::read();
    ImageTable table;
    kernel.intern(table);
    constexpr ImageIndex kUnknown = 77;
    MappingList mappings;
    mappings.add({0x1000, 0x2000, 0x500, 9, 5, 2});
    ResolvedStack stack;

    const std::array<std::uint64_t, 4> words{perf::context::kUser, 0x1010, 0x9999, 0x1fff};
    resolve_stack(words, mappings, kernel, kUnknown, UnmappedFrames::kDropped, stack);
    ASSERT_EQ(stack.frame_count, 2U);
    EXPECT_EQ(stack.frames[0].image, 9U);
    EXPECT_EQ(stack.frames[0].offset, 0x510U);
    EXPECT_EQ(stack.frames[1].offset, 0x14ffU);
    EXPECT_EQ(stack.unmapped_count, 1);

    const std::array<std::uint64_t, 3> lost_leaf{perf::context::kUser, 0x2000, 0x1000};
    resolve_stack(lost_leaf, mappings, kernel, kUnknown, UnmappedFrames::kDropped, stack);
    ASSERT_EQ(stack.frame_count, 2U);
    EXPECT_EQ(stack.frames[0].image, kUnknown);
    EXPECT_EQ(stack.frames[0].offset, 0U);
    EXPECT_EQ(stack.unmapped_count, 0);

    const std::array<std::uint64_t, 4> guest{perf::context::kUser, 0x1000, static_cast<std::uint64_t>(-2048), 0x1000};
    resolve_stack(guest, mappings, kernel, kUnknown, UnmappedFrames::kDropped, stack);
    EXPECT_EQ(stack.frame_count, 1U);
    EXPECT_EQ(stack.unmapped_count, 1);
}

TEST(StackResolver, CountsWhatIsTooDeep) {
    KernelImages kernel = KernelImages::read();
    ImageTable table;
    kernel.intern(table);
    MappingList mappings;
    mappings.add({0x1000, 0x2000, 0, 9, 5, 2});
    std::vector<std::uint64_t> words(limits::kCallChainDepthMax + 4, 0x1001);
    words[0] = perf::context::kUser;
    ResolvedStack stack;
    resolve_stack(words, mappings, kernel, 0, UnmappedFrames::kDropped, stack);
    EXPECT_EQ(stack.frame_count, limits::kCallChainDepthMax);
    EXPECT_EQ(stack.truncated_count, 3);
}

TEST(ProcReader, ReadsAMapsLine) {
    const auto mapping = parse_maps_line(
        "7f0a1c028000-7f0a1c1bd000 r-xp 00028000 fe:01 1234567                    /usr/lib/a path (deleted)");
    ASSERT_TRUE(mapping.has_value());
    EXPECT_EQ(mapping->start, 0x7f0a1c028000U);
    EXPECT_EQ(mapping->end, 0x7f0a1c1bd000U);
    EXPECT_EQ(mapping->file_offset, 0x28000U);
    EXPECT_EQ(mapping->protection, static_cast<std::uint32_t>(PROT_READ | PROT_EXEC));
    EXPECT_EQ(mapping->flags, static_cast<std::uint32_t>(MAP_PRIVATE));
    EXPECT_EQ(mapping->device_major, 0xfeU);
    EXPECT_EQ(mapping->inode, 1'234'567U);
    EXPECT_EQ(mapping->path, "/usr/lib/a path (deleted)");
    EXPECT_EQ(parse_maps_line("00400000-00401000 --xp 00000000 00:00 0 ")->path, "");
    EXPECT_FALSE(parse_maps_line("").has_value());
    EXPECT_FALSE(parse_maps_line("zz-00401000 --xp 00000000 00:00 0").has_value());
    EXPECT_FALSE(parse_maps_line("00402000-00401000 --xp 00000000 00:00 0").has_value());
    EXPECT_FALSE(parse_maps_line("00400000-00401000 --xp").has_value());
}

TEST(ProcReader, KnowsItself) {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const auto threads = proc_threads(pid);
    ASSERT_FALSE(threads.empty());
    EXPECT_EQ(threads.front().tid, pid);
    EXPECT_EQ(threads.front().name, "source_linux_te");
    EXPECT_EQ(proc_uid(pid), ::getuid());
    bool found = false;
    for (const ProcMapping& mapping : proc_mappings(pid)) {
        const auto here = reinterpret_cast<std::uint64_t>(&parse_maps_line);
        found = found || (mapping.start <= here && here < mapping.end);
    }
    EXPECT_TRUE(found);
    const auto family = proc_with_descendants({static_cast<std::uint32_t>(::getppid())});
    EXPECT_NE(std::find(family.begin(), family.end(), pid), family.end());
}

TEST(CpuList, ReadsRanges) {
    EXPECT_EQ(parse_cpu_list("0-3,8\n"), (std::vector<std::uint32_t>{0, 1, 2, 3, 8}));
    EXPECT_EQ(parse_cpu_list("5"), std::vector<std::uint32_t>{5});
    EXPECT_TRUE(parse_cpu_list("3-1").empty());
    EXPECT_TRUE(parse_cpu_list("a").empty());
    EXPECT_TRUE(parse_cpu_list("0-99999999").empty());
    EXPECT_FALSE(online_cpus().empty());
}

}  // namespace
}  // namespace perfleet
