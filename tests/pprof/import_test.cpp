#include "target-collector/intake/pprof/pprof_import.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <sstream>

#include "exporters/format/export_format.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/diff/diff.h"
#include "query-engine/statistic/number/share_comparison.h"
#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "schemas/pprof/pprof_message.h"
#include "schemas/pprof/pprof_profile.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "storage/store/memory_store.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

namespace perfleet::pprof_import_test {
namespace {

using protozero::pbf_builder;
using Counts =
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;  // self, children by "command image symbol"

class BytesSink : public ExportSink {
public:
    Result<Done> write_at(std::uint64_t /*offset*/, std::span<const std::byte> bytes) override {
        text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    std::string text;
};

// A profile written field by field; strings are numbered in order of appearance.
class Profile {
public:
    Profile() { number_of(""); }
    std::int64_t number_of(const std::string& text) {
        const auto [known, is_new] = strings_.try_emplace(text, static_cast<std::int64_t>(strings_.size()));
        if (is_new) {
            message.add_string(pprof::Profile::kStringTable, text);
        }
        return known->second;
    }
    void type(const std::string& type, const std::string& unit, pprof::Profile field = pprof::Profile::kSampleType) {
        const std::int64_t numbers[]{number_of(type), number_of(unit)};
        pbf_builder<pprof::ValueType> made{message, field};
        made.add_int64(pprof::ValueType::kType, numbers[0]);
        made.add_int64(pprof::ValueType::kUnit, numbers[1]);
    }
    void mapping(std::uint64_t id, const std::string& file, std::uint64_t start, const std::string& build_id = "",
                 std::uint64_t limit = 0, std::uint64_t file_offset = 0) {
        const std::int64_t numbers[]{number_of(file), number_of(build_id)};
        pbf_builder<pprof::Mapping> made{message, pprof::Profile::kMapping};
        made.add_uint64(pprof::Mapping::kId, id);
        made.add_uint64(pprof::Mapping::kMemoryStart, start);
        made.add_uint64(pprof::Mapping::kMemoryLimit, limit);
        made.add_uint64(pprof::Mapping::kFileOffset, file_offset);
        made.add_int64(pprof::Mapping::kFilename, numbers[0]);
        made.add_int64(pprof::Mapping::kBuildId, numbers[1]);
        made.add_bool(pprof::Mapping::kHasFilenames, id % 2 == 0);
        made.add_bool(pprof::Mapping::kHasInlineFrames, true);
    }
    void function(std::uint64_t id, const std::string& name, const std::string& file = "",
                  const std::string& system_name = "") {
        const std::int64_t number = number_of(name);
        const std::int64_t file_number = number_of(file);
        const std::int64_t system_number = number_of(system_name);
        pbf_builder<pprof::Function> made{message, pprof::Profile::kFunction};
        made.add_uint64(pprof::Function::kId, id);
        made.add_int64(pprof::Function::kName, number);
        made.add_int64(pprof::Function::kSystemName, system_number);
        made.add_int64(pprof::Function::kFilename, file_number);
        made.add_int64(pprof::Function::kStartLine, static_cast<std::int64_t>(id * 10));
    }
    // A function in line `first_line`, the next one in the next line, and so on.
    void location(std::uint64_t id, std::uint64_t mapping, std::uint64_t address,
                  const std::vector<std::uint64_t>& functions, std::int64_t first_line = 0, bool is_folded = false) {
        pbf_builder<pprof::Location> made{message, pprof::Profile::kLocation};
        made.add_uint64(pprof::Location::kId, id);
        made.add_uint64(pprof::Location::kMappingId, mapping);
        made.add_uint64(pprof::Location::kAddress, address);
        made.add_bool(pprof::Location::kIsFolded, is_folded);
        for (const std::uint64_t function : functions) {
            pbf_builder<pprof::Line> line{made, pprof::Location::kLine};
            line.add_uint64(pprof::Line::kFunctionId, function);
            line.add_int64(pprof::Line::kLine, first_line == 0 ? 0 : first_line++);
            line.add_int64(pprof::Line::kColumn, first_line % 7);
        }
    }
    // `is_packed`: both forms are allowed.
    void sample(const std::vector<std::uint64_t>& locations, const std::vector<std::int64_t>& values, bool is_packed,
                const std::string& thread = "", std::int64_t request = 7) {
        const std::int64_t numbers[]{number_of("thread"), number_of(thread), number_of("request"), number_of("id")};
        pbf_builder<pprof::Sample> made{message, pprof::Profile::kSample};
        if (is_packed) {
            made.add_packed_uint64(pprof::Sample::kLocationId, locations.begin(), locations.end());
            made.add_packed_int64(pprof::Sample::kValue, values.begin(), values.end());
        } else {
            for (const std::uint64_t location : locations) {
                made.add_uint64(pprof::Sample::kLocationId, location);
            }
            for (const std::int64_t value : values) {
                made.add_int64(pprof::Sample::kValue, value);
            }
        }
        if (!thread.empty()) {
            {
                pbf_builder<pprof::Label> label{made, pprof::Sample::kLabel};
                label.add_int64(pprof::Label::kKey, numbers[0]);
                label.add_int64(pprof::Label::kStr, numbers[1]);
            }
            pbf_builder<pprof::Label> label{made, pprof::Sample::kLabel};
            label.add_int64(pprof::Label::kKey, numbers[2]);
            label.add_int64(pprof::Label::kNum, request);
            label.add_int64(pprof::Label::kNumUnit, numbers[3]);
        }
    }

