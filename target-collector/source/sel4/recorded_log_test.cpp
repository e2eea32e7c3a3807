// What a real kernel logged, through the simulation: the rows have to be those of the golden files, in every layout
// that the same records may have.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "target-collector/source/sel4/log_source.h"
#include "target-collector/source/sel4/testing/simulated_kernel.h"
#include "tests/golden/golden_file.h"

namespace perfleet::sel4::recorded_log_test {
namespace {

constexpr EventNumber kEvent{0};
constexpr std::uint64_t kPathOffset = 12;
constexpr std::size_t kRecordedSizeBytes = 24;

std::vector<std::byte> bytes_of(const std::string& name) {
    const std::string text = golden_file("sel4/" + name);
    const auto bytes = std::as_bytes(std::span{text});
    return {bytes.begin(), bytes.end()};
}

// Lines of numbers, under one of names.
std::vector<std::vector<std::uint64_t>> golden_rows(const std::string& name) {
    std::istringstream file{golden_file("sel4/" + name)};
    std::string line;
    std::getline(file, line);
    std::vector<std::vector<std::uint64_t>> rows;
    while (std::getline(file, line)) {
        auto& row = rows.emplace_back();
        std::istringstream fields{line};
        for (std::string field; std::getline(fields, field, ',');) {
            row.push_back(std::stoull(field));
        }
    }
    return rows;
}

struct Layout {
    std::string name;
    Architecture architecture;
    PathNumbering numbering;
};
class RecordedEntries : public ::testing::TestWithParam<Layout> {};

INSTANTIATE_TEST_SUITE_P(Layouts, RecordedEntries,
                         ::testing::Values(Layout{"Aarch64Since14", Architecture::kAarch64, PathNumbering::kSince14},
                                           Layout{"Aarch64Before14", Architecture::kAarch64, PathNumbering::kBefore14},
                                           Layout{"Aarch32Since14", Architecture::kAarch32, PathNumbering::kSince14},
                                           Layout{"Aarch32Before14", Architecture::kAarch32, PathNumbering::kBefore14},
                                           Layout{"Ia32Since14", Architecture::kIa32, PathNumbering::kSince14}),
                         [](const auto& given) { return given.param.name; });

// The same entries as a kernel of that layout would have logged them.
std::vector<std::byte> laid_out(const std::vector<std::byte>& recorded, const Layout& layout) {
    const std::size_t size = entry_size_bytes(entry_layout_of(layout.architecture));
    std::vector<std::byte> bytes;
    for (std::size_t at = 0; at < recorded.size(); at += kRecordedSizeBytes) {
        std::vector<std::byte> entry(recorded.begin() + static_cast<std::ptrdiff_t>(at),
                                     recorded.begin() + static_cast<std::ptrdiff_t>(at + kRecordedSizeBytes));
        if (layout.numbering == PathNumbering::kBefore14) {
            entry[kPathOffset] = static_cast<std::byte>(std::to_integer<unsigned>(entry[kPathOffset]) - 1);
        }
        if (has_short_clock(layout.architecture)) {
            std::fill(entry.begin() + 4, entry.begin() + 8, std::byte{0});
        }
        entry.resize(size);
        bytes.insert(bytes.end(), entry.begin(), entry.end());
    }
    return bytes;
}

TEST_P(RecordedEntries, AreRowsAsTheGoldenFileHasThem) {
    const auto recorded = bytes_of("entries_aarch64.log");
    auto expected = golden_rows("entries_aarch64.csv");
    ASSERT_EQ(expected.size(), 512U);
    ASSERT_EQ(recorded.size(), expected.size() * kRecordedSizeBytes);
    SimulatedKernel kernel{{.mode = BenchmarkMode::kKernelEntries,
                            .architecture = GetParam().architecture,
                            .numbering = GetParam().numbering}};
    kernel.logs_calls = false;
    LogSource source{kernel, kEvent};
    ASSERT_TRUE(source.start().ok());
    kernel.load(laid_out(recorded, GetParam()), expected.size());
    KeptRows kept;
    while (source.poll(100, kept) > 0) {
    }
    ASSERT_EQ(kept.rows.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        auto row = kept.rows[i].integers;
        row.insert(row.begin(), kept.rows[i].time.value);
        if (GetParam().numbering == PathNumbering::kBefore14) {
            ++row[3];
        }
        if (has_short_clock(GetParam().architecture)) {
            expected[i][0] %= 1ULL << 32;
        }
        ASSERT_EQ(row, expected[i]) << "entry " << i;
    }
    EXPECT_TRUE(kept.counted.empty());
}

class RecordedTracepoints : public ::testing::TestWithParam<Architecture> {};

INSTANTIATE_TEST_SUITE_P(Layouts, RecordedTracepoints,
                         ::testing::Values(Architecture::kAarch64, Architecture::kAarch32));

TEST_P(RecordedTracepoints, AreRowsAsTheGoldenFileHasThem) {
    const auto recorded = bytes_of("tracepoints_aarch64.log");
    const auto expected = golden_rows("tracepoints_aarch64.csv");
    ASSERT_EQ(expected.size(), 256U);
    SimulatedKernel kernel{{.mode = BenchmarkMode::kTracepoints, .architecture = GetParam(), .tracepoint_count = 2}};
    std::vector<std::byte> bytes;
    const std::size_t word = kernel.record_size() / 2;
    for (std::size_t at = 0; at < recorded.size(); at += 8) {
        bytes.insert(bytes.end(), recorded.begin() + static_cast<std::ptrdiff_t>(at),
                     recorded.begin() + static_cast<std::ptrdiff_t>(at + word));
    }
    LogSource source{kernel, kEvent};
    ASSERT_TRUE(source.start().ok());
    kernel.load(bytes, expected.size());
    KeptRows kept;
    while (source.poll(100, kept) > 0) {
    }
    ASSERT_EQ(kept.rows.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(kept.rows[i].series.event.value, 1 + expected[i][0]);
        EXPECT_EQ(kept.rows[i].integers[5], expected[i][1]);
    }
}

}  // namespace
}  // namespace perfleet::sel4::recorded_log_test
