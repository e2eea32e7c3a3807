// Formats that keep the time of each sample, read again, against the answers of `top`, which counts by itself.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "exporters/format/export_format.h"
#include "exporters/format/testing/odd_names.h"
#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "schemas/text/utf8.h"
#include "storage/store/memory_store.h"

namespace perfleet::timed_formats_test {
namespace {

using Json = nlohmann::json;
using Chain = std::vector<std::pair<std::string, std::string>>;         // symbol, image; innermost first
using Key = std::tuple<std::string, std::string, std::string>;          // command, image, symbol
using Counts = std::map<Key, std::pair<std::uint64_t, std::uint64_t>>;  // self, children
using EventCounts = std::map<std::string, Counts>;

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
    std::string text(1U << 25U, '\0');
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
    text.resize(stream.total_out);
    ::inflateEnd(&stream);
    return text;
}

void add(Counts& counts, const std::string& command, const Chain& chain) {
    std::set<Key> met;
    for (const auto& [symbol, image] : chain) {
        const Key key{command, image, symbol};
        counts[key].first += met.empty() ? 1U : 0U;
        counts[key].second += met.insert(key).second ? 1U : 0U;
    }
}

// "EVENT [TARGET ]COMMAND PID/TID", where one of the commands is known.
std::string command_in(const std::string& name, const std::set<std::string>& commands) {
    const std::string front = name.substr(0, name.rfind(' '));
    std::string longest;
    for (const std::string& command : commands) {
        longest = front.ends_with(" " + command) && command.size() > longest.size() ? command : longest;
    }
    return longest;
}

EventCounts counts_of_speedscope(const std::string& text, const std::set<std::string>& commands) {
    const Json file = Json::parse(text);
    EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    EventCounts counts;
    for (const Json& profile : file["profiles"]) {
        const std::string name = profile["name"];
        EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
        std::uint64_t end = profile["startValue"];
        for (const Json& weight : profile["weights"]) {
            end += weight.get<std::uint64_t>();
        }
        EXPECT_EQ(profile["endValue"], end);
        for (const Json& sample : profile["samples"]) {
            Chain chain;
            for (auto frame = sample.rbegin(); frame != sample.rend(); ++frame) {
                const Json& known = file["shared"]["frames"].at(frame->get<std::size_t>());
                chain.emplace_back(known["name"], known["file"]);
            }
            add(counts[name.substr(0, name.find(' '))], command_in(name, commands), chain);
        }
    }
    return counts;
}

EventCounts counts_of_firefox(const std::string& bytes, const std::set<std::string>& /*commands*/) {
    const Json file = Json::parse(inflated(bytes));
    EventCounts counts;
    for (const Json& thread : file["threads"]) {
        const auto column = [&](const char* table, const char* name, const Json& row) -> const Json& {
            return thread[table][name].at(row.get<std::size_t>());
        };
        for (const char* table : {"samples", "stackTable", "frameTable", "funcTable", "resourceTable", "markers"}) {
            for (const auto& [name, values] : thread[table].items()) {
                EXPECT_TRUE(!values.is_array() || values.size() == thread[table]["length"]) << table << " " << name;
            }
        }
        const std::string name = thread["name"];  // "COMMAND (EVENT)"
        const std::size_t event = name.rfind(" (");
        for (const Json& sample : thread["samples"]["stack"]) {
            Chain chain;
            for (Json stack = sample; !stack.is_null(); stack = column("stackTable", "prefix", stack)) {
                const Json function = column("frameTable", "func", column("stackTable", "frame", stack));
                chain.emplace_back(
                    thread["stringArray"].at(column("funcTable", "name", function).get<std::size_t>()),
                    thread["stringArray"].at(column("funcTable", "fileName", function).get<std::size_t>()));
            }
            add(counts[name.substr(event + 2, name.size() - event - 3)], name.substr(0, event), chain);
        }
    }
    return counts;
}

// Names of one sequence of packets.
struct PerfettoNames {
    std::string event;
    std::map<std::uint64_t, std::string> functions;
    std::map<std::uint64_t, std::string> images;
    std::map<std::uint64_t, std::pair<std::string, std::string>> frames;
    std::map<std::uint64_t, Chain> callstacks;
};

// A message's fields with bytes, and those with an integer.
using Fields = std::pair<std::multimap<std::uint32_t, std::string>, std::map<std::uint32_t, std::uint64_t>>;

Fields fields_of(const std::string& message) {
    Fields fields;
    protozero::pbf_reader reader{message};
    while (reader.next()) {
        if (reader.wire_type() == protozero::pbf_wire_type::varint) {
            fields.second[reader.tag()] = reader.get_uint64();
        } else {
            fields.first.emplace(reader.tag(), reader.get_bytes());
        }
    }
    return fields;
}

template <class Visit>
void for_each(const Fields& fields, std::uint32_t tag, const Visit& visit) {
    const auto [first, last] = fields.first.equal_range(tag);
    std::for_each(first, last, [&](const auto& field) { visit(fields_of(field.second)); });
}

void learn(PerfettoNames& names, const Fields& interned) {
    const auto text = [](const Fields& name) { return name.first.find(2)->second; };
    for_each(interned, 5, [&](const Fields& name) { names.functions[name.second.at(1)] = text(name); });
    for_each(interned, 17, [&](const Fields& name) { names.images[name.second.at(1)] = text(name); });
    for_each(interned, 6, [&](const Fields& frame) {
        names.frames[frame.second.at(1)] = {names.functions.at(frame.second.at(2)),
                                            names.images.at(frame.second.at(3))};
    });
    const auto [first, last] = interned.first.equal_range(7);
    for (auto field = first; field != last; ++field) {
        std::uint64_t number = 0;
        Chain chain;
        protozero::pbf_reader reader{field->second};
        while (reader.next()) {
            if (reader.tag() == 1) {
                number = reader.get_uint64();
            } else {
                chain.insert(chain.begin(), names.frames.at(reader.get_uint64()));
            }
        }
        names.callstacks[number] = std::move(chain);
    }
}

EventCounts counts_of_perfetto(const std::string& bytes, const std::set<std::string>& /*commands*/) {
    EventCounts counts;
    std::map<std::uint64_t, PerfettoNames> sequences;
    std::map<std::uint64_t, std::string> commands;  // by tid
    for_each(fields_of(inflated(bytes)), 1, [&](const Fields& packet) {
        PerfettoNames& names = sequences[packet.second.at(10)];
        for_each(packet, 59, [&](const Fields& defaults) {
            for_each(defaults, 12, [&](const Fields& of_samples) {
                for_each(of_samples, 1, [&](const Fields& timebase) { names.event = timebase.first.find(10)->second; });
            });
        });
        for_each(packet, 2, [&](const Fields& tree) {
            for_each(tree, 2,
                     [&](const Fields& thread) { commands[thread.second.at(1)] = thread.first.find(2)->second; });
        });
        for_each(packet, 12, [&](const Fields& interned) { learn(names, interned); });
        for_each(packet, 66, [&](const Fields& sample) {
            add(counts[names.event], commands.at(sample.second.at(3)), names.callstacks.at(sample.second.at(4)));
        });
    });
    return counts;
}

struct Format {
    const char* name;
    EventCounts (*read)(const std::string&, const std::set<std::string>&);
};

class TimedFormat : public ::testing::TestWithParam<Format> {
protected:
    static Scan scan_of(const Store& store, const Selection& selection = {}) {
        Result<Scan> scan = Scan::open(store, selection);
        EXPECT_TRUE(scan.ok());
        return std::move(scan).value();
    }

