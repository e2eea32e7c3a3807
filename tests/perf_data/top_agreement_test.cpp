// An export shows under perf what `perfleet top` shows: the same symbols with the same counts, over real images.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "query-engine/statistic/profile/top.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/wire/protocol.h"
#include "tests/perf_data/export_fixture.h"

namespace perfleet::top_agreement_test {
namespace {

std::string packed(const std::string& bytes) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
    return frame;
}

constexpr std::uint64_t kT0 = 9'000'000'000;

struct Mapped {
    std::string path;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
};

// What this process has mapped for execution: real files, with real symbols.
std::vector<Mapped> own_code() {
    std::vector<Mapped> found;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        Mapped one;
        char rights[8] = {};
        int path_at = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %n", &one.start, &one.end, rights, &one.file_offset,
                        &path_at) == 4 &&
            rights[2] == 'x' && line.find('/') != std::string::npos) {
            one.path = line.substr(line.find('/'));
            found.push_back(one);
        }
    }
    return found;
}

std::string build_id_of(const std::string& path) {
    const std::string command = "readelf -n " + path + " 2>/dev/null | sed -n 's/.*Build ID: //p'";
    std::string id;
    FILE* pipe = popen(command.c_str(), "r");
    for (unsigned byte = 0; std::fscanf(pipe, "%2x", &byte) == 1;) {
        id += static_cast<char>(byte);
    }
    pclose(pipe);
    return id;
}

struct Kernel {
    std::string build_id;
    std::string symbols;
    std::uint64_t start = 0;
    std::uint64_t size_bytes = 0;
};

std::optional<Kernel> own_kernel() {
    Kernel kernel;
    const std::string notes = content_of("/sys/kernel/notes");
    const std::size_t name = notes.find(std::string_view{"\x03\0\0\0GNU\0", 8});
    std::ifstream file{"/proc/kallsyms"};
    std::multimap<std::uint64_t, std::string> lines;
    for (std::string line; std::getline(file, line);) {
        std::size_t used = 0;
        const std::uint64_t address = std::stoull(line, &used, 16);
        if (line.ends_with(" _stext")) {
            kernel.start = address;
        }
        if (line.ends_with(" _etext")) {
            kernel.size_bytes = address;
        }
        lines.emplace(address, line.substr(used));
    }
    if (name == std::string::npos || kernel.start == 0) {
        return std::nullopt;
    }
    kernel.build_id = notes.substr(name + 8, 20);
    kernel.size_bytes -= kernel.start;
    std::ostringstream text;
    for (auto it = lines.lower_bound(kernel.start); it != lines.end(); ++it) {
        text << std::hex << it->first - kernel.start << it->second << "\n";
    }
    kernel.symbols = text.str();
    return kernel;
}

using Row = std::tuple<std::string, std::string, std::string>;  // command, image, symbol
using Counts = std::map<Row, std::uint64_t>;

std::string text_of(const AnswerValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? std::string{} : *text;
}

Counts counts_of_top(const Answer& answer) {
    std::map<std::string, std::size_t> columns;
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        columns[answer.columns[i].name] = i;
    }
    Counts counts;
    for (const auto& row : answer.rows) {
        const auto& self = row[columns.at("self_samples")];
        const std::uint64_t count = std::holds_alternative<std::uint64_t>(self)
                                        ? std::get<std::uint64_t>(self)
                                        : static_cast<std::uint64_t>(std::get<std::int64_t>(self));
        std::string symbol = text_of(row[columns.at("symbol")]);
        if (symbol.find("+0x") != std::string::npos) {
            symbol = "unresolved";
        }
        if (count > 0) {
            counts[{text_of(row[columns.at("command")]), text_of(row[columns.at("image")]), symbol}] += count;
        }
    }
    return counts;
}

Counts counts_of_report(const std::string& report) {
    Counts counts;
    std::istringstream lines{report};
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') {
            continue;
        }
        std::vector<std::string> cells;
        std::istringstream words{line};
        for (std::string cell; std::getline(words, cell, '\t');) {
            cell.erase(0, cell.find_first_not_of(' '));
            cell.erase(cell.find_last_not_of(' ') + 1);
            cells.push_back(cell);
        }
        std::string symbol = cells.at(3).substr(4);  // behind "[.] "
        if (symbol.starts_with("0x") || symbol.find_first_not_of("0123456789abcdef") == std::string::npos) {
            symbol = "unresolved";
        }
        // perf 6.1 adds an offset, and a wrong one, if the symbol isn't a function: a table beside the code.
        symbol = symbol.substr(0, symbol.find("+0x"));
        counts[{cells.at(1), cells.at(2), symbol}] += std::stoull(cells.at(0));
    }
    return counts;
}

using TopAgreement = ExportTest;

