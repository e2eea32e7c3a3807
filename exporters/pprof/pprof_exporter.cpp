// Writes the selected rows as a pprof profile (profile.proto of github.com/google/pprof), gzip-compressed, for `go tool
// pprof`, Grafana, speedscope and other tools.
//
// A sample is a call chain of a command (label `comm`) with a value for each event: its rows (`samples`, or
// `EVENT:samples` with several events) and, if the event has a unit, the sum of their weights (`EVENT`). Functions have
// the names that `top` shows; code of a file without a symbol is a location with no function, which readers may
// symbolise. A location is an address in its image: an offset in the file for ELF files, else an address in memory.
// Comments list losses and all warnings. With `has_inlines` a location has a source line for each function that was
// inlined there, the innermost first, and one for its own. Targets are not separated. Imported profiles are written as
// they came (imported_profiles.h).
//
// A selection without samples gives a profile without samples, and a warning. Errors: kTooLarge (the query's memory is
// exceeded), those of store and sink.
//
// `go-pgo` is the same message as Go's compiler reads it (`go build -pgo`), which merges calls by function and by the
// call's line counted from its function's first: one value, `cpu` in nanoseconds or `samples`; inlined functions; and
// only functions whose first line is known, which kernels and libraries don't have.
#include <algorithm>
#include <limits>
#include <protozero/pbf_builder.hpp>
#include <set>
#include <string>
#include <utility>

#include "exporters/pprof/imported_profiles.h"
#include "exporters/pprof/profile_writer.h"
#include "exporters/profile/profile_sources.h"
#include "exporters/profile/profile_tables.h"
#include "exporters/report/report.h"
#include "query-engine/service/export_format.h"
#include "query-engine/statistic/stack/call_path.h"
#include "query-engine/statistic/stack/source_expansion.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/pprof/sample_labels.h"
#include "schemas/text/hex.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/off_cpu.h"

namespace perfleet {
namespace {

using protozero::pbf_builder;

constexpr std::uint64_t kPageSizeBytes = 4096;

// The spelling of pprof and its readers.
std::string unit_of(const ProfileValue& value) {
    return !value.is_amount ? "count" : value.unit == "ns" ? "nanoseconds" : value.unit;
}

// A value of the message's samples.
struct MessageValue {
    std::size_t index = 0;  // of ProfileTables::values()
    std::string type;
    std::string unit;
};

// With one event, type names are pprof's own; with several, they name the event.
std::vector<MessageValue> all_values(const ProfileTables& tables) {
    std::vector<MessageValue> values;
    for (const ProfileValue& value : tables.values()) {
        const bool is_only = tables.events().size() <= 1;
        values.push_back({values.size(),
                          value.is_amount ? value.event
                          : is_only       ? value.unit
                                          : value.event + ":" + value.unit,
                          unit_of(value)});
    }
    return values;
}

// Of the two that Go's compiler reads, CPU time before rows. Empty: there is neither.
std::vector<MessageValue> go_values(const ProfileTables& tables) {
    std::vector<MessageValue> values;
    for (std::size_t i = 0; i < tables.values().size(); ++i) {
        const ProfileValue& value = tables.values()[i];
        if (off_cpu::is_event(value.event)) {
            continue;
        }
        if (value.is_amount && value.unit == "ns") {
            return {{i, "cpu", "nanoseconds"}};
        }
        if (!value.is_amount && values.empty()) {
            values.push_back({i, "samples", "count"});
        }
    }
    return values;
}

// Writes the message's fields; the fields of one number are written together.
class ProfileMessage {
public:
    // `sources` null: without source lines. Leaves out frames without first line if `needs_first_lines`.
    ProfileMessage(const Scan& scan, const ProfileTables& tables, const ProfileSources* sources,
                   std::vector<MessageValue> values, bool needs_first_lines, ExportSink& sink)
        : scan_{scan},
          tables_{tables},
          sources_{sources},
          message_values_{std::move(values)},
          needs_first_lines_{needs_first_lines},
          out_{sink, scan.memory()} {}

    // Samples that were left out because no frame was left.
    [[nodiscard]] std::size_t empty_count() const { return empty_count_; }

