// Writes the selected rows for the Firefox Profiler (profiler.firefox.com): its processed format, version 48, as
// gzip-compressed JSON.
//
// Each event and thread is a thread of the profile; times are relative to the first row's. Tracepoint entries are also
// markers of their thread. Frames have the category Kernel or User, and their image as the function's file.
//
// Errors: kTooLarge (the query's memory is exceeded), those of store and sink.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "exporters/timeline/json_file.h"
#include "exporters/timeline/timeline.h"
#include "query-engine/service/export_format.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kNoFrame = ~0U;

// The JSON before the threads. The first category is that of markers.
constexpr std::string_view kMeta =
    R"("interval":1,"processType":0,"product":"perfleet","stackwalk":1,"debug":false,"version":27,)"
    R"("preprocessedProfileVersion":48,"symbolicated":true,"importedFrom":"perfleet","physicalCPUs":0,"logicalCPUs":0,)"
    R"("categories":[{"name":"Other","color":"grey","subcategories":["Other"]},)"
    R"({"name":"User","color":"yellow","subcategories":["Other"]},)"
    R"({"name":"Kernel","color":"orange","subcategories":["Other"]}],)"
    R"("markerSchema":[{"name":"tracepoint","display":["marker-chart","marker-table","timeline-overview"],)"
    R"("tooltipLabel":"{marker.name}","tableLabel":"{marker.data.fields}",)"
    R"("data":[{"key":"fields","label":"Fields","format":"string"}]}]},)";

// Numbers within a thread, in the order of their first use.
class Numbers {
public:
    std::uint32_t number_of(std::uint64_t key) {
        const auto [known, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
        if (is_new) {
            keys_.push_back(key);
        }
        return known->second;
    }
    [[nodiscard]] const std::vector<std::uint64_t>& keys() const { return keys_; }

private:
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
    std::vector<std::uint64_t> keys_;
};

class FirefoxFile {
public:
    FirefoxFile(const Timeline& timeline, ExportSink& sink, bool is_compressed)
        : timeline_{timeline}, file_{sink, is_compressed} {
        for (std::size_t i = 0; i < timeline.entries().size(); ++i) {
            entry_of_row_[timeline.entries()[i].row] = i;
        }
    }

    Result<Done> write() {
        file_.raw("{\"meta\":{\"startTime\":");
        file_.decimal(static_cast<std::uint64_t>(std::max<std::int64_t>(timeline_.first_utc().value, 0)), 6).raw(",");
        file_.raw(kMeta).raw("\"libs\":[],\"pages\":[],\n\"threads\":[");
        bool is_first = true;
        for (const Timeline::Track& track : timeline_.tracks()) {
            file_.next(is_first);
            write_thread(track);
        }
        file_.raw("]}\n");
        return file_.finish();
    }

    // Amounts that the format can't hold.
    void warn(std::vector<std::string>& warnings) const {
        for (const auto& [unit, amounts] : amounts_) {
            amounts.warn_of_rounding(unit, warnings);
        }
    }

private:
    template <class Values, class Write>
    void list(std::string_view name, const Values& values, const Write& write) {
        file_.text(name).raw(":[");
        bool is_first = true;
        for (const auto& value : values) {
            file_.next(is_first);
            write(value);
        }
        file_.raw("],");
    }
    template <class Values>
    void constants(std::string_view name, const Values& values, std::string_view constant) {
        list(name, values, [&](const auto&) { file_.raw(constant); });
    }
    void length(std::size_t count) { file_.raw("\"length\":").number(count).raw("}"); }

    std::uint32_t string_of(const std::string& text) {
        const auto [known, is_new] = strings_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
        if (is_new) {
            texts_.push_back(&known->first);
        }
        return known->second;
    }

    // The thread's stack for a node, after those of its callers; kNoFrame: no frame.
    std::uint32_t stack_of(std::uint32_t node) {
        chain_.clear();
        for (; node != 0; node = timeline_.nodes()[node].caller) {
            chain_.push_back(node);
        }
        std::uint32_t stack = kNoFrame;
        for (auto outer = chain_.rbegin(); outer != chain_.rend(); ++outer) {
            const auto [known, is_new] = stack_numbers_.try_emplace(*outer, static_cast<std::uint32_t>(stacks_.size()));
            if (is_new) {
                stacks_.push_back({frames_.number_of(timeline_.nodes()[*outer].frame), stack});
            }
            stack = known->second;
        }
        return stack;
    }