    std::string bytes;
    pbf_builder<pprof::Profile> message{bytes};

private:
    std::map<std::string, std::int64_t> strings_;
};

Result<FileBytes> file_of(const std::string& bytes) {
    const int fd = ::memfd_create("profile", MFD_CLOEXEC);
    EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    auto file = FileBytes::open("/proc/self/fd/" + std::to_string(fd));
    ::close(fd);
    return file;
}

class PprofImport : public ::testing::Test {
protected:
    Result<ImportedRecording> imported(const std::string& bytes) {
        const auto file = PERFLEET_TRY(file_of(bytes));
        RecordingImport options;
        options.target_name = "there";
        options.now = UtcNs{4'000'000'000'000'000'000};
        StoreDestination destination{*store_};
        return import_pprof(file, options, destination);
    }

    static Answer top_of(const Store& store, const std::string& event) {
        Selection selection;
        selection.event = event;
        return top_of(store, selection);
    }
    static Answer top_of(const Store& store, const Selection& selection) {
        const Result<Scan> scan = Scan::open(store, selection);
        EXPECT_TRUE(scan.ok());
        Symbolizer symbolizer{&store, {}};
        Result<Answer> answer = make_top(*scan, symbolizer, TopOptions{});
        EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
        return std::move(*answer);
    }

    static std::size_t warning_with(const Answer& answer, const std::string& text) {
        return static_cast<std::size_t>(std::ranges::count_if(
            answer.warnings, [&](const std::string& warning) { return warning.find(text) != std::string::npos; }));
    }

    static Counts counts_of(const Store& store, const std::string& event, bool is_amount = true) {
        const Answer answer = top_of(store, event);
        const auto column = [&](const char* name) {
            return static_cast<std::size_t>(std::find_if(answer.columns.begin(), answer.columns.end(),
                                                         [&](const AnswerColumn& one) { return one.name == name; }) -
                                            answer.columns.begin());
        };
        Counts counts;
        for (const auto& row : answer.rows) {
            const auto text = [&](const char* name) { return printable(std::get<std::string>(row[column(name)])); };
            counts[text("command") + " " + text("image") + " " + text("symbol")] = {
                std::get<std::uint64_t>(row[column(is_amount ? "self" : "self_samples")]),
                std::get<std::uint64_t>(row[column(is_amount ? "children" : "children_samples")])};
        }
        return counts;
    }

    // The whole store as a profile of pprof.
    [[nodiscard]] std::string exported(const Selection& selection = {}) const {
        const Result<Scan> scan = Scan::open(*store_, selection);
        EXPECT_TRUE(scan.ok());
        const SymbolPaths paths;
        const OptionValues options;
        BytesSink sink;
        const auto written = find_export_format("pprof")->write({*scan, paths, options, UtcNs{0}}, sink);
        EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
        return sink.text;
    }

    static Result<PprofProfile> read(const std::string& text) {
        const auto file = PERFLEET_TRY(file_of(text));
        return PprofProfile::read(file.piece(0, file.size_bytes()));
    }