    Result<Done> write(const ProfileNotes& notes) {
        write_types();
        write_time();
        for (const auto& [event, ledger] : notes.ledgers) {
            write_comment(event + ": " + ledger_line(ledger));
        }
        for (const std::string& warning : notes.warnings) {
            write_comment("warning: " + warning);
        }
        has_functions_.resize(tables_.images().size());
        for (const ProfileFunction& function : tables_.functions()) {
            has_functions_[function.image] = has_functions_[function.image] || function.has_symbol;
        }
        const std::uint32_t main = main_image();
        for (std::uint32_t i = 0; i < tables_.images().size(); ++i) {
            write_mapping(i == 0 ? main : i == main ? 0 : i);
        }
        const std::size_t function_count =
            sources_ != nullptr ? sources_->functions().size() : tables_.functions().size();
        for (std::uint32_t i = 0; i < function_count; ++i) {
            const bool is_written = needs_first_lines_ ? sources_->functions()[i].first_line != 0
                                                       : sources_ != nullptr || tables_.functions()[i].has_symbol;
            if (is_written) {
                write_function(i);
            }
        }
        for (std::uint32_t i = 0; i < tables_.locations().size(); ++i) {
            if (!is_left_out(i)) {
                write_location(i);
            }
        }
        for (std::size_t i = 0; i < tables_.samples().size() && !out_.has_failed(); ++i) {
            write_sample(i);
        }
        return out_.finish();
    }

private:
    void write_type(pprof::Profile field, const MessageValue& value) {
        out_.value_type(field, printable(value.type), printable(value.unit));
    }

    void write_types() {
        for (const MessageValue& value : message_values_) {
            write_type(pprof::Profile::kSampleType, value);
        }
        const auto shown = std::find_if(message_values_.begin(), message_values_.end(),
                                        [&](const auto& value) { return value.index == tables_.default_value(); });
        out_.text(pprof::Profile::kDefaultSampleType,
                  printable((shown == message_values_.end() ? message_values_.front() : *shown).type));
        const auto weight = std::find_if(message_values_.begin(), message_values_.end(),
                                         [&](const auto& value) { return tables_.values()[value.index].is_amount; });
        const std::uint64_t period = weight == message_values_.end() ? 0 : period_of(tables_.values()[weight->index]);
        if (period != 0) {
            write_type(pprof::Profile::kPeriodType, *weight);
            out_.number(pprof::Profile::kPeriod, static_cast<std::int64_t>(period));
        }
    }

    void write_comment(const std::string& text) {
        if (comments_.insert(text).second) {
            out_.profile().add_int64(pprof::Profile::kComment, out_.string(printable_lines(text)));
        }
    }

    // The sampling period, if it is the same in all sessions; else 0.
    std::uint64_t period_of(const ProfileValue& value) const {
        std::set<std::uint64_t> periods;
        for (const ScannedSession& session : scan_.sessions()) {
            for (const EventRecord& event : session.record.events) {
                if (event.name == value.event) {
                    periods.insert(!event.is_frequency                       ? event.period
                                   : event.unit == "ns" && event.period != 0 ? kNsPerSecond / event.period
                                                                             : 0);
                }
            }
        }
        return periods.size() == 1 ? *periods.begin() : 0;
    }

    void write_time() {
        UtcNs first{std::numeric_limits<std::int64_t>::max()};
        UtcNs last{std::numeric_limits<std::int64_t>::min()};
        for (const Measure& event : tables_.events()) {
            if (const auto range = event_time_range(scan_, event.event)) {
                first = std::min(first, range->first);
                last = std::max(last, range->second);
            }
        }
        if (first <= last) {
            out_.profile().add_int64(pprof::Profile::kTimeNanos, first.value);
            out_.profile().add_int64(pprof::Profile::kDurationNanos, last.value - first.value);
        }
    }

    // The file with the most self samples: readers take the first mapping for the profiled program.
    std::uint32_t main_image() const {
        std::vector<std::int64_t> self(tables_.images().size());
        for (std::size_t i = 0; i < tables_.samples().size(); ++i) {
            const std::uint32_t image = tables_.locations()[tables_.nodes()[tables_.samples()[i].node].location].image;
            self[image] += is_file(tables_.images()[image].definition) ? tables_.value(i, tables_.default_value()) : 0;
        }
        return static_cast<std::uint32_t>(std::max_element(self.begin(), self.end()) - self.begin());
    }

    void write_mapping(std::uint32_t number) {
        const ProfileImage& image = tables_.images()[number];
        const ImageDefinition& definition = image.definition;
        const std::uint64_t size =
            std::max(definition.size_bytes, (image.offset_last / kPageSizeBytes + 1) * kPageSizeBytes);
        pbf_builder<pprof::Mapping> mapping{out_.profile(), pprof::Profile::kMapping};
        mapping.add_uint64(pprof::Mapping::kId, std::uint64_t{number} + 1);
        mapping.add_uint64(pprof::Mapping::kMemoryStart, definition.address);
        mapping.add_uint64(pprof::Mapping::kMemoryLimit, definition.address + size);
        mapping.add_int64(pprof::Mapping::kFilename,
                          out_.string(printable(is_file(definition) ? definition.name : image.name)));
        mapping.add_int64(pprof::Mapping::kBuildId, out_.string(hex_of(build_id_of(definition))));
        mapping.add_bool(pprof::Mapping::kHasFunctions, has_functions_[number]);
    }