    const TimelineFrame& frame(std::uint64_t key) const { return timeline_.frames()[key]; }
    static std::string_view category(const TimelineFrame& frame) { return frame.is_kernel ? "2" : "1"; }
    void optional(std::uint32_t number) { number == kNoFrame ? file_.raw("null") : file_.number(number); }
    void time(std::uint64_t time_ns) { file_.decimal(time_ns - timeline_.first_ns(), 6); }

    void write_thread(const Timeline::Track& track) {
        frames_ = {};
        stack_numbers_.clear();
        stacks_.clear();
        strings_.clear();
        texts_.clear();
        const TimelineThread& thread = timeline_.threads()[track.thread];
        const TimelineEvent& event = timeline_.events()[track.event];
        const std::string process =
            (timeline_.targets().size() > 1 ? timeline_.targets()[thread.target] + " " : std::string{}) +
            thread.command;
        file_.raw("\n{\"name\":").text(thread.command + " (" + event.name + ")");
        file_.raw(",\"processName\":").text(process).raw(",\"processType\":\"default\",\"isMainThread\":");
        file_.raw(thread.pid == thread.tid ? "true" : "false").raw(",\"pid\":").text(std::to_string(thread.pid));
        file_.raw(",\"tid\":").number(thread.tid);
        file_.raw(",\"registerTime\":0,\"unregisterTime\":null,\"processStartupTime\":0,\"processShutdownTime\":null");
        file_.raw(",\"pausedRanges\":[],");
        write_samples(track, event);
        write_markers(track, event);
        write_tables();
        list("stringArray", texts_, [&](const std::string* text) { file_.text(*text); });
        file_.raw("\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}}");
    }

    void write_samples(const Timeline::Track& track, const TimelineEvent& event) {
        const auto row = [&](std::uint32_t number) -> const TimelineRow& { return timeline_.rows()[number]; };
        // The profiler's weight types; numbers of other events are shown as samples.
        const bool has_time = event.has_time();
        const bool has_bytes = event.is_amount && event.unit == "bytes";
        file_.raw("\"samples\":{\"weightType\":");
        file_.text(has_time ? "tracing-ms" : has_bytes ? "bytes" : "samples").raw(",");
        list("stack", track.rows, [&](std::uint32_t number) { optional(stack_of(row(number).node)); });
        list("time", track.rows, [&](std::uint32_t number) { time(row(number).time_ns); });
        list("weight", track.rows, [&](std::uint32_t number) {
            static_cast<void>(amounts_[event.unit].add(row(number).amount));  // also amounts below 0
            file_.signed_decimal(row(number).amount, has_time ? 6 : 0);
        });
        length(track.rows.size());
        file_.raw(",");
    }

    void write_markers(const Timeline::Track& track, const TimelineEvent& event) {
        std::vector<std::uint32_t> rows;
        std::copy_if(track.rows.begin(), track.rows.end(), std::back_inserter(rows),
                     [&](std::uint32_t number) { return entry_of_row_.contains(number); });
        file_.raw("\"markers\":{");
        list("data", rows, [&](std::uint32_t number) {
            file_.raw("{\"type\":\"tracepoint\",\"fields\":");
            file_.text(timeline_.entries()[entry_of_row_.at(number)].text).raw("}");
        });
        const std::string name = std::to_string(rows.empty() ? 0 : string_of(event.name));
        constants("name", rows, name);
        list("startTime", rows, [&](std::uint32_t number) { time(timeline_.rows()[number].time_ns); });
        constants("endTime", rows, "null");
        constants("phase", rows, "0");
        constants("category", rows, "0");
        length(rows.size());
        file_.raw(",");
    }

