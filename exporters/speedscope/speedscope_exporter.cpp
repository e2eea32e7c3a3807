// Writes the selected rows as JSON for speedscope (https://www.speedscope.app/file-format-schema.json).
//
// Each event and thread has a profile of type "sampled", named `EVENT COMMAND PID/TID`. A sample's weight is its amount
// (session/measure.h). If that is in ns, a sample lasts as long and ends at its time, with samples without frames in
// the gaps. Amounts below 0 are left out, with a warning. A frame's `file` is its image.
//
// Errors: kTooLarge (the query's memory is exceeded), those of store and sink.
#include <algorithm>
#include <map>

#include "exporters/timeline/json_file.h"
#include "exporters/timeline/timeline.h"
#include "query-engine/service/export_format.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {
namespace {

// A call chain and its duration; no frames between two samples.
struct Span {
    std::uint32_t node = 0;
    std::uint64_t weight = 0;
    bool is_sample = false;
};

class SpeedscopeFile {
public:
    SpeedscopeFile(const Timeline& timeline, ExportSink& sink) : timeline_{timeline}, file_{sink, false} {}

    Result<Done> write() {
        file_.raw(R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"perfleet",)");
        file_.raw(R"("name":"perfleet","activeProfileIndex":0,"shared":{"frames":[)");
        bool is_first = true;
        for (const TimelineFrame& frame : timeline_.frames()) {
            const auto source = source_of(frame);
            file_.next(is_first).raw("\n{\"name\":").text(frame.symbol).raw(",\"file\":");
            file_.text(source ? source->file : frame.image);
            if (source) {
                file_.raw(",\"line\":").number(source->first_line);
            }
            file_.raw("}");
        }
        file_.raw("]},\n\"profiles\":[");
        is_first = true;
        for (const Timeline::Track& track : timeline_.tracks()) {
            file_.next(is_first);
            write_profile(track);
        }
        file_.raw("]}\n");
        return file_.finish();
    }

    // Amounts that the format can't hold.
    void warn(std::vector<std::string>& warnings) const {
        for (const auto& [unit, amounts] : amounts_) {
            amounts.warn_of_negative(unit, warnings);
            amounts.warn_of_rounding(unit, warnings);
        }
    }

private:
    void write_profile(const Timeline::Track& track) {
        const TimelineEvent& event = timeline_.events()[track.event];
        std::uint64_t start = 0;
        list_spans(track, event, start);
        std::uint64_t end = start;
        for (const Span& span : spans_) {
            end += span.weight;
        }
        file_.raw("\n{\"type\":\"sampled\",\"name\":").text(event.name + " " + timeline_.thread_name(track.thread));
        file_.raw(",\"unit\":")
            .text(event.has_time()                           ? "nanoseconds"
                  : event.is_amount && event.unit == "bytes" ? "bytes"
                                                             : "none");
        file_.raw(",\"startValue\":").number(start).raw(",\"endValue\":").number(end).raw(",\"samples\":[");
        bool is_first = true;
        for (const Span& span : spans_) {
            file_.next(is_first).raw("[");
            write_chain(span);
            file_.raw("]");
        }
        file_.raw("],\"weights\":[");
        is_first = true;
        for (const Span& span : spans_) {
            file_.next(is_first).number(span.weight);
        }
        file_.raw("]}");
    }

    // Times count from the first row of all threads.
    void list_spans(const Timeline::Track& track, const TimelineEvent& event, std::uint64_t& start) {
        const bool has_time = event.has_time();
        spans_.clear();
        std::uint64_t end = 0;
        for (const std::uint32_t number : track.rows) {
            const TimelineRow& row = timeline_.rows()[number];
            if (!amounts_[event.unit].add(row.amount)) {
                continue;
            }
            const auto weight = static_cast<std::uint64_t>(row.amount);
            const std::uint64_t at = row.time_ns - timeline_.first_ns();
            const std::uint64_t begins = at - std::min(at, weight);
            if (has_time && spans_.empty()) {
                start = begins;
                end = begins;
            }
            if (has_time && begins > end) {
                spans_.push_back({0, begins - end, false});
                end = begins;
            }
            spans_.push_back({row.node, weight, true});
            end += weight;
        }
    }

    // The outermost frame first.
    void write_chain(const Span& span) {
        chain_.clear();
        for (std::uint32_t node = span.is_sample ? span.node : 0; node != 0; node = timeline_.nodes()[node].caller) {
            chain_.push_back(timeline_.nodes()[node].frame);
        }
        bool is_first = true;
        for (auto frame = chain_.rbegin(); frame != chain_.rend(); ++frame) {
            file_.next(is_first).number(*frame);
        }
    }

    const Timeline& timeline_;
    JsonFile file_;
    std::vector<Span> spans_;
    std::vector<std::uint32_t> chain_;
    std::map<std::string, ShownAmounts> amounts_;  // by unit
};

Result<QueryEnd> write_speedscope(const ExportInput& input, Symbolizer& symbolizer, const NoOptions&,
                                  ExportSink& sink) {
    const auto timeline = PERFLEET_TRY(Timeline::read(input.scan, symbolizer));
    SpeedscopeFile file{*timeline, sink};
    PERFLEET_TRY(file.write());
    QueryEnd outcome = timeline->outcome();
    file.warn(outcome.warnings);
    return outcome;
}

}  // namespace

ExportFormat speedscope_format() {
    return with_options({.name = "speedscope", .summary = "for speedscope, with the time of each sample"}, no_options(),
                        write_speedscope);
}

}  // namespace perfleet