    // Without a system name: that would be a linker's symbol, which these are not.
    void write_function(std::uint32_t number) {
        const std::string& name =
            sources_ != nullptr ? sources_->functions()[number].name : tables_.functions()[number].name;
        {
            pbf_builder<pprof::Function> function{out_.profile(), pprof::Profile::kFunction};
            function.add_uint64(pprof::Function::kId, std::uint64_t{number} + 1);
            function.add_int64(pprof::Function::kName, out_.string(printable(name)));
            if (sources_ != nullptr && !sources_->functions()[number].file.empty()) {
                function.add_int64(pprof::Function::kFilename,
                                   out_.string(printable(sources_->functions()[number].file)));
            }
            if (sources_ != nullptr && sources_->functions()[number].first_line != 0) {
                function.add_int64(pprof::Function::kStartLine, sources_->functions()[number].first_line);
            }
        }
        out_.flush_if_full();
    }

    [[nodiscard]] bool is_left_out(std::uint32_t location) const {
        if (!needs_first_lines_) {
            return false;
        }
        const auto lines = sources_->lines(location);
        return lines.empty() || std::any_of(lines.begin(), lines.end(), [&](const SourceLine& line) {
                   return sources_->functions()[line.function].first_line == 0;
               });
    }

    void write_location(std::uint32_t number) {
        const ProfileLocation& place = tables_.locations()[number];
        {
            pbf_builder<pprof::Location> location{out_.profile(), pprof::Profile::kLocation};
            location.add_uint64(pprof::Location::kId, std::uint64_t{number} + 1);
            location.add_uint64(pprof::Location::kMappingId, std::uint64_t{place.image} + 1);
            location.add_uint64(pprof::Location::kAddress,
                                tables_.images()[place.image].definition.address + place.offset);
            write_lines(location, number);
        }
        out_.flush_if_full();
    }

    void write_lines(pbf_builder<pprof::Location>& location, std::uint32_t number) {
        const std::uint32_t function = tables_.locations()[number].function;
        if (sources_ == nullptr) {
            if (tables_.functions()[function].has_symbol) {
                pbf_builder<pprof::Line> line{location, pprof::Location::kLine};
                line.add_uint64(pprof::Line::kFunctionId, std::uint64_t{function} + 1);
            }
            return;
        }
        for (const SourceLine& source : sources_->lines(number)) {
            pbf_builder<pprof::Line> line{location, pprof::Location::kLine};
            line.add_uint64(pprof::Line::kFunctionId, std::uint64_t{source.function} + 1);
            line.add_int64(pprof::Line::kLine, source.line);
        }
    }

    void write_sample(std::size_t number) {
        const ProfileSample& counted = tables_.samples()[number];
        chain_.clear();
        for (std::uint32_t node = counted.node; node != 0; node = tables_.nodes()[node].caller) {
            if (!is_left_out(tables_.nodes()[node].location)) {
                chain_.push_back(std::uint64_t{tables_.nodes()[node].location} + 1);
            }
        }
        if (chain_.empty() && needs_first_lines_) {
            ++empty_count_;
            return;
        }
        values_.clear();
        for (const MessageValue& value : message_values_) {
            values_.push_back(tables_.value(number, value.index));
        }
        {
            pbf_builder<pprof::Sample> sample{out_.profile(), pprof::Profile::kSample};
            sample.add_packed_uint64(pprof::Sample::kLocationId, chain_.begin(), chain_.end());
            sample.add_packed_int64(pprof::Sample::kValue, values_.begin(), values_.end());
            pbf_builder<pprof::Label> label{sample, pprof::Sample::kLabel};
            label.add_int64(pprof::Label::kKey, out_.string(kCommLabel));
            label.add_int64(pprof::Label::kStr, out_.string(printable(tables_.commands()[counted.command])));
        }
        out_.flush_if_full();
    }

