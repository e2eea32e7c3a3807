// Profiles, read again field by field, against the answers of `top`, which counts by itself.
#include "exporters/format/export_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <protozero/pbf_message.hpp>
#include <set>
#include <tuple>

#include "exporters/format/testing/odd_names.h"
#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "schemas/pprof/pprof_message.h"
#include "schemas/text/utf8.h"
#include "storage/store/memory_store.h"

namespace perfleet::pprof_exporter_test {
namespace {

class BytesSink : public ExportSink {
public:
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        EXPECT_EQ(offset, text.size());
        text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    std::string text;
};

std::string inflated(const std::string& bytes) {
    z_stream stream{};
    EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string text(1U << 24U, '\0');
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
    EXPECT_EQ(stream.avail_in, 0U);
    text.resize(stream.total_out);
    ::inflateEnd(&stream);
    return text;
}

template <class Message>
using Fields = std::map<Message, std::vector<std::uint64_t>>;

// All numbers of a message, packed or not.
template <class Message>
Fields<Message> numbers_of(const protozero::data_view& bytes) {
    Fields<Message> fields;
    protozero::pbf_message<Message> message{bytes};
    while (message.next()) {
        if (message.wire_type() == protozero::pbf_wire_type::varint) {
            fields[message.tag()].push_back(message.get_uint64());
        } else if (message.tag() == static_cast<Message>(1) || message.tag() == static_cast<Message>(2)) {
            for (const std::uint64_t value : message.get_packed_uint64()) {
                fields[message.tag()].push_back(value);
            }
        } else {
            message.skip();
        }
    }
    return fields;
}

struct ReadSample {
    std::vector<std::pair<std::string, std::string>> chain;  // name, file; innermost first
    std::vector<std::uint64_t> values;
    std::string command;
};

struct ReadProfile {
    std::vector<std::pair<std::string, std::string>> types;
    std::vector<ReadSample> samples;
    std::vector<std::string> comments;
    std::set<std::string> build_ids;
    std::uint64_t time_ns = 0;
    std::uint64_t duration_ns = 0;
};

ReadProfile read(const std::string& file) {
    const std::string bytes = inflated(file);
    std::map<pprof::Profile, std::vector<protozero::data_view>> parts;
    Fields<pprof::Profile> numbers;
    protozero::pbf_message<pprof::Profile> message{bytes};
    while (message.next()) {
        if (message.wire_type() == protozero::pbf_wire_type::varint) {
            numbers[message.tag()].push_back(message.get_uint64());
        } else {
            parts[message.tag()].push_back(message.get_view());
        }
    }
    const auto text = [&](std::uint64_t number) { return parts[pprof::Profile::kStringTable].at(number).to_string(); };
    EXPECT_EQ(text(0), "");
    std::map<std::uint64_t, std::string> functions;
    for (const auto& part : parts[pprof::Profile::kFunction]) {
        auto fields = numbers_of<pprof::Function>(part);
        functions[fields[pprof::Function::kId].at(0)] = text(fields[pprof::Function::kName].at(0));
    }
    ReadProfile profile;
    struct Extent {
        std::uint64_t start, limit;
        std::string file;
    };
    std::map<std::uint64_t, Extent> mappings;
    for (const auto& part : parts[pprof::Profile::kMapping]) {
        auto fields = numbers_of<pprof::Mapping>(part);
        mappings[fields[pprof::Mapping::kId].at(0)] = {fields[pprof::Mapping::kMemoryStart].at(0),
                                                       fields[pprof::Mapping::kMemoryLimit].at(0),
                                                       text(fields[pprof::Mapping::kFilename].at(0))};
        profile.build_ids.insert(text(fields[pprof::Mapping::kBuildId].at(0)));
    }
    std::map<std::uint64_t, std::pair<std::string, std::string>> locations;
    for (const auto& part : parts[pprof::Profile::kLocation]) {
        Fields<pprof::Location> fields;
        std::string function;
        protozero::pbf_message<pprof::Location> location{part};
        while (location.next()) {
            if (location.tag() == pprof::Location::kLine) {
                function = functions.at(numbers_of<pprof::Line>(location.get_view())[pprof::Line::kFunctionId].at(0));
            } else {
                fields[location.tag()].push_back(location.get_uint64());
            }
        }
        const Extent& mapping = mappings.at(fields[pprof::Location::kMappingId].at(0));
        if (function.empty()) {  // as readers show it
            function = "[" + mapping.file.substr(mapping.file.rfind('/') + 1) + "]";
        }
        EXPECT_GE(fields[pprof::Location::kAddress].at(0), mapping.start);
        EXPECT_LT(fields[pprof::Location::kAddress].at(0), mapping.limit);
        locations[fields[pprof::Location::kId].at(0)] = {function, mapping.file};
    }
    for (const auto& part : parts[pprof::Profile::kSampleType]) {
        auto fields = numbers_of<pprof::ValueType>(part);
        profile.types.emplace_back(text(fields[pprof::ValueType::kType].at(0)),
                                   text(fields[pprof::ValueType::kUnit].at(0)));
    }
    for (const auto& part : parts[pprof::Profile::kSample]) {
        auto fields = numbers_of<pprof::Sample>(part);
        ReadSample sample;
        sample.values = fields[pprof::Sample::kValue];
        EXPECT_EQ(sample.values.size(), profile.types.size());
        for (const std::uint64_t location : fields[pprof::Sample::kLocationId]) {
            sample.chain.push_back(locations.at(location));
        }
        protozero::pbf_message<pprof::Sample> labels{part};
        while (labels.next()) {
            if (labels.tag() != pprof::Sample::kLabel) {
                labels.skip();
                continue;
            }
            auto label = numbers_of<pprof::Label>(labels.get_view());
            EXPECT_EQ(text(label[pprof::Label::kKey].at(0)), "comm");
            sample.command = text(label[pprof::Label::kStr].at(0));
        }
        profile.samples.push_back(std::move(sample));
    }
    for (const std::uint64_t comment : numbers[pprof::Profile::kComment]) {
        profile.comments.push_back(text(comment));
    }
    const auto number = [&](pprof::Profile field) { return numbers[field].empty() ? 0 : numbers[field].front(); };
    profile.time_ns = number(pprof::Profile::kTimeNanos);
    profile.duration_ns = number(pprof::Profile::kDurationNanos);
    return profile;
}

std::string event_of(const std::string& type) { return type.substr(0, type.rfind(":samples")); }

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

using Key = std::tuple<std::string, std::string, std::string>;          // command, image, symbol
using Counts = std::map<Key, std::pair<std::uint64_t, std::uint64_t>>;  // self, children

class PprofExporter : public ::testing::Test {
protected:
    static Scan scan_of(const Store& store, const Selection& selection = {}) {
        Result<Scan> scan = Scan::open(store, selection);
        EXPECT_TRUE(scan.ok());
        return std::move(scan).value();
    }