    std::string exported(const Selection& selection = {}) {
        const Scan scan = scan_of(*store_, selection);
        BytesSink sink;
        const auto written =
            find_export_format(GetParam().name)->write({scan, SymbolPaths{}, OptionValues{}, UtcNs{0}}, sink);
        EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
        warnings_ = written.ok() ? written->warnings : std::vector<std::string>{};
        return sink.text;
    }

    Counts top_counts(const std::string& event) {
        Selection one;
        one.event = event;
        Symbolizer symbolizer{nullptr, {}};
        const Result<Answer> answer = make_top(scan_of(*store_, one), symbolizer, TopOptions{});
        EXPECT_TRUE(answer.ok());
        const auto column = [&](const char* name) {
            return static_cast<std::size_t>(
                std::find_if(answer->columns.begin(), answer->columns.end(),
                             [&](const AnswerColumn& one_of) { return one_of.name == name; }) -
                answer->columns.begin());
        };
        Counts counts;
        for (const auto& row : answer->rows) {
            const auto text = [&](const char* name) { return printable(std::get<std::string>(row[column(name)])); };
            counts[{text("command"), text("image"), text("symbol")}] = {
                std::get<std::uint64_t>(row[column("self_samples")]),
                std::get<std::uint64_t>(row[column("children_samples")])};
        }
        return counts;
    }

