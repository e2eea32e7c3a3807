// Files that no perf of today writes: old and new sizes of attrs, the other byte order, damage. Made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/perf/perf_event.h"
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
    EXPECT_EQ(session->warnings[0], "not kept: 2 records of type 54, 1 records of type 55");
}

// Their form is perf's affair: bytes in, bytes out.
TEST_F(ImportedBytes, DataOfProcessorsTracesIsKept) {
    const FileShape shape;
    std::string data;
    for (std::uint32_t i = 0; i < 50'000; ++i) {
        data.append(reinterpret_cast<const char*>(&i), sizeof(i));
    }
    const std::string info =
        record(shape, static_cast<RecordType>(70), 0, Bytes{false}.u32(1).u32(0).u64(7).u64(8).bytes());
    const auto trace = [&](std::uint64_t offset, const std::string& bytes) {
        return record(shape, static_cast<RecordType>(71), 0,
                      Bytes{false}.u64(bytes.size()).u64(offset).u64(3).u32(0).u32(5).u32(1).u32(0).bytes()) +
               bytes;
    };
    const std::string clock =
        record(shape, static_cast<RecordType>(79), 0, Bytes{false}.u64(10).u64(1024).u64(0).bytes());
    const auto session = imported_bytes(perf_file(
        shape, info + clock + trace(0, data) + records(shape, 3) + trace(data.size(), "shorter!") + trace(9, "")));
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    exported({}, "out.data");
    const std::string out = content_of(path("out.data"));
    for (const std::string& part : {info, clock, trace(0, data), trace(data.size(), "shorter!"), trace(9, "")}) {
        EXPECT_EQ(count_of(out, part), 1U) << part.size();
    }
    EXPECT_LT(out.find(info), out.find(data));
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
}

// Samples of threads that have just ended have their process, but no thread.
TEST_F(ImportedBytes, ThreadZeroStaysSwapper) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf isn't installed (apt install linux-perf)";
    }
    const FileShape shape;
    std::string bytes = perf_file(shape, 3);
    constexpr std::size_t kSampleSizeBytes = 8 + 48 + 8 + 24;
    const std::size_t second = bytes.size() - (8 + 16 + 32) - 2 * kSampleSizeBytes;
    bytes[second + 8 + 8 + 8 + 4] = 0;  // its tid
    ASSERT_TRUE(imported_bytes(bytes).ok());
    exported();
    const std::string script = perf("script -F comm,tid -i perf.data").output;
    EXPECT_EQ(count_of(script, "swapper     0"), 1U) << script;
    EXPECT_EQ(count_of(script, "it     5"), 2U) << script;
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