    static ReadProfile profile_of(const Scan& scan) {
        const SymbolPaths paths;
        const OptionValues options;
        BytesSink sink;
        const Result<QueryEnd> outcome = find_export_format("pprof")->write({scan, paths, options, UtcNs{0}}, sink);
        EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
        return read(sink.text);
    }

    static Counts counts_of(const ReadProfile& profile, std::size_t value) {
        Counts counts;
        for (const ReadSample& sample : profile.samples) {
            std::set<Key> met;
            for (const auto& [name, file] : sample.chain) {
                const Key key{sample.command, file_name(file), name};
                counts[key].first += met.empty() ? sample.values.at(value) : 0;
                counts[key].second += met.insert(key).second ? sample.values.at(value) : 0;
            }
        }
        std::erase_if(counts, [](const auto& count) { return count.second.second == 0; });
        return counts;
    }

    static Counts top_counts(const Scan& scan, bool is_amount) {
        Symbolizer symbolizer{nullptr, {}};
        const Result<Answer> answer = make_top(scan, symbolizer, {});
        EXPECT_TRUE(answer.ok());
        const auto column = [&](const char* name) {
            return static_cast<std::size_t>(std::find_if(answer->columns.begin(), answer->columns.end(),
                                                         [&](const AnswerColumn& one) { return one.name == name; }) -
                                            answer->columns.begin());
        };
        Counts counts;
        for (const auto& row : answer->rows) {
            const auto text = [&](const char* name) { return printable(std::get<std::string>(row[column(name)])); };
            counts[{text("command"), text("image"), text("symbol")}] = {
                std::get<std::uint64_t>(row[column(is_amount ? "self" : "self_samples")]),
                std::get<std::uint64_t>(row[column(is_amount ? "children" : "children_samples")])};
        }
        return counts;
    }

    ProfileScenario scenario_ = make_scenario(8);
    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(PprofExporter, EachEventHasTheCountsOfTopWithAnyNames) {
    give_odd_names(scenario_);
    deliver(scenario_, {}, *store_);
    const ReadProfile profile = profile_of(scan_of(*store_));
    std::size_t compared = 0;
    for (std::size_t value = 0; value < profile.types.size(); ++value) {
        const bool is_amount = profile.types[value].second != "count";
        Selection one;
        one.event = event_of(profile.types[value].first);
        const Counts expected = top_counts(scan_of(*store_, one), is_amount);
        EXPECT_GT(expected.size(), 2U) << *one.event;
        EXPECT_TRUE(counts_of(profile, value) == expected) << *one.event;
        ++compared;
    }
    EXPECT_GE(compared, 4U);
}

TEST_F(PprofExporter, OneEventAndARangeOfTimeAreSelected) {
    deliver(scenario_, {}, *store_);
    const ReadProfile whole = profile_of(scan_of(*store_));
    Selection half;
    half.event = event_of(whole.types.front().first);
    half.to = UtcNs{static_cast<std::int64_t>(whole.time_ns + whole.duration_ns / 2)};
    const Scan scan = scan_of(*store_, half);
    const ReadProfile profile = profile_of(scan);
    EXPECT_EQ(profile.types.front(), (std::pair<std::string, std::string>{"samples", "count"}));
    EXPECT_LT(profile.samples.size(), whole.samples.size());
    EXPECT_TRUE(counts_of(profile, 0) == top_counts(scan, false));
}

TEST_F(PprofExporter, CommentsTellWhatWasLost) {
    for (ScenarioSession& session : scenario_.sessions) {
        session.kernel_lost = 0;
    }
    scenario_.sessions.front().kernel_lost = 24;
    deliver(scenario_, {}, *store_);
    const ReadProfile profile = profile_of(scan_of(*store_));
    EXPECT_THAT(profile.comments, ::testing::Contains(::testing::HasSubstr("24 lost (24 kernel_ring)")));
}

TEST_F(PprofExporter, NothingSelectedGivesAnEmptyProfileAndAWarning) {
    const ReadProfile nothing = profile_of(scan_of(*store_));
    EXPECT_TRUE(nothing.samples.empty());
    EXPECT_THAT(nothing.comments, ::testing::Contains(::testing::HasSubstr("the profile is empty")));

    deliver(scenario_, {}, *store_);
    Selection before_all;
    before_all.to = UtcNs{1};
    EXPECT_TRUE(profile_of(scan_of(*store_, before_all)).samples.empty());
}

}  // namespace
}  // namespace perfleet::pprof_exporter_test
