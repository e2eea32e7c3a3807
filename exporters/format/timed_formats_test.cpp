// Formats that keep the time of each sample, read again, against the answers of `top`, which counts by itself.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "exporters/format/export_format.h"
#include "exporters/format/testing/odd_names.h"
#include "exporters/otlp/otlp_frames.h"
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
        } else if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
            fields.first.emplace(reader.tag(), reader.get_bytes());
        } else {
            reader.skip();
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

std::vector<std::uint64_t> packed_of(const Fields& fields, std::uint32_t tag) {
    std::vector<std::uint64_t> values;
    const auto found = fields.first.find(tag);
    const std::string bytes = found == fields.first.end() ? std::string{} : found->second;
    for (auto at = bytes.data(); at != bytes.data() + bytes.size();) {
        values.push_back(protozero::decode_varint(&at, bytes.data() + bytes.size()));
    }
    return values;
}

// The entries of one table of an OTLP dictionary.
std::vector<Fields> table_of(const Fields& dictionary, std::uint32_t tag) {
    std::vector<Fields> entries;
    for_each(dictionary, tag, [&](const Fields& entry) { entries.push_back(entry); });
    return entries;
}

std::uint64_t number_in(const Fields& fields, std::uint32_t tag) {
    const auto found = fields.second.find(tag);
    return found == fields.second.end() ? 0 : found->second;
}

// Adds to `rows` how many rows each profile has.
EventCounts counts_of_otlp_rows(const std::string& bytes, std::vector<std::uint64_t>& rows) {
    EventCounts counts;
    const Fields request = fields_of(bytes);
    const Fields dictionary = fields_of(request.first.find(2)->second);
    std::vector<std::string> strings;
    const auto [first, last] = dictionary.first.equal_range(5);
    std::for_each(first, last, [&](const auto& field) { strings.push_back(field.second); });
    EXPECT_EQ(std::set<std::string>(strings.begin(), strings.end()).size(), strings.size());
    const auto mappings = table_of(dictionary, 1);
    const auto locations = table_of(dictionary, 2);
    const auto functions = table_of(dictionary, 3);
    const auto attributes = table_of(dictionary, 6);
    const auto stacks = table_of(dictionary, 7);
    const auto chain_of_stack = [&](std::uint64_t stack) {
        Chain chain;
        for (const std::uint64_t number : packed_of(stacks.at(stack), 1)) {
            const Fields& location = locations.at(number);
            std::string image = strings.at(number_in(mappings.at(number_in(location, 1)), 4));
            image = image.starts_with('/') && !image.starts_with("//") ? image.substr(image.rfind('/') + 1) : image;
            std::string symbol = "[" + image + "]";  // as receivers show code without a function
            for_each(location, 3,
                     [&](const Fields& line) { symbol = strings.at(number_in(functions.at(number_in(line, 1)), 1)); });
            chain.emplace_back(symbol, image);
        }
        return chain;
    };
    for_each(request, 1, [&](const Fields& resource) {
        for_each(resource, 2, [&](const Fields& scope) {
            for_each(scope, 2, [&](const Fields& profile) {
                rows.push_back(0);
                const std::string event = strings.at(number_in(fields_of(profile.first.find(1)->second), 1));
                for_each(profile, 2, [&](const Fields& sample) {
                    std::string command;
                    for (const std::uint64_t number : packed_of(sample, 2)) {
                        const Fields& attribute = attributes.at(number);
                        if (strings.at(number_in(attribute, 1)) == "thread.name") {
                            command = fields_of(attribute.first.find(2)->second).first.find(1)->second;
                        }
                    }
                    const std::size_t count = packed_of(sample, 4).size();
                    EXPECT_EQ(sample.first.find(5)->second.size(), count * sizeof(std::uint64_t));
                    rows.back() += count;
                    for (std::size_t i = 0; i < count; ++i) {
                        add(counts[event], command, chain_of_stack(number_in(sample, 1)));
                    }
                });
            });
        });
    });
    return counts;
}

EventCounts counts_of_otlp(const std::string& bytes, const std::set<std::string>& /*commands*/) {
    std::vector<std::uint64_t> rows;
    return counts_of_otlp_rows(bytes, rows);
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
    EXPECT_NE(warnings_.front().find(" is empty"), std::string::npos) << warnings_.front();
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

// From one position to the next, with batches that come in between, each row is in one request.
TEST(OtlpRequests, HaveEachRowOnceWhateverComesMeanwhile) {
    const ProfileScenario scenario = make_scenario(8);
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(scenario, {}, *store);
    const auto ask = [&](const OptionValues& values, const std::string& session) {
        Selection selection;
        selection.session = session;
        const Result<Scan> scan = Scan::open(*store, selection);
        EXPECT_TRUE(scan.ok());
        BytesSink sink;
        const auto written = find_export_format(kOtlpRequests)->write({*scan, SymbolPaths{}, values, UtcNs{0}}, sink);
        EXPECT_TRUE(written.ok()) << written.error().message;
        std::vector<OtlpFrame> frames;
        for (std::string_view rest = sink.text; !rest.empty();) {
            auto frame = OtlpFrame::take(rest);
            EXPECT_TRUE(frame.ok());
            frames.push_back(std::move(frame).value());
        }
        return frames;
    };
    const std::vector<OtlpFrame> sessions = ask({{"list", true}}, "");
    ASSERT_EQ(sessions.size(), scenario.sessions.size());
    for (const OtlpFrame& session : sessions) {
        ASSERT_EQ(session.type, OtlpFrame::Type::kSession);
        const std::string id = session.content.substr(0, session.content.find(' '));
        const std::uint64_t batch_count = std::stoull(session.content.substr(id.size()));
        ASSERT_GE(batch_count, 2U);
        // As if only every second batch had been there at first.
        std::string odd;
        for (std::uint64_t seq = 1; seq <= batch_count; seq += 2) {
            odd += (odd.empty() ? "" : ",") + std::to_string(seq);
        }
        std::uint64_t row_count = 0;
        for (const std::string& after : {std::string{}, odd}) {
            const auto frames = ask(after.empty() ? OptionValues{} : OptionValues{{"after", after}}, id);
            ASSERT_FALSE(frames.empty());
            EXPECT_EQ(frames.back().type, OtlpFrame::Type::kPosition);
            EXPECT_EQ(frames.back().rows, 0U);
            EXPECT_EQ(ask({{"after", frames.back().content}}, id).size(), 1U) << "nothing is left";
            std::uint64_t rows_here = 0;
            for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
                ASSERT_EQ(frames[i].type, OtlpFrame::Type::kRequest);
                std::vector<std::uint64_t> rows;
                (void)counts_of_otlp_rows(frames[i].content, rows);
                EXPECT_EQ(rows, std::vector<std::uint64_t>{frames[i].rows}) << "one profile a request";
                rows_here += frames[i].rows;
            }
            row_count = after.empty() ? rows_here : row_count;
            EXPECT_LT(after.empty() ? 0 : rows_here, row_count);
            EXPECT_EQ(after.empty() ? rows_here : row_count, session.rows);
        }
    }
}

TEST(OtlpRequests, RefuseWhatIsNoPosition) {
    for (const char* const text : {"x", "1-", "3-1", "1,1", "5,2", "1-3,3", "-1", "1--2"}) {
        EXPECT_FALSE(find_export_format(kOtlpRequests)->check({{"after", std::string{text}}}).ok()) << text;
    }
    EXPECT_TRUE(find_export_format(kOtlpRequests)->check({{"after", std::string{"1-3,5,7-9"}}}).ok());
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
                                           Format{"firefox", counts_of_firefox}, Format{"otlp", counts_of_otlp},
                                           Format{"perfetto", counts_of_perfetto}),
                         [](const auto& format) { return std::string{format.param.name}; });

}  // namespace
}  // namespace perfleet::timed_formats_test
