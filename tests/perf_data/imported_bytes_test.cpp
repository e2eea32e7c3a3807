// Files that no perf of today writes: old and new sizes of attrs, the other byte order, damage. Made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "query-engine/statistic/testing/text_query.h"
#include "schemas/perf/perf_event.h"
#include "schemas/perf/stat_record.h"
#include "tests/perf_data/import_fixture.h"

namespace perfleet {
namespace {

using perf::RecordType;
namespace type = perf::sample_type;

constexpr std::uint64_t kSampleType =
    type::kIdentifier | type::kIp | type::kTid | type::kTime | type::kCpu | type::kPeriod | type::kCallchain;
constexpr std::uint64_t kSampleIdAll = 1U << 18;

// Bytes of one byte order.
class Bytes {
public:
    explicit Bytes(bool is_foreign) : is_foreign_{is_foreign} {}

    template <class T>
    Bytes& put(T value) {
        std::string bytes(reinterpret_cast<const char*>(&value), sizeof(value));
        if (is_foreign_) {
            std::reverse(bytes.begin(), bytes.end());
        }
        bytes_ += bytes;
        return *this;
    }
    Bytes& u16(std::uint16_t value) { return put(value); }
    Bytes& u32(std::uint32_t value) { return put(value); }
    Bytes& u64(std::uint64_t value) { return put(value); }
    Bytes& text(const std::string& text) {
        bytes_ += text;
        bytes_.append(8 - text.size() % 8, '\0');
        return *this;
    }
    Bytes& raw(const std::string& bytes) {
        bytes_ += bytes;
        return *this;
    }
    // C's bit-fields begin at the other end of a byte.
    Bytes& flags(std::uint64_t value) {
        for (unsigned i = 0; i < 8; ++i) {
            unsigned byte = static_cast<unsigned>(value >> (8 * i)) & 0xffU;
            unsigned reversed = 0;
            for (unsigned bit = 0; bit < 8; ++bit) {
                reversed |= (byte >> bit & 1U) << (7 - bit);
            }
            bytes_ += static_cast<char>(is_foreign_ ? reversed : byte);
        }
        return *this;
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

private:
    bool is_foreign_;
    std::string bytes_;
};

struct FileShape {
    bool is_foreign = false;
    bool is_pipe = false;
    std::size_t attr_size_bytes = 112;
};

std::string record(const FileShape& shape, RecordType record_type, std::uint16_t misc, const std::string& body) {
    return Bytes{shape.is_foreign}
               .u32(static_cast<std::uint32_t>(record_type))
               .u16(misc)
               .u16(static_cast<std::uint16_t>(8 + body.size()))
               .bytes() +
           body;
}

std::string attr(const FileShape& shape, std::uint64_t more_fields = 0) {
    Bytes attr{shape.is_foreign};
    attr.u32(perf::kTypeSoftware).u32(static_cast<std::uint32_t>(shape.attr_size_bytes)).u64(0).u64(1'000);
    attr.u64(kSampleType | more_fields).u64(0).flags(kSampleIdAll);
    if ((more_fields & type::kRegsUser) != 0) {
        constexpr std::uint64_t kAnyBranch = 8;
        constexpr std::uint64_t kSpAndIp = 0x180;
        attr.u32(0).u32(0).u64(0).u64(0).u64(kAnyBranch).u64(kSpAndIp);
    }
    return attr.raw(std::string(shape.attr_size_bytes - attr.size(), '\0')).bytes();
}

std::string trailer(const FileShape& shape, std::uint64_t time) {
    return Bytes{shape.is_foreign}.u32(5).u32(5).u64(time).u32(1).u32(0).u64(77).bytes();
}

// Samples at 0x1010 called from 0x1020, of the program `/x` in the thread 5, named "it".
std::string records(const FileShape& shape, std::uint64_t sample_count) {
    Bytes comm{shape.is_foreign};
    comm.u32(5).u32(5).text("it").raw(trailer(shape, 1'000));
    Bytes map{shape.is_foreign};
    map.u32(5).u32(5).u64(0x1000).u64(0x1000).u64(0).text("/x").raw(trailer(shape, 1'001));
    std::string all = record(shape, RecordType::kComm, 0, comm.bytes()) +
                      record(shape, RecordType::kMmap, perf::misc::kUser, map.bytes());
    for (std::uint64_t i = 0; i < sample_count; ++i) {
        Bytes sample{shape.is_foreign};
        sample.u64(77).u64(0x1010).u32(5).u32(5).u64(2'000 + i).u32(1).u32(0).u64(9);
        sample.u64(3).u64(perf::context::kUser).u64(0x1010).u64(0x1020);
        all += record(shape, RecordType::kSample, perf::misc::kUser, sample.bytes());
    }
    Bytes lost{shape.is_foreign};
    lost.u64(77).u64(40).raw(trailer(shape, 9'000));
    return all + record(shape, RecordType::kLost, 0, lost.bytes());
}

std::string perf_file(const FileShape& shape, const std::string& body, std::uint64_t more_fields = 0) {
    if (shape.is_pipe) {
        return Bytes{shape.is_foreign}.u64(0x32454c4946524550).u64(16).bytes() +
               record(shape, RecordType::kHeaderAttr, 0,
                      attr(shape, more_fields) + Bytes{shape.is_foreign}.u64(77).bytes()) +
               body;
    }
    constexpr std::uint64_t kHeader = 104;
    Bytes file{shape.is_foreign};
    const std::uint64_t entry = shape.attr_size_bytes + 16;
    file.u64(0x32454c4946524550).u64(kHeader).u64(entry).u64(kHeader + 8).u64(entry);
    file.u64(kHeader + 8 + entry).u64(body.size()).u64(0).u64(0).u64(0).u64(0).u64(0).u64(0);
    file.u64(77).raw(attr(shape, more_fields)).u64(kHeader).u64(8);
    return file.bytes() + body;
}

std::string perf_file(const FileShape& shape, std::uint64_t sample_count) {
    return perf_file(shape, records(shape, sample_count));
}

class ImportedBytes : public ImportTest {
protected:
    Result<ImportedRecording> imported_bytes(const std::string& bytes) {
        std::ofstream{path("in.data"), std::ios::binary} << bytes;
        RecordingImport options;
        options.start = UtcNs{1'700'000'000'000'000'000};
        options.target_name = "there";
        return imported(options);
    }
};

class OfShape : public ImportedBytes, public testing::WithParamInterface<FileShape> {};

TEST_P(OfShape, HasItsSamplesAndLosses) {
    const auto session = imported_bytes(perf_file(GetParam(), 3));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->sample_count, 3U);
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    const ExportSummary summary = exported();
    EXPECT_EQ(summary.sample_count, 3U);
    EXPECT_EQ(summary.ledger.produced, 43U);
    EXPECT_EQ(summary.ledger.stored, 3U);
    if (perf_is_here()) {
        const std::string script = perf("script --ns -F comm,tid,cpu,time,event,period,ip,dso -i perf.data").output;
        EXPECT_EQ(count_of(script, "it     5 [001]"), 3U) << script;
        EXPECT_EQ(count_of(script, "0.000002000:          9 cpu-clock"), 1U) << script;
        EXPECT_EQ(count_of(script, "10 (/x)"), 3U) << script;
        EXPECT_EQ(count_of(script, "20 (/x)"), 3U) << script;
    }
}

INSTANTIATE_TEST_SUITE_P(Each, OfShape,
                         testing::Values(FileShape{false, false, 64}, FileShape{false, false, 72},
                                         FileShape{false, false, 136}, FileShape{false, false, 4'000},
                                         FileShape{true, false, 64}, FileShape{true, false, 112},
                                         FileShape{false, true, 112}, FileShape{true, true, 96}));

TEST_F(ImportedBytes, WhatStandsBeforeDamageIsImported) {
    const FileShape shape;
    const std::string whole = perf_file(shape, 100);
    constexpr std::size_t kSampleSizeBytes = 8 + 48 + 8 + 24;
    const std::size_t last_sample = whole.size() - (8 + 16 + 32) - kSampleSizeBytes;
    const auto cut = imported_bytes(whole.substr(0, last_sample + 20));
    ASSERT_TRUE(cut.ok()) << cut.error().message;
    EXPECT_EQ(cut->sample_count, 99U);
    ASSERT_EQ(cut->warnings.size(), 1U);
    EXPECT_NE(cut->warnings[0].find("damaged at offset " + std::to_string(last_sample)), std::string::npos)
        << cut->warnings[0];

    std::string broken = whole;
    broken[last_sample + 6] = 3;  // its size
    broken[last_sample + 7] = 0;
    const auto damaged = imported_bytes(broken);
    ASSERT_TRUE(damaged.ok()) << damaged.error().message;
    EXPECT_EQ(damaged->sample_count, 99U);
    ASSERT_EQ(damaged->warnings.size(), 1U);
    EXPECT_NE(damaged->warnings[0].find("a record of 3 bytes"), std::string::npos) << damaged->warnings[0];
}

// Wherever it was cut: everything before the cut is imported, and it never passes for a whole file.
TEST_F(ImportedBytes, AFileThatWasCutIsReportedWhereverThatWas) {
    constexpr std::size_t kSampleSizeBytes = 8 + 48 + 8 + 24;
    constexpr std::uint64_t kSamples = 4;
    const std::string whole = perf_file({}, kSamples);
    const std::size_t first_sample = whole.size() - (8 + 16 + 32) - kSamples * kSampleSizeBytes;
    for (std::size_t size = 8; size < whole.size(); size += 41) {
        store_ = make_memory_store();
        const auto cut = imported_bytes(whole.substr(0, size));
        if (!cut.ok()) {
            EXPECT_LT(size, first_sample) << cut.error().message;
            continue;
        }
        EXPECT_EQ(cut->sample_count, std::min(kSamples, (size - std::min(size, first_sample)) / kSampleSizeBytes))
            << size;
        ASSERT_EQ(cut->warnings.size(), 1U) << size;
        EXPECT_NE(cut->warnings[0].find("damaged at offset "), std::string::npos) << cut->warnings[0];
    }
}

TEST_F(ImportedBytes, WhatNoRowHasIsNamedAndCounted) {
    const FileShape shape{false, true, 112};
    std::string bytes = perf_file(shape, 1);
    for (int i = 0; i < 2; ++i) {
        bytes += record(shape, static_cast<RecordType>(54), 0, std::string(32, '\0') + trailer(shape, 9'001));
    }
    bytes += record(shape, static_cast<RecordType>(55), 0, std::string(8, '\0') + trailer(shape, 9'002));
    const auto session = imported_bytes(bytes);
    ASSERT_TRUE(session.ok()) << session.error().message;
    ASSERT_EQ(session->warnings.size(), 1U);
    EXPECT_EQ(session->warnings[0], "not kept: 2 records of type 54, 1 record of type 55");
}

TEST_F(ImportedBytes, DataOfProcessorsTracesIsNamedAndPassedOver) {
    const FileShape shape;
    const std::string data(50'000, 'x');
    const std::string info =
        record(shape, static_cast<RecordType>(70), 0, Bytes{false}.u32(1).u32(0).u64(7).u64(8).bytes());
    const std::string trace = record(shape, static_cast<RecordType>(71), 0,
                                     Bytes{false}.u64(data.size()).u64(0).u64(3).u32(0).u32(5).u32(1).u32(0).bytes()) +
                              data;
    const auto session = imported_bytes(perf_file(shape, info + trace + records(shape, 3) + trace));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->sample_count, 3U);
    EXPECT_EQ(session->warnings, std::vector<std::string>{
                                     "not kept: 1 record of type 70 (AUXTRACE_INFO), 2 records of type 71 (AUXTRACE)"});
}

TEST_F(ImportedBytes, ATimeOfTheFutureIsOfABrokenRecord) {
    const FileShape shape;
    std::string bytes = perf_file(shape, 3);
    constexpr std::size_t kSampleSizeBytes = 8 + 48 + 8 + 24;
    const std::size_t second = bytes.size() - (8 + 16 + 32) - 2 * kSampleSizeBytes;
    bytes[second + 8 + 8 + 8 + 8 + 7] = '\x7f';  // of its time
    const auto session = imported_bytes(bytes);
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->sample_count, 2U);
    EXPECT_EQ(exported().sample_count, 2U);
    ASSERT_EQ(session->warnings.size(), 1U);
    EXPECT_EQ(session->warnings[0].find("1 record is lost: of a time after now"), 0U) << session->warnings[0];
}

// Samples of threads that have just ended have their process, but no thread. Others may have no record of their name.
TEST_F(ImportedBytes, ThreadsWithoutAHistoryHaveTheNamesThatPerfGivesThem) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf isn't installed (apt install linux-perf)";
    }
    const FileShape shape;
    const auto sample = [&](std::uint32_t pid, std::uint32_t tid, std::uint64_t time) {
        Bytes bytes{false};
        bytes.u64(77).u64(0x1010).u32(pid).u32(tid).u64(time).u32(1).u32(0).u64(9);
        bytes.u64(2).u64(perf::context::kUser).u64(0x1010);
        return record(shape, RecordType::kSample, perf::misc::kUser, bytes.bytes());
    };
    ASSERT_TRUE(imported_bytes(perf_file(shape, records(shape, 2) + sample(5, 0, 3'000) + sample(5, ~0U, 3'001) +
                                                    sample(~0U, ~0U, 3'002) + sample(5, 6, 3'003)))
                    .ok());
    exported();
    for (const char* const file : {"in.data", "perf.data"}) {
        const std::string script = perf(std::string{"script -F comm,tid -i "} + file).output;
        EXPECT_EQ(count_of(script, "swapper     0"), 1U) << script;
        EXPECT_EQ(count_of(script, ":-1    -1"), 2U) << script;
        EXPECT_EQ(count_of(script, ":6     6"), 1U) << script;
        EXPECT_EQ(count_of(script, "it     5"), 2U) << script;
    }
}

// The program before is mapped no longer, but has called it.
TEST_F(ImportedBytes, TheCallerOfExecveIsInTheProgramBefore) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf isn't installed (apt install linux-perf)";
    }
    const FileShape shape;
    const Bytes comm = Bytes{false}.u32(5).u32(5).text("next").raw(trailer(shape, 3'000));
    const Bytes map = Bytes{false}.u32(5).u32(5).u64(0x1800).u64(0x1000).u64(0).text("/y").raw(trailer(shape, 3'001));
    Bytes sample{false};
    sample.u64(77).u64(0x1810).u32(5).u32(5).u64(3'002).u32(1).u32(0).u64(9);
    sample.u64(3).u64(perf::context::kUser).u64(0x1810).u64(0x1020);
    ASSERT_TRUE(
        imported_bytes(perf_file(shape, records(shape, 0) +
                                            record(shape, RecordType::kComm, perf::misc::kCommExec, comm.bytes()) +
                                            record(shape, RecordType::kMmap, perf::misc::kUser, map.bytes()) +
                                            record(shape, RecordType::kSample, perf::misc::kUser, sample.bytes())))
            .ok());
    exported();
    const std::string script = perf("script -F comm,ip,dso -i perf.data").output;
    EXPECT_EQ(script, perf("script -F comm,ip,dso -i in.data").output);
    EXPECT_EQ(count_of(script, "20 (/x)"), 1U) << script;
    EXPECT_EQ(count_of(script, "10 (/y)"), 1U) << script;
}

// As the kernel leaves it where its buffers for chains are in use.
TEST_F(ImportedBytes, AChainWithoutFramesStaysOne) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf isn't installed (apt install linux-perf)";
    }
    const FileShape shape;
    Bytes empty{false};
    empty.u64(77).u64(0x1010).u32(5).u32(5).u64(9'001).u32(1).u32(0).u64(9).u64(0);
    const std::string body = records(shape, 1) + record(shape, RecordType::kSample, perf::misc::kUser, empty.bytes());
    ASSERT_TRUE(imported_bytes(perf_file(shape, body)).ok());
    EXPECT_EQ(exported().sample_count, 2U);
    const std::string script = perf("script -F comm,ip -i perf.data").output;
    EXPECT_EQ(count_of(script, "it"), 2U) << script;
    EXPECT_EQ(count_of(script, "10"), 1U) << script;
}

// The file with these sections of features behind its records, by ascending number.
std::string with_features(std::string file, const std::vector<std::pair<unsigned, std::string>>& features) {
    constexpr std::size_t kBitsAt = 72;
    std::uint64_t offset = file.size() + 16 * features.size();
    std::string table;
    std::string sections;
    for (const auto& [number, section] : features) {
        file[kBitsAt + number / 8] = static_cast<char>(file[kBitsAt + number / 8] | 1 << number % 8);
        table += Bytes{false}.u64(offset).u64(section.size()).bytes();
        sections += section;
        offset += section.size();
    }
    return file + table + sections;
}

std::string sized(const std::string& bytes) {
    return Bytes{false}.u32(static_cast<std::uint32_t>(bytes.size())).bytes() + bytes;
}

// A field of a protobuf message: bytes, or a number below 2^35.
std::string message_field(unsigned number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3U | 2U), static_cast<char>(bytes.size())} + bytes;
}
std::string message_field(unsigned number, std::uint64_t value) {
    std::string text{static_cast<char>(number << 3U)};
    for (; value >= 0x80; value >>= 7U) {
        text += static_cast<char>(value | 0x80U);
    }
    return text + static_cast<char>(value);
}

// simpleperf's files: the program at 0x1000 has its first byte at 0x400000.
std::string simpleperf_file() {
    const auto symbol = [](std::uint64_t address, std::uint32_t size, const std::string& name) {
        return Bytes{false}.u64(address).u32(size).bytes() + name + '\0';
    };
    return sized(std::string{"/x"} + '\0' + Bytes{false}.u32(2).u64(0x40'0800).u32(2).bytes() +
                 symbol(0x40'001c, 8, "caller </script>") + symbol(0x40'0008, 16, "leaf_function") +
                 Bytes{false}.u64(0x800).bytes());
}
std::string simpleperf_message() {
    const auto symbol = [](std::uint64_t address, std::uint64_t size, const std::string& name) {
        return message_field(4, message_field(1, address) + message_field(2, size) + message_field(3, name));
    };
    return sized(message_field(1, "/x") + message_field(2, 2) + message_field(3, 0x40'0800) +
                 symbol(0x40'0008, 16, "leaf_function") + symbol(0x40'001c, 8, "caller </script>") +
                 message_field(6, message_field(1, 0x800)));
}

TEST_F(ImportedBytes, FunctionsThatSimpleperfNamesAreNamed) {
    for (const auto& [number, section] : {std::pair{128U, simpleperf_file()}, std::pair{131U, simpleperf_message()}}) {
        store_ = make_memory_store();
        const auto session = imported_bytes(with_features(perf_file({}, 3), {{number, section}}));
        ASSERT_TRUE(session.ok()) << session.error().message;
        EXPECT_EQ(session->warnings, std::vector<std::string>{});
        const auto top = run_text_query("top", {{"by", "symbol"}}, *store_, SymbolPaths{}, UtcNs{0});
        ASSERT_TRUE(top.ok()) << top.error().message;
        std::set<std::string> names;
        for (const std::vector<AnswerValue>& row : top->rows) {
            for (const AnswerValue& value : row) {
                if (const auto* const text = std::get_if<std::string>(&value)) {
                    names.insert(*text);
                }
            }
        }
        EXPECT_TRUE(names.contains("leaf_function")) << number;
        EXPECT_TRUE(names.contains("caller </script>")) << number;
    }
}

TEST_F(ImportedBytes, DamagedNamesOfSimpleperfAreReported) {
    for (const auto& [number, section] : {std::pair{128U, simpleperf_file()}, std::pair{131U, simpleperf_message()}}) {
        const std::string cut = section.substr(0, section.size() - 20);
        const auto session = imported_bytes(with_features(perf_file({}, 3), {{number, cut}}));
        ASSERT_TRUE(session.ok()) << session.error().message;
        ASSERT_EQ(session->warnings.size(), 1U);
        EXPECT_NE(session->warnings[0].find("feature " + std::to_string(number)), std::string::npos)
            << session->warnings[0];
    }
}

// perf report shows branches of the one recording, and call chains of the other (--call-graph lbr).
TEST_F(ImportedBytes, CallChainsOfBranchesAreNoBranches) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf isn't installed (apt install linux-perf)";
    }
    const FileShape shape;
    for (const bool is_call_stack : {false, true}) {
        store_ = make_memory_store();
        Bytes sample{false};
        sample.u64(77).u64(0x1010).u32(5).u32(5).u64(9'001).u32(1).u32(0).u64(9);
        sample.u64(2).u64(perf::context::kUser).u64(0x1010).u64(1).u64(0x1030).u64(0x1040).u64(0);
        std::string file =
            perf_file(shape, record(shape, RecordType::kSample, perf::misc::kUser, sample.bytes()), type::kBranchStack);
        constexpr std::size_t kBranchTypeAt = 104 + 8 + 72;
        file[kBranchTypeAt + 1] = static_cast<char>(is_call_stack ? 8 : 0);  // PERF_SAMPLE_BRANCH_CALL_STACK
        ASSERT_TRUE(imported_bytes(file).ok());
        exported();
        const std::string report = perf("report --stdio -i perf.data").output;
        EXPECT_EQ(count_of(report, "Source Symbol"), is_call_stack ? 0U : 1U) << report;
    }
}

TEST_F(ImportedBytes, ModulesThatBranchesAloneLeadToAreMapped) {
    const FileShape shape;
    const auto kernel_map = [&](std::uint64_t start, const std::string& name) {
        const Bytes map = Bytes{false}.u32(~0U).u32(0).u64(start).u64(0x10000).u64(0).text(name);
        return record(shape, RecordType::kMmap, perf::misc::kKernel, map.bytes() + trailer(shape, 0));
    };
    Bytes sample{false};
    sample.u64(77)
        .u64(0x1010)
        .u32(5)
        .u32(5)
        .u64(9'001)
        .u32(1)
        .u32(0)
        .u64(9)
        .u64(2)
        .u64(perf::context::kUser)
        .u64(0x1010);
    sample.u64(1).u64(0xffff'ffff'c000'1000).u64(0x1010).u64(0);
    const auto session =
        imported_bytes(perf_file(shape,
                                 kernel_map(0xffff'ffff'8000'0000, "[kernel.kallsyms]_text") +
                                     kernel_map(0xffff'ffff'c000'0000, "/lib/modules/there.ko") +
                                     record(shape, RecordType::kSample, perf::misc::kUser, sample.bytes()),
                                 type::kBranchStack));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(exported().sample_count, 1U);
    if (perf_is_here()) {
        const std::string script = perf("script --show-mmap-events -i perf.data").output;
        EXPECT_EQ(count_of(script, "0xffffffffc0000000(0x10000)"), 1U) << script;
    }
}

// Counters of a PMU that counts in parts of a unit, on two CPUs.
TEST_F(ImportedBytes, CountersHaveTheirUnitOnEachCpu) {
    const FileShape shape;
    const auto of_type = [&](std::uint32_t number, const Bytes& body) {
        return record(shape, static_cast<RecordType>(number), 0, body.bytes());
    };
    const auto bytes = [] { return Bytes{false}; };
    const std::string unit = of_type(perf::kEventUpdateRecord, bytes().u64(0).u64(77).text("Joules"));
    const std::string scale = of_type(perf::kEventUpdateRecord, bytes().u64(1).u64(77).put(0.0625));
    const std::string threads = of_type(perf::kThreadMapRecord, bytes().u64(1).u64(~0ULL).raw(std::string(16, '\0')));
    const std::string cpus = of_type(perf::kCpuMapRecord, bytes().u16(0).u16(2).u16(0).u16(1));
    const auto count = [&](std::uint32_t cpu, std::uint64_t value) {
        return of_type(perf::kStatRecord, bytes().u64(77).u32(cpu).u32(0).u64(value).u64(500).u64(500));
    };
    const std::string end = of_type(perf::kStatRoundRecord, bytes().u64(1).u64(1'000));
    const auto session =
        imported_bytes(perf_file(shape, unit + scale + threads + cpus + count(0, 160) + count(1, 24) + end));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    const auto counters = run_text_query("counters", {}, *store_, SymbolPaths{}, UtcNs{0});
    ASSERT_TRUE(counters.ok()) << counters.error().message;
    ASSERT_EQ(counters->rows.size(), 1U);
    const auto has = [&](const AnswerValue& value) {
        const auto& row = counters->rows[0];
        return std::find(row.begin(), row.end(), value) != row.end();
    };
    EXPECT_TRUE(has(AnswerValue{std::uint64_t{184}}));
    EXPECT_TRUE(has(AnswerValue{std::string{"0.0625 Joules"}}));
    exported();
    if (perf_is_here()) {
        const std::string sum = perf("stat report -i perf.data").errors;
        EXPECT_EQ(count_of(sum, "11.50 Joules"), 1U) << sum;
        const std::string each = perf("stat report -A -i perf.data").errors;
        EXPECT_EQ(count_of(each, "10.00 Joules"), 1U) << each;
        EXPECT_EQ(count_of(each, "1.50 Joules"), 1U) << each;
    }
}

class OtherOrder : public ImportedBytes, public testing::WithParamInterface<bool> {};

TEST_P(OtherOrder, FieldsWithoutColumnComeOutAsTheyWere) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf isn't installed (apt install linux-perf)";
    }
    const FileShape shape{GetParam(), false, 112};
    constexpr std::uint64_t kMore = type::kAddr | type::kBranchStack | type::kRegsUser | type::kWeight |
                                    type::kDataSrc | type::kTransaction | type::kPhysAddr;
    Bytes sample{shape.is_foreign};
    sample.u64(77).u64(0x1010).u32(5).u32(5).u64(9'001).u64(0xabcd).u32(1).u32(0).u64(9);
    sample.u64(2).u64(perf::context::kUser).u64(0x1010);
    sample.u64(2).u64(0x1030).u64(0x1040).u64(0).u64(0x1050).u64(0x1060).u64(0);
    sample.u64(2).u64(0x7f01).u64(0x1010);  // registers of 64 bits: sp, ip
    sample.u64(314).u64(0x68100142).u64(0x20001).u64(0x5678);
    Bytes without{shape.is_foreign};
    without.u64(77).u64(0x1010).u32(5).u32(5).u64(9'002).u64(0).u32(1).u32(0).u64(9);
    without.u64(2).u64(perf::context::kUser).u64(0x1010).u64(0).u64(0).u64(0).u64(0).u64(0).u64(0);
    const std::string body = record(shape, RecordType::kSample, perf::misc::kUser, sample.bytes()) +
                             record(shape, RecordType::kSample, perf::misc::kUser, without.bytes());
    const auto session = imported_bytes(perf_file(shape, body, kMore));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    EXPECT_EQ(exported().sample_count, 2U);
    const auto field = [this](const char* name) { return perf(std::string{"script -i perf.data -F "} + name).output; };
    EXPECT_EQ(count_of(field("addr"), "abcd"), 1U) << field("addr");
    EXPECT_EQ(count_of(field("brstack"), "0x1030/0x1040"), 1U) << field("brstack");
    EXPECT_EQ(count_of(field("brstack"), "0x1050/0x1060"), 1U) << field("brstack");
    EXPECT_EQ(count_of(field("uregs"), ":0x7f01"), 1U) << field("uregs");
    EXPECT_EQ(count_of(field("weight"), "314"), 1U) << field("weight");
    EXPECT_EQ(count_of(field("data_src"), "68100142"), 1U) << field("data_src");
    EXPECT_EQ(count_of(field("phys_addr"), "5678"), 1U) << field("phys_addr");
    const std::string attrs = perf("evlist -v -i perf.data").output;
    EXPECT_NE(attrs.find("ADDR|CALLCHAIN|CPU|PERIOD|BRANCH_STACK|REGS_USER"), std::string::npos) << attrs;
}

INSTANTIATE_TEST_SUITE_P(Of, OtherOrder, testing::Bool());

// The lines of `tree`, without percents: depth, symbol, image, total, self.
std::string tree_of(const StoreReader& store) {
    const auto tree =
        run_text_query("tree", {{"addresses", "true"}, {"measure", "samples"}}, store, SymbolPaths{}, UtcNs{0});
    std::string text = tree.ok() ? "" : tree.error().message;
    for (const std::vector<AnswerValue>& row : tree.ok() ? tree->rows : std::vector<std::vector<AnswerValue>>{}) {
        for (const AnswerValue& value : row) {
            if (const auto* const name = std::get_if<std::string>(&value)) {
                text += *name + " ";
            } else if (const auto* const count = std::get_if<std::uint64_t>(&value)) {
                text += std::to_string(*count) + " ";
            }
        }
        text += "\n";
    }
    return text;
}

// Several samples share a chain that the kernel recorded later; one never gets its own.
TEST_F(ImportedBytes, CallChainsThatComeLaterAreJoinedToTheirSamples) {
    const FileShape shape;
    constexpr std::uint64_t kKernelAddress = 0xffff'ffff'8100'0000;
    const auto sample = [&](std::uint64_t time, std::uint64_t cookie) {
        Bytes bytes{false};
        bytes.u64(77).u64(kKernelAddress).u32(5).u32(5).u64(time).u32(1).u32(0).u64(9);
        bytes.u64(4).u64(perf::context::kKernel).u64(kKernelAddress).u64(perf::context::kUserDeferred).u64(cookie);
        return record(shape, RecordType::kSample, perf::misc::kKernel, bytes.bytes());
    };
    const auto chain = [&](std::uint64_t time, std::uint64_t cookie) {
        Bytes bytes{false};
        bytes.u64(cookie).u64(3).u64(perf::context::kUser).u64(0x1010).u64(0x1020).raw(trailer(shape, time));
        return record(shape, RecordType::kCallchainDeferred, perf::misc::kUser, bytes.bytes());
    };
    const auto session = imported_bytes(perf_file(shape, records(shape, 0) + sample(2'000, 7) + sample(2'001, 7) +
                                                             sample(2'002, 8) + chain(2'003, 7) + chain(2'004, 6)));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->sample_count, 3U);
    ASSERT_EQ(session->warnings.size(), 1U);
    EXPECT_EQ(session->warnings[0].find("1 sample has no call chain of the program"), 0U) << session->warnings[0];
    const std::string tree = tree_of(*store_);
    EXPECT_NE(tree.find("1 x+0x20 x 2 0 2 0 \n2 x+0x10 x 2 0 2 0 \n"), std::string::npos) << tree;
    EXPECT_NE(tree.find("[truncated: deferred chain is missing]"), std::string::npos) << tree;
}

// BPF programs are named as long as they are there.
TEST_F(ImportedBytes, KernelCodeThatWasMadeAtRunTimeHasItsName) {
    const FileShape shape;
    constexpr std::uint64_t kStart = 0xffff'ffff'c000'0000;
    const auto symbol = [&](std::uint64_t time, std::uint64_t start, std::uint16_t flags, const std::string& name) {
        Bytes bytes{false};
        bytes.u64(start).u32(0x100).u16(1).u16(flags).text(name).raw(trailer(shape, time));
        return record(shape, RecordType::kKsymbol, 0, bytes.bytes());
    };
    const auto sample = [&](std::uint64_t time, std::uint64_t address) {
        Bytes bytes{false};
        bytes.u64(77).u64(address).u32(5).u32(5).u64(time).u32(1).u32(0).u64(9);
        bytes.u64(2).u64(perf::context::kKernel).u64(address);
        return record(shape, RecordType::kSample, perf::misc::kKernel, bytes.bytes());
    };
    const auto session = imported_bytes(
        perf_file(shape, records(shape, 0) + symbol(1'500, kStart, 0, "bpf_prog_first") +
                             symbol(1'501, kStart + 0x100, 0, "bpf_prog_second") + sample(2'000, kStart + 0x10) +
                             sample(2'001, kStart + 0x100) + sample(2'002, kStart + 0x200) +
                             symbol(2'003, kStart, 1, "bpf_prog_first") + sample(2'004, kStart + 0x10) +
                             symbol(2'005, kStart, 0, "bpf_prog_third") + sample(2'006, kStart + 0xff)));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    const std::string tree = tree_of(*store_);
    for (const char* const name : {"bpf_prog_first bpf_prog_first 1 1", "bpf_prog_second bpf_prog_second 1 1",
                                   "bpf_prog_third bpf_prog_third 1 1"}) {
        EXPECT_NE(tree.find(name), std::string::npos) << tree;
    }
    if (perf_is_here()) {
        exported();
        const std::string script = perf("script -F time,ip,sym -i perf.data").output;
        EXPECT_EQ(script, perf("script -F time,ip,sym -i in.data").output);
        EXPECT_EQ(count_of(script, "bpf_prog_second"), 1U) << script;
    }
}

// By the ids of samples.
TEST_F(ImportedBytes, ProcessesAreInTheCgroupsOfTheirSamples) {
    const FileShape shape;
    const auto cgroup = [&](std::uint64_t id, const std::string& name) {
        const Bytes body = Bytes{false}.u64(id).text(name).raw(trailer(shape, 1'500));
        return record(shape, RecordType::kCgroup, 0, body.bytes());
    };
    std::string body = records(shape, 0) + cgroup(77, "/a.slice") + cgroup(78, "/b.slice");
    for (const std::uint64_t id : {77U, 77U, 78U}) {
        Bytes sample{false};
        sample.u64(77).u64(0x1010).u32(5).u32(5).u64(2'000 + body.size()).u32(1).u32(0).u64(1);
        sample.u64(2).u64(perf::context::kUser).u64(0x1010).u64(id);
        body += record(shape, RecordType::kSample, perf::misc::kUser, sample.bytes());
    }
    const auto session = imported_bytes(perf_file(shape, body, type::kCgroup));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    const auto top = run_text_query("top", {{"by", "cgroup"}}, *store_, SymbolPaths{}, UtcNs{0});
    ASSERT_TRUE(top.ok()) << top.error().message;
    std::map<std::string, std::uint64_t> counts;
    for (const std::vector<AnswerValue>& row : top->rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            const auto* const name = std::get_if<std::string>(&row[i]);
            const auto* const count = std::get_if<std::uint64_t>(&row[i + 1]);
            if (name != nullptr && count != nullptr) {
                counts[*name] = *count;
            }
        }
    }
    EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"/a.slice", 2}, {"/b.slice", 1}}));
}

// As after a kill: the header's sizes are 0, and the last record isn't whole.
TEST_F(ImportedBytes, ARecordingThatWasNeverFinishedComesInUpToItsLastWholeRecord) {
    std::string bytes = perf_file({}, 100);
    bytes.replace(48, 8, 8, '\0');
    bytes[72] = '\x0c';  // features that were to follow
    bytes.resize(bytes.size() - 20);
    const auto session = imported_bytes(bytes);
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->sample_count, 100U);
    ASSERT_EQ(session->warnings.size(), 1U);
    EXPECT_EQ(session->warnings[0].find("the recording was never finished"), 0U) << session->warnings[0];
}

TEST_F(ImportedBytes, EventsOfOneNameStayApart) {
    const FileShape shape{false, true, 112};
    const std::string second = record(shape, RecordType::kHeaderAttr, 0, attr(shape) + Bytes{false}.u64(78).bytes());
    std::string other = records(shape, 2);
    for (std::size_t at = other.find(Bytes{false}.u64(77).bytes()); at != std::string::npos;
         at = other.find(Bytes{false}.u64(77).bytes())) {
        other[at] = 78;
    }
    const auto session = imported_bytes(perf_file(shape, second + records(shape, 3) + other));
    ASSERT_TRUE(session.ok()) << session.error().message;
    ASSERT_EQ(session->warnings.size(), 1U);
    EXPECT_EQ(session->warnings[0], "several events are named cpu-clock:HG: one of them is cpu-clock:HG#2 here");
    for (const auto& [event, count] : {std::pair{"cpu-clock:HG", 3U}, {"cpu-clock:HG#2", 2U}}) {
        const auto top = run_text_query("top", {{"by", "image"}, {"event", event}}, *store_, SymbolPaths{}, UtcNs{0});
        ASSERT_TRUE(top.ok()) << top.error().message;
        EXPECT_EQ(std::get<std::uint64_t>(top->rows[0][5]), count) << event;
    }
}

TEST_F(ImportedBytes, OtherFilesAreRefusedByName) {
    const auto text = imported_bytes("PERFILE3 or something else");
    ASSERT_FALSE(text.ok());
    EXPECT_NE(text.error().message.find("not a perf.data file"), std::string::npos) << text.error().message;
    const auto header = imported_bytes(perf_file({}, 1).substr(0, 50));
    ASSERT_FALSE(header.ok());
    EXPECT_NE(header.error().message.find("offset 50"), std::string::npos) << header.error().message;
    const auto no_events = imported_bytes(Bytes{false}.u64(0x32454c4946524550).u64(16).bytes());
    ASSERT_FALSE(no_events.ok());
    EXPECT_NE(no_events.error().message.find("no events"), std::string::npos) << no_events.error().message;
}

}  // namespace
}  // namespace perfleet