    static std::vector<std::pair<std::string, std::string>> types_of(const PprofProfile& profile) {
        std::vector<std::pair<std::string, std::string>> types;
        for (const PprofProfile::ValueType& type : profile.value_types) {
            types.emplace_back(type.type, type.unit);
        }
        return types;
    }

    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(PprofImport, OfAnExportHasItsCounts) {
    const auto original = make_memory_store();
    deliver(make_scenario(8), {}, *original);
    const Result<Scan> scan = Scan::open(*original, {});
    ASSERT_TRUE(scan.ok());
    const SymbolPaths paths;
    const OptionValues options;
    BytesSink sink;
    ASSERT_TRUE(find_export_format("pprof")->write({*scan, paths, options, UtcNs{0}}, sink).ok());
    const auto done = imported(sink.text);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_TRUE(done->has_end);
    std::set<std::string> events;
    for (const ScannedSession& session : scan->sessions()) {
        for (const EventRecord& event : session.record.events) {
            if ((event.kind == Kind::kSample || event.kind == Kind::kTracepoint) &&
                !counts_of(*original, event.name, false).empty()) {
                events.insert(event.name);
            }
        }
    }
    ASSERT_GE(events.size(), 2U);
    for (const std::string& event : events) {
        EXPECT_EQ(counts_of(*store_, event + ":samples"), counts_of(*original, event, false)) << event;
    }
    const auto again = imported(sink.text);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->batches_stored, 0U);
}

TEST_F(PprofImport, KeepsInlinedFunctionsAndPlacesWithoutFunctions) {
    Profile profile;
    profile.type("samples", "count");
    profile.type("cpu", "nanoseconds");
    profile.mapping(7, "/opt/server", 0x40'0000, "0123456789abcdef0123456789abcdef01234567");
    profile.function(1, "operator new(unsigned long)");
    profile.function(2, "handle");
    profile.location(1, 7, 0x40'1000, {1, 2});
    profile.location(2, 7, 0x40'2345, {});
    profile.location(3, 0, 0, {2});
    profile.sample({1, 2}, {3, 31}, true, "worker");
    profile.sample({3}, {1, 10}, false);
    const auto done = imported(profile.bytes);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->sample_count, 4U) << "a row a sample and type";
    EXPECT_EQ(done->warnings, std::vector<std::string>{});
    const Counts counts = counts_of(*store_, "cpu");
    const Counts expected{{"worker server operator new(unsigned long)", {31, 31}},
                          {"worker server handle", {0, 31}},
                          {"worker server [server]", {0, 31}},
                          {"server [unknown] handle", {10, 10}}};
    EXPECT_EQ(counts, expected);
}

// All of a profile's samples, without the numbers that refer to them.
std::multiset<std::string> described(const PprofProfile& profile) {
    std::multiset<std::string> samples;
    for (const PprofProfile::Sample& sample : profile.samples) {
        std::ostringstream text;
        for (const std::uint32_t number : sample.locations) {
            const PprofProfile::Location& location = profile.locations[number];
            const PprofProfile::Mapping& mapping = profile.mappings[location.mapping];
            text << mapping.file_name << ' ' << mapping.build_id << std::hex << ' ' << mapping.start << '-'
                 << mapping.limit << '+' << mapping.file_offset << " flags " << mapping.flags << " at "
                 << location.address << (location.is_folded ? " folded" : "") << std::dec << ':';
            for (const PprofProfile::Line& line : location.lines) {
                if (line.function == PprofProfile::kNoFunction) {
                    text << " no function in line " << line.line;
                    continue;
                }
                const PprofProfile::Function& function = profile.functions[line.function];
                text << ' ' << function.name << '(' << function.file_name << ':' << line.line << ':' << line.column
                     << " from " << function.first_line << ')';
            }
            text << '\n';
        }
        for (std::size_t i = 0; i < sample.values.size(); ++i) {
            text << profile.value_types[i].type << '=' << sample.values[i] << ' ';
        }
        for (const SampleLabel& label : sample.labels) {
            text << '\n' << label.key << '=' << label.text << label.number << label.unit;
        }
        samples.insert(text.str());
    }
    return samples;
}

TEST_F(PprofImport, IsExportedAsItCameIn) {
    Profile profile;
    profile.type("samples", "count");
    profile.type("cpu", "nanoseconds");
    profile.type("wall", "nanoseconds");
    profile.type("cpu", "nanoseconds");
    profile.mapping(7, "/opt/server", 0x40'0000, "0123456789abcdef0123456789abcdef01234567", 0x48'0000, 0x1000);
    profile.mapping(8, "/lib/libother.so", 0x7f00'0000, "not in hexadecimal", 0x7f80'0000);
    profile.mapping(9, "/opt/server", 0x60'0000, "0123456789abcdef0123456789abcdef01234567", 0x68'0000, 0x1000);
    profile.mapping(10, "", 0x9000'0000, "", 0x9000'1000);
    profile.function(1, "operator new(unsigned long)", "/src/new.cpp", "_Znwm");
    profile.function(2, "handle", "/src/server.cpp", "handle");
    profile.function(3, "handle", "/src/other.cpp");
    profile.function(4, "handle", "/src/other.cpp");  // begins in another line
    profile.function(5, "", "/src/new.cpp", "_ZdlPv");
    profile.function(6, "_Z3runv", "", "_Z3runv");
    profile.location(1, 7, 0x40'1000, {1, 2}, 12);
    profile.location(2, 7, 0x40'2345, {2}, 40);
    profile.location(3, 7, 0x40'2345, {2}, 41);
    profile.location(4, 8, 0x7f00'0123, {1, 1, 3}, 7);
    profile.location(5, 8, 0x7f00'0456, {3});
    profile.location(6, 8, 0x7f00'0456, {4}, 33);
    profile.location(7, 8, 0x7f00'0457, {5, 6, 0}, 33);
    profile.location(8, 7, 0x40'3000, {});
    profile.location(9, 9, 0x60'3000, {});  // the same byte of the file, mapped elsewhere
    profile.location(10, 7, 0x12, {});      // outside its mapping
    profile.location(11, 0, 0x12, {});
    profile.location(12, 10, 0x9000'0012, {});
    profile.location(13, 0, 0, {2}, 5);
    profile.location(14, 7, 0x40'3000, {}, 0, true);
    profile.sample({6}, {2, 21, 0, 0}, true, "worker");
    profile.sample({1, 2}, {3, 31, 0, 7}, true, "worker");
    profile.sample({1, 2}, {4, 41, 0, 0}, true, "worker", 8);
    profile.sample({1, 2}, {4, 41, 0, 0}, true, "worker", 8);  // once more
    profile.sample({1, 3}, {-5, -51, 0, 5}, false, "worker", 8);
    profile.sample({5, 4, 2, 2, 4, 4}, {1, 10, 0, 0}, false, "main", 1);
    profile.sample({7, 8, 9, 10, 11, 12, 13, 14, 9}, {0, std::numeric_limits<std::int64_t>::min(), 0, 0}, true);
    profile.sample({13, 12, 11}, {0, 0, 0, 0}, true);
    profile.sample({2}, {std::numeric_limits<std::int64_t>::max(), 0, 0, 0}, true, "main", -1);
    profile.sample({}, {0, 0, 0, 1}, true);
    for (std::uint64_t i = 0; i < 2'000; ++i) {  // more lines of one function than a page has bytes
        profile.location(100 + i, 7, 0x41'0000 + i, {2}, static_cast<std::int64_t>(100 + i));
        profile.sample({100 + i}, {1, 1, 0, 0}, true, "main", static_cast<std::int64_t>(i));
    }
    const std::vector<std::string> comments{"made by hand, </script> and all", "second comment",
                                            "of three lines\n\nc and C: the last", "ends with a line\n"};
    for (const std::string& comment : comments) {
        profile.message.add_int64(pprof::Profile::kComment, profile.number_of(comment));
    }
    profile.type("cycles", "count", pprof::Profile::kPeriodType);
    profile.message.add_int64(pprof::Profile::kPeriod, 100'003);
    profile.message.add_int64(pprof::Profile::kTimeNanos, 1'700'000'000'123'456'789);
    profile.message.add_int64(pprof::Profile::kDurationNanos, 10'000'000'001);
    profile.message.add_int64(pprof::Profile::kDefaultSampleType, profile.number_of("wall"));
    profile.message.add_int64(pprof::Profile::kDocUrl, profile.number_of("https://example.com/doc"));
    profile.message.add_int64(pprof::Profile::kDropFrames, profile.number_of("^std::.*"));
    profile.message.add_int64(pprof::Profile::kKeepFrames, profile.number_of("^main$"));
    const auto done = imported(profile.bytes);
    ASSERT_TRUE(done.ok()) << done.error().message;
    const auto before = read(profile.bytes);
    const auto after = read(exported());
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_EQ(types_of(*after), types_of(*before));
    EXPECT_EQ(described(*after), described(*before));
    ASSERT_EQ(after->comments.size(), comments.size() + 1);
    EXPECT_TRUE(std::equal(comments.begin(), comments.end(), after->comments.begin()));
    EXPECT_TRUE(after->comments.back().starts_with("perfleet; wall: 1 produced"));
    EXPECT_EQ(after->drop_frames, "^std::.*");
    EXPECT_EQ(after->keep_frames, "^main$");
    EXPECT_EQ(after->period_type.type, "cycles");
    EXPECT_EQ(after->period_type.unit, "count");
    EXPECT_EQ(after->period, 100'003);
    EXPECT_EQ(after->time_ns, 1'700'000'000'123'456'789);
    EXPECT_EQ(after->duration_ns, 10'000'000'001);
    EXPECT_EQ(after->default_sample_type, "wall");
    EXPECT_EQ(after->doc_url, "https://example.com/doc");
    EXPECT_EQ(after->mappings.size(), before->mappings.size());
    std::map<std::string_view, std::string_view> system_names;
    for (const PprofProfile::Function& function : after->functions) {
        system_names[function.name] = function.system_name;
    }
    const std::map<std::string_view, std::string_view> linker_symbols{
        {"operator new(unsigned long)", "_Znwm"}, {"handle", ""}, {"", "_ZdlPv"}, {"_Z3runv", "_Z3runv"}};
    EXPECT_EQ(system_names, linker_symbols);
    // Nothing changes when that is imported again, but for the comment.
    const std::string again = exported();
    store_ = make_memory_store();
    ASSERT_TRUE(imported(again).ok());
    const auto twice = read(exported());
    ASSERT_TRUE(twice.ok());
    EXPECT_EQ(described(*twice), described(*before));
}

TEST_F(PprofImport, TheDefaultTypeIsTheFirstEventAndIsElseTheLastType) {
    for (const auto& [named, events] :
         std::vector<std::pair<std::string, std::vector<std::string>>>{{"", {"space", "objects", "free"}},
                                                                       {"free", {"free", "objects", "space"}},
                                                                       {"not there", {"space", "objects", "free"}}}) {
        store_ = make_memory_store();
        Profile profile;
        profile.type("objects", "count");
        profile.type("free", "bytes");
        profile.type("space", "bytes");
        profile.message.add_int64(pprof::Profile::kDefaultSampleType, profile.number_of(named));
        profile.location(1, 0, 0, {});
        profile.sample({1}, {1, 2, 3}, true);
        ASSERT_TRUE(imported(profile.bytes).ok());
        const Result<Scan> scan = Scan::open(*store_, {});
        ASSERT_TRUE(scan.ok());
        std::vector<std::string> names;
        for (const EventRecord& event : scan->sessions().front().record.events) {
            names.push_back(event.name);
        }
        EXPECT_EQ(names, events) << named;
        EXPECT_EQ(choose_measure(*scan).value()->event, events.front());
    }
}

TEST_F(PprofImport, ProfilesOfSeveralSessionsAreExportedOneAfterTheOther) {
    Profile first;
    first.type("cpu", "nanoseconds");
    first.type("cpu", "nanoseconds");
    first.function(1, "f");
    first.location(1, 0, 0, {1}, 3);
    first.sample({1}, {50, 5}, true);
    Profile second;
    second.type("wall", "nanoseconds");
    second.type("cpu", "nanoseconds");
    second.function(1, "g");
    second.location(1, 0, 0, {1}, 4);
    second.sample({1}, {7, 3}, true);
    ASSERT_TRUE(imported(first.bytes).ok() && imported(second.bytes).ok());
    const auto both = read(exported());
    ASSERT_TRUE(both.ok());
    using Types = std::vector<std::pair<std::string, std::string>>;
    const std::string text = *described(*both).begin() + *described(*both).rbegin();
    if (types_of(*both) == Types{{"cpu", "nanoseconds"}, {"cpu", "nanoseconds"}, {"wall", "nanoseconds"}}) {
        EXPECT_NE(text.find("cpu=50 cpu=5 wall=0"), std::string::npos) << text;
        EXPECT_NE(text.find("cpu=3 cpu=0 wall=7"), std::string::npos) << text;
    } else {  // their ids decide which session comes first
        EXPECT_EQ(types_of(*both), (Types{{"wall", "nanoseconds"}, {"cpu", "nanoseconds"}, {"cpu", "nanoseconds"}}));
        EXPECT_NE(text.find("wall=0 cpu=50 cpu=5"), std::string::npos) << text;
        EXPECT_NE(text.find("wall=7 cpu=3 cpu=0"), std::string::npos) << text;
    }
    EXPECT_NE(text.find(" f("), std::string::npos);
    EXPECT_NE(text.find(" g("), std::string::npos);
}

// Values of any size are one row.
TEST_F(PprofImport, ARowIsTheValueOfASampleAndType) {
    Profile profile;
    profile.type("inuse_objects", "count");
    profile.type("inuse_space", "bytes");
    profile.function(1, "main.make");
    profile.location(1, 0, 0, {1});
    profile.sample({1}, {5, std::int64_t{1} << 62}, true);
    profile.sample({1}, {0, -1}, true);
    const auto done = imported(profile.bytes);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->row_count, 4U) << "a row of each value that isn't 0, and the thread";
    EXPECT_EQ(done->warnings, std::vector<std::string>{});
    const Result<Scan> scan = Scan::open(*store_, {});
    ASSERT_TRUE(scan.ok());
    ASSERT_TRUE(has_imported_values(scan->sessions().front().record));
    EXPECT_EQ(scan->sessions().front().record.events.front().unit, "bytes");
    std::vector<std::int64_t> values;
    RowCursor rows{*scan, 0, {Kind::kSample, EventNumber{0}}, {}};
    while (const RowBlock* const block = rows.next()) {
        for (const std::uint64_t weight : block->rows.integers(ColumnId::kWeight)) {
            values.push_back(static_cast<std::int64_t>(weight));
        }
    }
    EXPECT_EQ(values, (std::vector<std::int64_t>{std::int64_t{1} << 62, -1}));
}

TEST_F(PprofImport, TypesOfOneNameStayApart) {
    Profile profile;
    profile.type("cpu", "nanoseconds");
    profile.type("cpu", "nanoseconds");
    profile.location(1, 0, 0, {});
    profile.sample({1}, {50, 0}, true);
    profile.sample({1}, {7, 3}, true);
    const auto session = imported(profile.bytes);
    ASSERT_TRUE(session.ok()) << session.error().message;
    ASSERT_EQ(session->warnings.size(), 1U);
    EXPECT_EQ(session->warnings[0], "several types of values are named cpu: one of them is cpu#2 here");
    EXPECT_EQ(counts_of(*store_, "cpu").begin()->second.first, 57U);
    EXPECT_EQ(counts_of(*store_, "cpu#2").begin()->second.first, 3U);
    EXPECT_EQ(warning_with(top_of(*store_, "cpu"), "several events are named cpu: this is the first, others are cpu#2"),
              1U);
    EXPECT_EQ(warning_with(top_of(*store_, "cpu#2"), "several events"), 0U);
}

// Of a profile of a heap: one object of 8 MiB, and ten sampled objects of 100 bytes, which stand for 52,434.
void add_heap(Profile& profile, bool has_period) {
    profile.type("inuse_objects", "count");
    profile.type("inuse_space", "bytes");
    if (has_period) {
        profile.type("space", "bytes", pprof::Profile::kPeriodType);
        profile.message.add_int64(pprof::Profile::kPeriod, 524'288);
    }
    profile.function(1, "big");
    profile.function(2, "small");
    profile.location(1, 0, 0, {1});
    profile.location(2, 0, 0, {2});
    profile.sample({1}, {1, 8 << 20}, true);
    profile.sample({2}, {52'434, 5'243'400}, true);
    profile.sample({2}, {0, 0}, true);
}

TEST_F(PprofImport, ValuesOfHeapsCountTheirSamples) {
    Profile profile;
    add_heap(profile, true);
    ASSERT_TRUE(imported(profile.bytes).ok());
    const Counts samples{{"1 [unknown] big", {1, 1}}, {"1 [unknown] small", {10, 10}}};
    for (const char* const event : {"inuse_space", "inuse_objects"}) {
        Counts found;
        for (const auto& [name, counts] : counts_of(*store_, event, false)) {
            found["1 " + name.substr(name.find('['))] = counts;
        }
        EXPECT_EQ(found, samples) << event;
    }
    const Answer top = top_of(*store_, "inuse_space");
    ASSERT_TRUE(top.measure.has_value());
    EXPECT_EQ(top.measure->samples, 11U);
    EXPECT_EQ(top.measure->total, (8 << 20) + 5'243'400);
    EXPECT_EQ(warning_with(top, "11 samples are few (their weights differ: worth 3)"), 1U);
    Selection counted;
    counted.event = "inuse_space";
    counted.counts_rows = true;
    const Answer in_samples = top_of(*store_, counted);
    EXPECT_EQ(in_samples.measure->total, 11) << "the measure is samples";
    EXPECT_EQ(in_samples.measure->samples, 11U);
}

TEST_F(PprofImport, ValuesThatDontSayTheirNumberOfSamplesHaveNone) {
    Profile profile;
    add_heap(profile, false);
    ASSERT_TRUE(imported(profile.bytes).ok());
    Selection selection;
    selection.event = "inuse_space";
    const Answer top = top_of(*store_, selection);
    EXPECT_FALSE(top.measure->samples.has_value());
    EXPECT_EQ(warning_with(top, "few"), 0U);
    std::size_t nulls = 0;
    for (std::size_t i = 0; i < top.columns.size(); ++i) {
        for (const auto& row : top.rows) {
            nulls += std::holds_alternative<std::monostate>(row[i]) ? 1 : 0;
            EXPECT_EQ(top.columns[i].unit == "samples", std::holds_alternative<std::monostate>(row[i]));
        }
    }
    EXPECT_EQ(nulls, 4U) << "self_samples and children_samples of two functions";
    selection.counts_rows = true;
    const Answer counted = top_of(*store_, selection);
    EXPECT_EQ(counted.measure->total, 3);
    EXPECT_EQ(warning_with(counted, "each counts as one"), 1U);
}

// Their order says nothing, so they are as many independent samples as they say; without numbers nothing is known.
TEST_F(PprofImport, DifferencesHaveTheIntervalsOfTheSamples) {
    for (const bool has_samples : {true, false}) {
        store_ = make_memory_store();
        std::vector<std::string> sessions;
        for (const std::int64_t hits : {30, 60}) {
            Profile profile;
            profile.type(has_samples ? "samples" : "hits", "count");
            profile.type("wall", "nanoseconds");
            profile.function(1, "work");
            profile.function(2, "rest");
            profile.location(1, 0, 0, {1});
            profile.location(2, 0, 0, {2});
            profile.sample({1}, {hits, hits * 1'000}, true);
            profile.sample({2}, {100 - hits, (100 - hits) * 1'000}, true);
            const auto done = imported(profile.bytes);
            ASSERT_TRUE(done.ok()) << done.error().message;
            sessions.push_back(session_hex(done->session));
        }
        const auto scan_of = [&](const std::string& session) {
            Selection selection;
            selection.event = "wall";
            selection.session = session;
            return Scan::open(*store_, selection);
        };
        const auto before = scan_of(sessions[0]);
        const auto after = scan_of(sessions[1]);
        ASSERT_TRUE(before.ok() && after.ok());
        Symbolizer symbolizer{store_.get(), {}};
        DiffOptions options;
        options.within_run = true;
        const auto diff = make_diff(*before, *after, symbolizer, options);
        ASSERT_TRUE(diff.ok()) << diff.error().message;
        ASSERT_EQ(diff->rows.size(), 2U);
        const auto value = [&](const char* name) {
            for (std::size_t i = 0; i < diff->columns.size(); ++i) {
                if (diff->columns[i].name == name) {
                    return diff->rows.front()[i];
                }
            }
            return AnswerValue{std::string{"no such column"}};
        };
        if (!has_samples) {
            EXPECT_TRUE(std::holds_alternative<std::monostate>(value("difference_low")));
            EXPECT_TRUE(std::holds_alternative<std::monostate>(value("before_samples")));
            EXPECT_EQ(warning_with(*diff, "don't say how many samples they stand for"), 1U);
            continue;
        }
        const auto side = [](std::uint64_t hits) {
            return ClusteredShare{{hits * 1'000, 100'000}, 1, 99, 1'000, true};
        };
        EXPECT_NEAR(std::get<double>(value("p")), static_cast<double>(share_p_value(side(30), side(60))), 1e-9);
        EXPECT_EQ(std::get<std::uint64_t>(value("before_samples")), 100U);
    }
}

TEST_F(PprofImport, OfNothingIsASessionWithoutSamples) {
    Profile profile;
    profile.type("samples", "count");
    const auto done = imported(profile.bytes);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->warnings, std::vector<std::string>{"it has no samples"});
    const auto after = read(exported());
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(types_of(*after), (std::vector<std::pair<std::string, std::string>>{{"samples", "count"}}));
    EXPECT_TRUE(after->samples.empty());
}

// Each frame is a function; the innermost has the highest number.
TEST_F(PprofImport, KeepsTheInnermostFramesOfDeepStacksAndSaysSo) {
    for (const std::uint64_t depth : {limits::kCallChainDepthMax, limits::kCallChainDepthMax + 1, 1'500U}) {
        store_ = make_memory_store();
        Profile profile;
        profile.type("samples", "count");
        std::vector<std::uint64_t> locations;
        for (std::uint64_t i = depth; i > 0; --i) {
            profile.function(i, "f" + std::to_string(i), "deep.go");
            profile.location(i, 0, 0, {i});
            locations.push_back(i);
        }
        profile.sample(locations, {10}, true);
        const auto done = imported(profile.bytes);
        ASSERT_TRUE(done.ok()) << done.error().message;
        const Answer top = top_of(*store_, "samples");
        std::map<std::string, std::uint64_t> children;
        for (const auto& row : top.rows) {
            for (const AnswerValue& value : row) {
                if (const auto* text = std::get_if<std::string>(&value); text != nullptr && !text->empty()) {
                    ++children[*text];
                }
            }
        }
        const bool is_cut = depth > limits::kCallChainDepthMax;
        EXPECT_EQ(top.ledger.stored, 1U);
        EXPECT_EQ(top.rows.size(), std::min<std::uint64_t>(depth, limits::kCallChainDepthMax));
        EXPECT_TRUE(children.contains("f" + std::to_string(depth)));
        EXPECT_EQ(children.contains("f1"), !is_cut);
        EXPECT_EQ(children.contains("[truncated: depth]"), is_cut);
        const auto says = [&](const std::string& text) {
            return std::any_of(done->warnings.begin(), done->warnings.end(),
                               [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
        };
        EXPECT_EQ(says("1 sample has a call chain of more than 640 frames"), is_cut);
        const auto counts = Scan::open(*store_, {})->sessions().front().batches.back().counts;
        const auto truncated = std::find_if(counts.begin(), counts.end(), [](const CountEntry& entry) {
            return entry.name == CountName::kFramesTruncated;
        });
        EXPECT_EQ(truncated == counts.end() ? 0 : truncated->value,
                  is_cut ? depth - limits::kCallChainDepthMax + 1 : 0);
    }
}

TEST_F(PprofImport, NamesWhatIsBroken) {
    const auto message_of = [&](const std::string& bytes) {
        const auto done = imported(bytes);
        return done.ok() ? std::string{} : done.error().message;
    };
    Profile place;
    place.type("samples", "count");
    place.sample({9}, {1}, true);
    EXPECT_NE(message_of(place.bytes).find("uses a location that it doesn't define"), std::string::npos);
    Profile values;
    values.type("samples", "count");
    values.location(1, 0, 0, {});
    values.sample({1}, {1, 2}, true);
    EXPECT_NE(message_of(values.bytes).find("2 values of 1 types"), std::string::npos);
    EXPECT_NE(message_of(values.bytes.substr(0, values.bytes.size() - 1)).find("no profile of pprof"),
              std::string::npos);
    // A time as bytes, in which a reader that takes it for a number finds locations.
    Profile hidden;
    hidden.location(1, 0, 0, {});
    Profile time;
    time.type("samples", "count");
    time.message.add_bytes(pprof::Profile::kTimeNanos, hidden.bytes);
    EXPECT_NE(message_of(time.bytes).find("a field of another type"), std::string::npos);
    EXPECT_NE(message_of("").find("without types of values"), std::string::npos);
    EXPECT_NE(message_of("\x1f\x8b\x08 cut short").find("gzip"), std::string::npos);
}

}  // namespace
}  // namespace perfleet::pprof_import_test