    const Scan& scan_;
    const ProfileTables& tables_;
    const ProfileSources* sources_;
    std::vector<MessageValue> message_values_;
    bool needs_first_lines_;
    std::size_t empty_count_ = 0;
    ProfileWriter out_;
    std::set<std::string> comments_;
    std::vector<bool> has_functions_;  // by image, whether any has a symbol
    std::vector<std::uint64_t> chain_;
    std::vector<std::int64_t> values_;
};

Result<Done> check_input_of_go(const ProfileTables& tables, const ProfileSources& sources,
                               std::span<const MessageValue> values) {
    const auto& functions = sources.functions();
    if (values.empty()) {
        return Error{ErrorCode::kNotFound, "go-pgo: the selection has no event of running code (--event chooses one)"};
    }
    if (!tables.samples().empty() &&
        std::all_of(functions.begin(), functions.end(), [](const auto& known) { return known.first_line == 0; })) {
        return Error{ErrorCode::kNotFound,
                     "go-pgo: the first line of no function is known: neither the store nor the program at its path, "
                     "or below --symfs, has its debug information (go build -ldflags=-w leaves it out)"};
    }
    return Done{};
}

struct PprofOptions {
    bool has_inlines = false;
    std::vector<std::string> below;  // only samples of this call path (call_path.h); empty: all
};

const OptionTable<PprofOptions>& pprof_options() {
    static const OptionTable<PprofOptions> kTable =
        OptionTable<PprofOptions>{}
            .flag("inlines", &PprofOptions::has_inlines, inline_option().specs().front().summary)
            .text({.name = "below",
                   .value_name = "PATH",
                   .summary = "pprof: only samples below this call path, the thread's name first: 'nginx;main;serve'"},
                  [](const std::string& text, PprofOptions& options) -> Result<Done> {
                      options.below = parse_call_path(text);
                      return Done{};
                  });
    return kTable;
}

Result<QueryEnd> write_message(const ExportInput& input, Symbolizer& symbolizer, const PprofOptions& options,
                               bool is_for_go, ExportSink& sink) {
    const Scan& scan = input.scan;
    if (options.below.empty()) {
        if (auto imported = PERFLEET_TRY(write_imported_profiles(scan, sink))) {
            return *std::move(imported);
        }
    }
    ProfileTables tables{symbolizer, scan.memory(), scan.worker_count()};
    PERFLEET_TRY(tables.count(scan, options.below));
    ProfileNotes notes = tables.notes(scan);
    std::optional<ProfileSources> sources;
    if (options.has_inlines) {
        sources.emplace(tables, symbolizer, scan.memory());
        if (scan.memory().is_exceeded()) {
            return scan.memory().exceeded();
        }
    }
    if (std::any_of(scan.sessions().begin(), scan.sessions().end(),
                    [](const ScannedSession& session) { return has_imported_values(session.record); })) {
        notes.warnings.emplace_back(
            options.below.empty()
                ? "the selection has imported profiles beside other sessions, or one whose description isn't in the "
                  "store: their labels, mappings and comments are left out (--session selects one)"
                : "labels, mappings and comments of imported profiles are left out (--below)");
    }
    std::vector<MessageValue> values = is_for_go ? go_values(tables) : all_values(tables);
    if (is_for_go) {
        PERFLEET_TRY(check_input_of_go(tables, *sources, values));
    }
    ProfileMessage message{scan, tables, sources ? &*sources : nullptr, std::move(values), is_for_go, sink};
    PERFLEET_TRY(message.write(notes));
    QueryEnd outcome;
    outcome.summary =
        counted_noun(tables.row_count(), "sample") + " in " + counted_noun(tables.samples().size(), "stack");
    for (const auto& [event, ledger] : notes.ledgers) {
        outcome.ledger.add(ledger);
    }
    outcome.warnings = std::move(notes.warnings);
    if (message.empty_count() != 0) {
        outcome.warnings.push_back("go-pgo: left out, without a function of known first line: " +
                                   counted_noun(message.empty_count(), "stack"));
    }
    return outcome;
}

}  // namespace

ExportFormat pprof_format() {
    return with_options({.name = "pprof", .summary = "for go tool pprof, speedscope and others"}, pprof_options(),
                        [](const ExportInput& input, Symbolizer& symbolizer, const PprofOptions& options,
                           ExportSink& sink) { return write_message(input, symbolizer, options, false, sink); });
}

ExportFormat go_pgo_format() {
    return with_options({.name = "go-pgo", .summary = "for go build -pgo"}, no_options(),
                        [](const ExportInput& input, Symbolizer& symbolizer, const NoOptions&, ExportSink& sink) {
                            return write_message(input, symbolizer, {.has_inlines = true, .below = {}}, true, sink);
                        });
}

}  // namespace perfleet