    std::unique_ptr<Store> store_ = make_memory_store();
    std::vector<std::string> warnings_;
};

TEST_P(TimedFormat, HasTheCountsOfTopWithAnyNames) {
    ProfileScenario scenario = make_scenario(8);
    give_odd_names(scenario);
    std::set<std::string> commands;
    deliver(scenario, {}, *store_);
    std::map<std::string, Counts> expected;
    for (const ScenarioSession& session : scenario.sessions) {
        for (const EventRecord& event : session.record.events) {
            if (event.kind == Kind::kSample || event.kind == Kind::kTracepoint) {
                if (Counts counts = top_counts(event.name); !counts.empty()) {
                    for (const auto& [key, count] : counts) {
                        commands.insert(std::get<0>(key));
                    }
                    expected[event.name] = std::move(counts);
                }
            }
        }
    }
    ASSERT_GE(expected.size(), 2U);
    const EventCounts counts = GetParam().read(exported(), commands);
    for (const auto& [event, of_top] : expected) {
        ASSERT_TRUE(counts.contains(event)) << event;
        const Counts& found = counts.at(event);
        EXPECT_EQ(found.size(), of_top.size()) << event;
        for (const auto& [key, count] : of_top) {
            const auto same = found.find(key);
            ASSERT_NE(same, found.end()) << event << ": " << std::get<0>(key) << " " << std::get<1>(key) << " "
                                         << std::get<2>(key);
            EXPECT_EQ(same->second, count) << event << ": " << std::get<0>(key) << " " << std::get<2>(key);
        }
    }
    EXPECT_EQ(counts.size(), expected.size());
}

TEST_P(TimedFormat, HasSamplesOfSessionsWithoutAnyCallChain) {
    ProfileScenario scenario = make_scenario(8);
    for (ScenarioSession& session : scenario.sessions) {
        for (ScenarioEpoch& epoch : session.epochs) {
            for (ScenarioSample& sample : epoch.samples) {
                sample.frames.clear();
            }
        }
    }
    deliver(scenario, {}, *store_);
    EXPECT_FALSE(GetParam().read(exported(), {}).empty());
}

TEST_P(TimedFormat, OfNothingIsAValidFileAndAWarning) {
    EXPECT_TRUE(GetParam().read(exported(), {}).empty());
    ASSERT_FALSE(warnings_.empty());
    EXPECT_NE(warnings_.front().find("the file is empty"), std::string::npos) << warnings_.front();
}

// Lines have no image: commands and innermost functions have their counts.
TEST(FoldedStacks, HaveTheCountsOfTopWithAnyNames) {
    ProfileScenario scenario = make_scenario(8);
    give_odd_names(scenario);
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(scenario, {}, *store);
    const Result<Scan> scan = Scan::open(*store, Selection{});
    ASSERT_TRUE(scan.ok());
    BytesSink sink;
    ASSERT_TRUE(find_export_format("folded")->write({*scan, SymbolPaths{}, OptionValues{}, UtcNs{0}}, sink).ok());
    using SelfCounts = std::map<std::pair<std::string, std::string>, std::uint64_t>;
    SelfCounts found;
    std::istringstream lines{sink.text};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t count = line.rfind(' ');
        const std::size_t leaf = line.rfind(';', count);
        ASSERT_NE(leaf, std::string::npos) << line;
        found[{line.substr(0, line.find(';')), line.substr(leaf + 1, count - leaf - 1)}] +=
            std::stoull(line.substr(count + 1));
    }
    Symbolizer symbolizer{nullptr, {}};
    const Result<Answer> top = make_top(*scan, symbolizer, TopOptions{});
    ASSERT_TRUE(top.ok());
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::find_if(top->columns.begin(), top->columns.end(),
                                                     [&](const AnswerColumn& one) { return one.name == name; }) -
                                        top->columns.begin());
    };
    const auto field = [](const AnswerValue& value) {
        std::string text = printable(std::get<std::string>(value));
        std::replace(text.begin(), text.end(), ';', ':');
        return text;
    };
    SelfCounts expected;
    for (const std::vector<AnswerValue>& row : top->rows) {
        if (const std::uint64_t self = std::get<std::uint64_t>(row[column("self")]); self != 0) {
            expected[{field(row[column("command")]), field(row[column("symbol")])}] += self;
        }
    }
    EXPECT_GE(expected.size(), 4U);
    EXPECT_EQ(found, expected);
}