    // Writes a frame and a function for each symbol.
    void write_tables() {
        file_.raw("\"stackTable\":{");
        list("frame", stacks_, [&](const Stack& stack) { file_.number(stack.frame); });
        list("prefix", stacks_, [&](const Stack& stack) { optional(stack.prefix); });
        list("category", stacks_, [&](const Stack& stack) { file_.raw(category(frame(frames_.keys()[stack.frame]))); });
        constants("subcategory", stacks_, "0");
        length(stacks_.size());

        const std::vector<std::uint64_t>& frames = frames_.keys();
        std::uint32_t number = 0;
        file_.raw(",\"frameTable\":{");
        constants("address", frames, "-1");
        constants("inlineDepth", frames, "0");
        list("category", frames, [&](std::uint64_t key) { file_.raw(category(frame(key))); });
        constants("subcategory", frames, "0");
        list("func", frames, [&](std::uint64_t) { file_.number(number++); });
        for (const std::string_view name : {"nativeSymbol", "innerWindowID", "implementation", "line", "column"}) {
            constants(name, frames, "null");
        }
        length(frames.size());

        std::map<std::string, std::uint32_t> resources;  // images
        std::vector<std::uint32_t> names;
        for (const std::uint64_t key : frames) {
            if (resources.try_emplace(frame(key).image, static_cast<std::uint32_t>(names.size())).second) {
                names.push_back(string_of(frame(key).image));
            }
        }
        file_.raw(",\"funcTable\":{");
        list("name", frames, [&](std::uint64_t key) { file_.number(string_of(frame(key).symbol)); });
        constants("isJS", frames, "false");
        constants("relevantForJS", frames, "false");
        list("resource", frames, [&](std::uint64_t key) { file_.number(resources.at(frame(key).image)); });
        list("fileName", frames, [&](std::uint64_t key) {
            const auto source = source_of(frame(key));
            file_.number(string_of(source ? std::string{source->file} : frame(key).image));
        });
        list("lineNumber", frames, [&](std::uint64_t key) {
            if (const auto source = source_of(frame(key))) {
                file_.number(source->first_line);
            } else {
                file_.raw("null");
            }
        });
        constants("columnNumber", frames, "null");
        length(frames.size());

        constexpr std::string_view kLibrary = "1";
        file_.raw(",\"resourceTable\":{");
        constants("lib", names, "null");
        list("name", names, [&](std::uint32_t name) { file_.number(name); });
        constants("host", names, "null");
        constants("type", names, kLibrary);
        length(names.size());
        file_.raw(",");
    }

    struct Stack {
        std::uint32_t frame = 0;
        std::uint32_t prefix = kNoFrame;
    };

    const Timeline& timeline_;
    JsonFile file_;
    std::unordered_map<std::size_t, std::size_t> entry_of_row_;
    std::map<std::string, ShownAmounts> amounts_;  // by unit

    // Of the current thread.
    Numbers frames_;  // of the timeline
    std::unordered_map<std::uint32_t, std::uint32_t> stack_numbers_;
    std::vector<Stack> stacks_;
    std::map<std::string, std::uint32_t> strings_;
    std::vector<const std::string*> texts_;
    std::vector<std::uint32_t> chain_;
};

struct FirefoxOptions {
    bool is_uncompressed = false;
};

const OptionTable<FirefoxOptions>& firefox_options() {
    static const OptionTable<FirefoxOptions> kTable = OptionTable<FirefoxOptions>{}.flag(
        "uncompressed", &FirefoxOptions::is_uncompressed, "of firefox: not compressed by gzip, as of a FILE.json");
    return kTable;
}

Result<QueryEnd> write_firefox(const ExportInput& input, Symbolizer& symbolizer, const FirefoxOptions& options,
                               ExportSink& sink) {
    const auto timeline = PERFLEET_TRY(Timeline::read(input.scan, symbolizer));
    FirefoxFile file{*timeline, sink, !options.is_uncompressed};
    PERFLEET_TRY(file.write());
    QueryEnd outcome = timeline->outcome();
    file.warn(outcome.warnings);
    return outcome;
}

}  // namespace

ExportFormat firefox_format() {
    return with_options({.name = "firefox", .summary = "for the Firefox Profiler"}, firefox_options(), write_firefox);
}

}  // namespace perfleet