TEST_F(TopAgreement, PerfReportCountsEverySymbolAsTopDoes) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    const std::vector<Mapped> code = own_code();
    const std::optional<Kernel> kernel = own_kernel();
    ASSERT_GE(code.size(), 3U);
    define(sample_session(kTarget, kSession));
    std::mt19937_64 random{2024};
    SampleBatch out = batch(1);
    std::vector<SampleBatch::Image> images;
    SampleIntegers tasks;
    const auto task = [&](TaskOp op, std::uint64_t pid, std::uint64_t image, const Mapped& mapped) {
        tasks[ColumnId::kTime].push_back(kT0);
        tasks[ColumnId::kTaskOp].push_back(static_cast<std::uint64_t>(op));
        tasks[ColumnId::kPid].push_back(pid);
        tasks[ColumnId::kTid].push_back(pid);
        tasks[ColumnId::kString].push_back(op == TaskOp::kPresent ? pid - 99 : 0);
        tasks[ColumnId::kImage].push_back(image);
        tasks[ColumnId::kAddress].push_back(mapped.start);
        tasks[ColumnId::kSize].push_back(mapped.end - mapped.start);
        tasks[ColumnId::kFileOffset].push_back(mapped.file_offset);
    };
    for (std::uint64_t pid = 100; pid < 103; ++pid) {
        task(TaskOp::kPresent, pid, 0, {});
    }
    out.add_strings({{1, "first"}, {2, "second"}, {3, "third"}});
    for (std::uint32_t number = 0; number < code.size(); ++number) {
        images.push_back({number, image_flags::kFileOffset, build_id_of(code[number].path), code[number].path});
        for (std::uint64_t pid = 100; pid < 103; ++pid) {
            task(TaskOp::kMap, pid, number, code[number]);
        }
    }
    if (kernel) {
        images.push_back({static_cast<std::uint32_t>(code.size()), image_flags::kKernel, kernel->build_id,
                          "[kernel.kallsyms]", kernel->start, kernel->size_bytes});
        ASSERT_TRUE(store_
                        ->put_image(kernel->build_id, {static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols),
                                                       packed(kernel->symbols)})
                        .ok());
    }
    out.add_images(images).add(Series{Kind::kTask, kNoEvent}, tasks);

    // Chains of one to four frames, the leaf in the kernel now and then.
    std::vector<SampleBatch::Stack> stacks;
    std::vector<std::uint64_t> leaves;
    std::uint32_t number = 0;
    for (int chain = 0; chain < 3'000; ++chain) {
        std::uint32_t parent = 0;
        for (std::uint64_t depth = 1 + random() % 4; depth > 0; --depth) {
            const auto image = static_cast<std::uint32_t>(random() % code.size());
            stacks.push_back(
                {++number, parent, image, code[image].file_offset + random() % (code[image].end - code[image].start)});
            parent = number;
        }
        if (kernel && chain % 4 == 0) {
            stacks.push_back(
                {++number, parent, static_cast<std::uint32_t>(code.size()), random() % kernel->size_bytes});
            parent = number;
        }
        leaves.push_back(parent);
    }
    out.add_stacks(stacks);
    SampleIntegers samples;
    constexpr std::uint64_t kSamples = 12'000;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        samples[ColumnId::kTime].push_back(kT0 + 100 + i * 1'000);
        const std::uint64_t pid = 100 + random() % 3;
        samples[ColumnId::kPid].push_back(pid);
        samples[ColumnId::kTid].push_back(pid);
        samples[ColumnId::kStack].push_back(leaves[random() % leaves.size()]);
        samples[ColumnId::kWeight].push_back(1'001'001);
    }
    put(out.add({Kind::kSample, EventNumber{0}}, samples));

    auto scan = Scan::open(*store_, {});
    ASSERT_TRUE(scan.ok());
    SymbolPaths paths;
    paths.build_id_cache.clear();
    Symbolizer symbolizer{store_.get(), paths};
    TopOptions options;
    options.each_address = true;
    const auto top = make_top(*scan, symbolizer, options);
    ASSERT_TRUE(top.ok()) << top.error().message;
    EXPECT_EQ(exported().sample_count, kSamples);
    const Said report =
        perf("report --stdio -i perf.data --no-children -g none -t '\t' -w 0 -F sample,comm,dso,sym --no-inline");
    EXPECT_EQ(report.errors, "");

    const Counts by_top = counts_of_top(*top);
    Counts by_perf = counts_of_report(report.output);
    std::uint64_t total = 0;
    std::uint64_t named = 0;
    for (const auto& [row, count] : by_perf) {
        total += count;
        named += std::get<2>(row) == "unresolved" ? 0 : count;
    }
    EXPECT_EQ(total, kSamples);
    EXPECT_GT(named, kSamples / 2);
    // Entries of the PLT that perf 6.1 has no name for have one here.
    Counts by_top_as_perf;
    for (const auto& [row, count] : by_top) {
        const bool perf_has_it = by_perf.contains(row) || !std::get<2>(row).ends_with("@plt");
        by_top_as_perf[perf_has_it ? row : Row{std::get<0>(row), std::get<1>(row), "unresolved"}] += count;
    }
    // Only the differences: there are hundreds of rows.
    Counts only_top;
    Counts only_perf;
    std::ranges::set_difference(by_top_as_perf, by_perf, std::inserter(only_top, only_top.end()));
    std::ranges::set_difference(by_perf, by_top_as_perf, std::inserter(only_perf, only_perf.end()));
    EXPECT_EQ(only_top, only_perf);
}

}  // namespace
}  // namespace perfleet::top_agreement_test