TEST(FoldedStacks, OfNothingAreAnEmptyTextAndAWarning) {
    const std::unique_ptr<Store> store = make_memory_store();
    const Result<Scan> scan = Scan::open(*store, Selection{});
    ASSERT_TRUE(scan.ok());
    BytesSink sink;
    const auto written = find_export_format("folded")->write({*scan, SymbolPaths{}, OptionValues{}, UtcNs{0}}, sink);
    ASSERT_TRUE(written.ok()) << written.error().message;
    EXPECT_EQ(sink.text, "");
    ASSERT_FALSE(written->warnings.empty());
    EXPECT_NE(written->warnings.front().find("the file is empty"), std::string::npos) << written->warnings.front();
}

TEST(PerfettoCounters, AreTracksWithTheirReadings) {
    const ProfileScenario scenario = make_scenario(8);
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(scenario, {}, *store);
    std::multiset<std::uint64_t> expected;
    for (const ScenarioSession& session : scenario.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioReading& reading : epoch.readings) {
                expected.insert(reading.value);
            }
        }
    }
    ASSERT_FALSE(expected.empty());
    const Result<Scan> scan = Scan::open(*store, Selection{});
    ASSERT_TRUE(scan.ok());
    BytesSink sink;
    ASSERT_TRUE(find_export_format("perfetto")->write({*scan, SymbolPaths{}, OptionValues{}, UtcNs{0}}, sink).ok());
    std::map<std::uint64_t, std::string> tracks;  // names, by uuid
    std::multiset<std::uint64_t> found;
    for_each(fields_of(inflated(sink.text)), 1, [&](const Fields& packet) {
        for_each(packet, 60, [&](const Fields& descriptor) {
            if (descriptor.first.contains(8)) {
                tracks[descriptor.second.at(1)] = descriptor.first.find(2)->second;
            }
        });
        for_each(packet, 11, [&](const Fields& event) {
            if (event.second.at(9) == 4) {
                EXPECT_TRUE(tracks.contains(event.second.at(11)));
                found.insert(event.second.at(30));
            }
        });
    });
    EXPECT_EQ(found, expected);
    for (const auto& [uuid, name] : tracks) {
        EXPECT_NE(name.find(" cpu "), std::string::npos) << name;
    }
}

// A picture of runs has no functions.
TEST(TimelineOfRuns, LooksForNoSymbols) {
    const ProfileScenario scenario = make_scenario(8);
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(scenario, {}, *store);
    const Result<Scan> scan = Scan::open(*store, Selection{});
    ASSERT_TRUE(scan.ok());
    const auto warns_of_symbols = [&](const char* format) {
        BytesSink sink;
        const auto written = find_export_format(format)->write({*scan, SymbolPaths{}, OptionValues{}, UtcNs{0}}, sink);
        EXPECT_TRUE(written.ok()) << written.error().message;
        return std::any_of(written->warnings.begin(), written->warnings.end(), [](const std::string& warning) {
            return warning.find("no symbols for") != std::string::npos;
        });
    };
    EXPECT_TRUE(warns_of_symbols("speedscope"));
    EXPECT_FALSE(warns_of_symbols("timeline"));
}

INSTANTIATE_TEST_SUITE_P(Each, TimedFormat,
                         ::testing::Values(Format{"speedscope", counts_of_speedscope},
                                           Format{"firefox", counts_of_firefox},
                                           Format{"perfetto", counts_of_perfetto}),
                         [](const auto& format) { return std::string{format.param.name}; });

}  // namespace
}  // namespace perfleet::timed_formats_test
