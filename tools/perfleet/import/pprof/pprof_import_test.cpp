#include "tools/perfleet/import/pprof/pprof_import.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <sstream>

#include "exporters/format/export_format.h"
#include "exporters/pprof/pprof_message.h"
#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "storage/store/memory_store.h"
#include "tools/perfleet/import/pprof/pprof_profile.h"
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

// A profile written field by field; strings are numbered as they come.
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
    void type(const std::string& type, const std::string& unit) {
        const std::int64_t numbers[]{number_of(type), number_of(unit)};
        pbf_builder<pprof::ValueType> made{message, pprof::Profile::kSampleType};
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
    void function(std::uint64_t id, const std::string& name, const std::string& file = "") {
        const std::int64_t number = number_of(name);
        const std::int64_t file_number = number_of(file);
        pbf_builder<pprof::Function> made{message, pprof::Profile::kFunction};
        made.add_uint64(pprof::Function::kId, id);
        made.add_int64(pprof::Function::kName, number);
        made.add_int64(pprof::Function::kFilename, file_number);
        made.add_int64(pprof::Function::kStartLine, static_cast<std::int64_t>(id * 10));
    }
    // A function in line `first_line`, the next one in the line behind that, and so on.
    void location(std::uint64_t id, std::uint64_t mapping, std::uint64_t address,
                  const std::vector<std::uint64_t>& functions, std::int64_t first_line = 0) {
        pbf_builder<pprof::Location> made{message, pprof::Profile::kLocation};
        made.add_uint64(pprof::Location::kId, id);
        made.add_uint64(pprof::Location::kMappingId, mapping);
        made.add_uint64(pprof::Location::kAddress, address);
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
        const Result<Scan> scan = Scan::open(store, selection);
        EXPECT_TRUE(scan.ok());
        Symbolizer symbolizer{&store, {}};
        Result<Answer> answer = make_top(*scan, symbolizer, TopOptions{});
        EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
        return std::move(*answer);
    }

    static Counts counts_of(const Store& store, const std::string& event) {
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
                std::get<std::uint64_t>(row[column("self")]), std::get<std::uint64_t>(row[column("children")])};
        }
        return counts;
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
                !counts_of(*original, event.name).empty()) {
                events.insert(event.name);
            }
        }
    }
    ASSERT_GE(events.size(), 2U);
    for (const std::string& event : events) {
        EXPECT_EQ(counts_of(*store_, event), counts_of(*original, event)) << event;
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
    EXPECT_EQ(done->sample_count, 4U);
    EXPECT_EQ(done->warnings, std::vector<std::string>{});
    const Counts counts = counts_of(*store_, "cpu");
    const Counts expected{{"worker server operator new(unsigned long)", {31, 31}},
                          {"worker server handle", {0, 31}},
                          {"worker server [server]", {0, 31}},
                          {"server [unknown] handle", {10, 10}}};
    EXPECT_EQ(counts, expected);
}

// All that a profile says of each sample, but for the numbers that it is said with.
std::multiset<std::string> described(const PprofProfile& profile) {
    std::multiset<std::string> samples;
    for (const PprofProfile::Sample& sample : profile.samples) {
        std::ostringstream text;
        for (const std::uint32_t number : sample.locations) {
            const PprofProfile::Location& location = profile.locations[number];
            const PprofProfile::Mapping& mapping = profile.mappings[location.mapping];
            text << mapping.file_name << ' ' << mapping.build_id << std::hex << ' ' << mapping.start << '-'
                 << mapping.limit << '+' << mapping.file_offset << " flags " << mapping.flags << " at "
                 << location.address << std::dec << ':';
            for (const PprofProfile::Line& line : location.lines) {
                const PprofProfile::Function& function = profile.functions[line.function];
                text << ' ' << function.name << '(' << function.file_name << ':' << line.line << ':' << line.column
                     << " from " << function.first_line << ')';
            }
            text << '\n';
        }
        for (std::size_t i = 0; i < sample.values.size(); ++i) {
            text << profile.value_types[i].type << '=' << sample.values[i] << ' ';
        }
        for (const PprofProfile::Label& label : sample.labels) {
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
    profile.mapping(7, "/opt/server", 0x40'0000, "0123456789abcdef0123456789abcdef01234567", 0x48'0000, 0x1000);
    profile.mapping(8, "/lib/libother.so", 0x7f00'0000, "not in hexadecimal", 0x7f80'0000);
    profile.function(1, "operator new(unsigned long)", "/src/new.cpp");
    profile.function(2, "handle", "/src/server.cpp");
    profile.function(3, "handle", "/src/other.cpp");
    profile.function(4, "handle", "/src/other.cpp");  // begins in another line
    profile.location(1, 7, 0x40'1000, {1, 2}, 12);
    profile.location(2, 7, 0x40'2345, {2}, 40);
    profile.location(3, 7, 0x40'2345, {2}, 41);
    profile.location(4, 8, 0x7f00'0123, {1, 1, 3}, 7);
    profile.location(5, 8, 0x7f00'0456, {3});
    profile.location(6, 8, 0x7f00'0456, {4}, 33);
    profile.sample({6}, {2, 21}, true, "worker");
    profile.sample({1, 2}, {3, 31}, true, "worker");
    profile.sample({1, 2}, {4, 41}, true, "worker", 8);
    profile.sample({1, 3}, {5, 51}, false, "worker", 8);
    profile.sample({5, 4, 2}, {1, 10}, false, "main", 1);
    for (std::uint64_t i = 0; i < 2'000; ++i) {  // more lines of one function than a page has bytes
        profile.location(100 + i, 7, 0x41'0000 + i, {2}, static_cast<std::int64_t>(100 + i));
        profile.sample({100 + i}, {1, 1}, true, "main", static_cast<std::int64_t>(i));
    }
    const std::vector<std::string> comments{"made by hand, </script> and all", "second comment",
                                            "of three lines\n\nc and C: the last", "ends with a line\n"};
    for (const std::string& comment : comments) {
        profile.message.add_int64(pprof::Profile::kComment, profile.number_of(comment));
    }
    profile.message.add_int64(pprof::Profile::kDropFrames, profile.number_of("^std::.*"));
    profile.message.add_int64(pprof::Profile::kKeepFrames, profile.number_of("^main$"));
    const auto done = imported(profile.bytes);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->warnings, std::vector<std::string>{});
    const Result<Scan> scan = Scan::open(*store_, {});
    ASSERT_TRUE(scan.ok());
    const SymbolPaths paths;
    const OptionValues options;
    BytesSink sink;
    ASSERT_TRUE(find_export_format("pprof")->write({*scan, paths, options, UtcNs{0}}, sink).ok());
    const auto read = [](const std::string& text) -> Result<PprofProfile> {
        const auto file = PERFLEET_TRY(file_of(text));
        return PprofProfile::read(file.piece(0, file.size_bytes()));
    };
    const auto before = read(profile.bytes);
    const auto after = read(sink.text);
    ASSERT_TRUE(before.ok() && after.ok());
    // Values stand in the order in which an export has them.
    ASSERT_EQ(after->value_types.size(), 2U);
    EXPECT_EQ(after->value_types[0].type, "samples");
    EXPECT_EQ(described(*after), described(*before));
    ASSERT_GE(after->comments.size(), comments.size());
    EXPECT_TRUE(std::equal(comments.begin(), comments.end(), after->comments.begin()));
    EXPECT_EQ(after->drop_frames, "^std::.*");
    EXPECT_EQ(after->keep_frames, "^main$");
}

TEST_F(PprofImport, ValuesThatAreNoCountsWeighARow) {
    Profile profile;
    profile.type("inuse_objects", "count");
    profile.type("inuse_space", "bytes");
    profile.function(1, "main.make");
    profile.location(1, 0, 0, {1});
    profile.sample({1}, {5, 4'096}, true);
    profile.sample({1}, {0, -1}, true);
    const auto done = imported(profile.bytes);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->row_count, 3U) << "a row of each value that isn't 0, and the thread";
    ASSERT_EQ(done->warnings.size(), 1U);
    EXPECT_NE(done->warnings[0].find("below 0"), std::string::npos);
    EXPECT_EQ(counts_of(*store_, "inuse_space").size(), 1U);
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
    EXPECT_EQ(top_of(*store_, "cpu").ledger.stored, 2U);
    EXPECT_EQ(top_of(*store_, "cpu#2").ledger.stored, 1U);
}

TEST_F(PprofImport, OfNothingIsASessionWithoutSamples) {
    Profile profile;
    profile.type("samples", "count");
    const auto done = imported(profile.bytes);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->warnings, std::vector<std::string>{"it has no samples"});
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
        EXPECT_EQ(top.ledger.stored, 10U);
        EXPECT_EQ(top.rows.size(), std::min<std::uint64_t>(depth, limits::kCallChainDepthMax));
        EXPECT_TRUE(children.contains("f" + std::to_string(depth)));
        EXPECT_EQ(children.contains("f1"), !is_cut);
        EXPECT_EQ(children.contains("[truncated: depth]"), is_cut);
        const auto says = [&](const std::string& text) {
            return std::any_of(done->warnings.begin(), done->warnings.end(),
                               [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
        };
        EXPECT_EQ(says("10 samples have call chains of more than 640 frames"), is_cut);
        const auto counts = Scan::open(*store_, {})->sessions().front().batches.back().counts;
        const auto truncated = std::find_if(counts.begin(), counts.end(), [](const CountEntry& entry) {
            return entry.name == CountName::kFramesTruncated;
        });
        EXPECT_EQ(truncated == counts.end() ? 0 : truncated->value,
                  is_cut ? 10 * (depth - limits::kCallChainDepthMax + 1) : 0);
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
    // A time that is bytes, in which a reader that takes it for a number finds locations.
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
