// Writes the selected rows as a pprof profile (profile.proto of github.com/google/pprof), gzip-compressed, for `go tool
// pprof`, Grafana, speedscope and other tools.
//
// A sample is a call chain of a command (label `comm`) with a value for each event: its rows (`samples`, or
// `EVENT:samples` with several events) and, if the event has a unit, the sum of their weights (`EVENT`). Functions have
// the names that `top` shows; those without a symbol are `[image+0xstart]`, or `[image]`. A location is an address in
// its image: an offset in the file for ELF files, else an address in memory. Comments list losses and all warnings.
// With `has_inlines` a location has a source line for each function that was inlined there, the innermost first, and
// one for its own. Targets are not separated.
//
// A selection without samples gives a profile without samples, and a warning. Errors: kTooLarge (the query's memory is
// exceeded), those of store and sink.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "exporters/pprof/pprof_message.h"
#include "exporters/profile/profile_sources.h"
#include "exporters/profile/profile_tables.h"
#include "exporters/profile/sample_labels.h"
#include "exporters/report/report.h"
#include "exporters/sink/gzip_stream.h"
#include "query-engine/service/export_format.h"
#include "query-engine/statistic/stack/source_expansion.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "schemas/text/numbered_name.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

using protozero::pbf_builder;

constexpr std::size_t kPprofBufferSizeBytes = 64U << 10U;
constexpr std::uint64_t kPageSizeBytes = 4096;
const std::vector<SampleLabel> kNoLabels;

// The spelling of pprof and its readers.
std::string unit_of(const ProfileValue& value) {
    return !value.is_amount ? "count" : value.unit == "ns" ? "nanoseconds" : value.unit;
}

bool is_file(const ProfileImage& image) {
    return image.definition.name.starts_with('/') && !image.definition.name.starts_with("//");
}

class StringTable {
public:
    StringTable() { number_of(""); }

    std::int64_t number_of(const std::string& text_untrusted) { return add(printable(text_untrusted)); }
    std::int64_t number_of_lines(const std::string& text_untrusted) { return add(printable_lines(text_untrusted)); }
    [[nodiscard]] const std::vector<const std::string*>& texts() const { return texts_; }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }  // of memory, about

private:
    std::int64_t add(std::string text) {
        const auto [entry, is_new] = numbers_.try_emplace(std::move(text), static_cast<std::int64_t>(texts_.size()));
        if (is_new) {
            texts_.push_back(&entry->first);
            size_bytes_ += entry->first.size() + kEntrySizeBytes;
        }
        return entry->second;
    }

    static constexpr std::size_t kEntrySizeBytes = 80;

    std::unordered_map<std::string, std::int64_t> numbers_;
    std::vector<const std::string*> texts_;  // keys of numbers_
    std::size_t size_bytes_ = 0;
};

// Writes the message's fields; the fields of one number are written together.
class ProfileMessage {
public:
    // `sources` null: without source lines.
    ProfileMessage(const Scan& scan, const ProfileTables& tables, const ProfileSources* sources, ExportSink& sink)
        : scan_{scan}, tables_{tables}, sources_{sources}, gzip_{sink}, share_{scan.memory()} {}

    Result<Done> write(const ProfileNotes& notes) {
        write_types();
        write_time();
        write_kept_notes();
        for (const auto& [event, ledger] : notes.ledgers) {
            write_comment(event + ": " + ledger_line(ledger));
        }
        for (const std::string& warning : notes.warnings) {
            write_comment("warning: " + warning);
        }
        const std::uint32_t main = main_image();
        for (std::uint32_t i = 0; i < tables_.images().size(); ++i) {
            write_mapping(i == 0 ? main : i == main ? 0 : i);
        }
        const std::size_t function_count =
            sources_ != nullptr ? sources_->functions().size() : tables_.functions().size();
        for (std::uint32_t i = 0; i < function_count; ++i) {
            write_function(i);
        }
        for (std::uint32_t i = 0; i < tables_.locations().size(); ++i) {
            if (!is_inlined(i)) {
                write_location(std::uint64_t{i} + 1, {&i, 1});
            }
        }
        share_.set(strings_.size_bytes());
        for (std::size_t i = 0; i < tables_.samples().size() && !failure_; ++i) {
            write_sample(i);
        }
        for (const std::string* text : strings_.texts()) {
            profile_.add_string(pprof::Profile::kStringTable, *text);
            flush_if_full();
        }
        flush();
        if (failure_) {
            return *failure_;
        }
        return gzip_.finish();
    }

private:
    // With one event, type names are pprof's own; with several, they name the event.
    std::int64_t type_of(const ProfileValue& value) {
        const bool is_only = tables_.events().size() <= 1;
        // Types of an imported profile that have one name stand apart by their order there.
        const auto sessions = scan_.sessions();
        const bool is_of_pprof = std::all_of(sessions.begin(), sessions.end(), [](const ScannedSession& session) {
            return session.record.collector_version == kPprofCollector;
        });
        const std::string event{is_of_pprof ? without_number(value.event) : value.event};
        return strings_.number_of(value.is_amount ? event : is_only ? value.unit : event + ":" + value.unit);
    }

    template <class Field>
    void write_type(Field field, const ProfileValue& value) {
        pbf_builder<pprof::ValueType> type{profile_, field};
        type.add_int64(pprof::ValueType::kType, type_of(value));
        type.add_int64(pprof::ValueType::kUnit, strings_.number_of(unit_of(value)));
    }

    void write_types() {
        const std::vector<ProfileValue>& values = tables_.values();
        for (const ProfileValue& value : values) {
            write_type(pprof::Profile::kSampleType, value);
        }
        profile_.add_int64(pprof::Profile::kDefaultSampleType, type_of(values[tables_.default_value()]));
        const auto weight =
            std::find_if(values.begin(), values.end(), [](const auto& value) { return value.is_amount; });
        const std::uint64_t period = weight == values.end() ? 0 : period_of(*weight);
        if (period != 0) {
            write_type(pprof::Profile::kPeriodType, *weight);
            profile_.add_int64(pprof::Profile::kPeriod, static_cast<std::int64_t>(period));
        }
    }

    void write_comment(const std::string& text) {
        if (comments_.insert(text).second) {
            profile_.add_int64(pprof::Profile::kComment, strings_.number_of_lines(text));
        }
    }

    // Writes what an imported profile said about itself.
    void write_kept_notes() {
        bool has_frames = false;
        for (std::uint32_t i = 0; sources_ != nullptr && i < tables_.images().size(); ++i) {
            const KeptSources* const kept = sources_->kept(i);
            if (kept == nullptr) {
                continue;
            }
            for (const std::string& comment : kept->comments) {
                write_comment(comment);
            }
            if (!has_frames && (!kept->drop_frames.empty() || !kept->keep_frames.empty())) {
                has_frames = true;
                profile_.add_int64(pprof::Profile::kDropFrames, strings_.number_of(kept->drop_frames));
                profile_.add_int64(pprof::Profile::kKeepFrames, strings_.number_of(kept->keep_frames));
            }
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
            profile_.add_int64(pprof::Profile::kTimeNanos, first.value);
            profile_.add_int64(pprof::Profile::kDurationNanos, last.value - first.value);
        }
    }

    // The file with the most self samples: readers take the first mapping for the profiled program.
    std::uint32_t main_image() const {
        std::vector<std::int64_t> self(tables_.images().size());
        for (std::size_t i = 0; i < tables_.samples().size(); ++i) {
            const std::uint32_t image = tables_.locations()[tables_.nodes()[tables_.samples()[i].node].location].image;
            self[image] += is_file(tables_.images()[image]) ? tables_.value(i, tables_.default_value()) : 0;
        }
        return static_cast<std::uint32_t>(std::max_element(self.begin(), self.end()) - self.begin());
    }

    void write_mapping(std::uint32_t number) {
        const ProfileImage& image = tables_.images()[number];
        const ImageDefinition& definition = image.definition;
        const std::uint64_t size =
            std::max(definition.size_bytes, (image.offset_last / kPageSizeBytes + 1) * kPageSizeBytes);
        const std::int64_t name = strings_.number_of(is_file(image) ? definition.name : image.name);
        const KeptSources* const kept = sources_ != nullptr ? sources_->kept(number) : nullptr;
        const std::int64_t build_id =
            strings_.number_of(kept != nullptr ? kept->build_id : hex_of(build_id_of(definition)));
        pbf_builder<pprof::Mapping> mapping{profile_, pprof::Profile::kMapping};
        mapping.add_uint64(pprof::Mapping::kId, std::uint64_t{number} + 1);
        if (kept != nullptr) {
            mapping.add_uint64(pprof::Mapping::kMemoryStart, kept->start);
            mapping.add_uint64(pprof::Mapping::kMemoryLimit, kept->limit);
            mapping.add_uint64(pprof::Mapping::kFileOffset, kept->file_offset);
        } else {
            mapping.add_uint64(pprof::Mapping::kMemoryStart, definition.address);
            mapping.add_uint64(pprof::Mapping::kMemoryLimit, definition.address + size);
        }
        mapping.add_int64(pprof::Mapping::kFilename, name);
        mapping.add_int64(pprof::Mapping::kBuildId, build_id);
        const std::uint32_t flags = kept != nullptr ? kept->flags : 1;  // functions are already named for readers
        constexpr std::array kFlags{pprof::Mapping::kHasFunctions, pprof::Mapping::kHasFilenames,
                                    pprof::Mapping::kHasLineNumbers, pprof::Mapping::kHasInlineFrames};
        for (std::size_t i = 0; i < kFlags.size(); ++i) {
            if ((flags >> i & 1U) != 0) {
                mapping.add_bool(kFlags[i], true);
            }
        }
    }

    void write_function(std::uint32_t number) {
        const std::int64_t name = strings_.number_of(sources_ != nullptr ? sources_->functions()[number].name
                                                                         : tables_.functions()[number].name);
        {
            pbf_builder<pprof::Function> function{profile_, pprof::Profile::kFunction};
            function.add_uint64(pprof::Function::kId, std::uint64_t{number} + 1);
            function.add_int64(pprof::Function::kName, name);
            function.add_int64(pprof::Function::kSystemName, name);
            if (sources_ != nullptr && !sources_->functions()[number].file.empty()) {
                function.add_int64(pprof::Function::kFilename, strings_.number_of(sources_->functions()[number].file));
            }
            if (sources_ != nullptr && sources_->functions()[number].first_line != 0) {
                function.add_int64(pprof::Function::kStartLine, sources_->functions()[number].first_line);
            }
        }
        flush_if_full();
    }

    // Functions that were inlined in the imported profile share a location with their callers.
    [[nodiscard]] bool is_inlined(std::uint32_t location) const {
        const KeptSources::Place* const place = kept_place(location);
        return place != nullptr && place->is_inlined;
    }

    [[nodiscard]] const KeptSources::Place* kept_place(std::uint32_t location) const {
        const ProfileLocation& place = tables_.locations()[location];
        const KeptSources* const kept = sources_ != nullptr ? sources_->kept(place.image) : nullptr;
        return kept != nullptr ? kept->find(place.offset) : nullptr;
    }

    // Writes one location of the tables, or several, the innermost first, that were one in the imported profile.
    void write_location(std::uint64_t id, std::span<const std::uint32_t> parts) {
        const ProfileLocation& place = tables_.locations()[parts.back()];
        const KeptSources::Place* const kept = kept_place(parts.back());
        {
            pbf_builder<pprof::Location> location{profile_, pprof::Profile::kLocation};
            location.add_uint64(pprof::Location::kId, id);
            location.add_uint64(pprof::Location::kMappingId, std::uint64_t{place.image} + 1);
            location.add_uint64(
                pprof::Location::kAddress,
                kept != nullptr ? kept->address : tables_.images()[place.image].definition.address + place.offset);
            for (const std::uint32_t part : parts) {
                write_lines(location, part);
            }
        }
        flush_if_full();
    }

    void write_lines(pbf_builder<pprof::Location>& location, std::uint32_t number) {
        if (sources_ == nullptr) {
            pbf_builder<pprof::Line> line{location, pprof::Location::kLine};
            line.add_uint64(pprof::Line::kFunctionId, std::uint64_t{tables_.locations()[number].function} + 1);
            return;
        }
        for (const SourceLine& source : sources_->lines(number)) {
            pbf_builder<pprof::Line> line{location, pprof::Location::kLine};
            line.add_uint64(pprof::Line::kFunctionId, std::uint64_t{source.function} + 1);
            line.add_int64(pprof::Line::kLine, source.line);
            if (source.column != 0) {
                line.add_int64(pprof::Line::kColumn, source.column);
            }
        }
    }

    // The id of the location for several parts; writes a new one.
    [[nodiscard]] std::uint64_t group_of(const std::vector<std::uint32_t>& parts) {
        const auto [known, is_new] = groups_.try_emplace(parts, tables_.locations().size() + 1 + groups_.size());
        if (is_new) {
            write_location(known->second, parts);
        }
        return known->second;
    }

    void write_labels(pbf_builder<pprof::Sample>& sample, const ProfileSample& counted) {
        if (counted.labels == 0) {
            pbf_builder<pprof::Label> label{sample, pprof::Sample::kLabel};
            label.add_int64(pprof::Label::kKey, strings_.number_of("comm"));
            label.add_int64(pprof::Label::kStr, strings_.number_of(tables_.commands()[counted.command]));
            return;
        }
        for (const SampleLabel& one : decode_labels(tables_.labels()[counted.labels]).value_or(kNoLabels)) {
            pbf_builder<pprof::Label> label{sample, pprof::Sample::kLabel};
            label.add_int64(pprof::Label::kKey, strings_.number_of(std::string{one.key}));
            if (!one.text.empty()) {
                label.add_int64(pprof::Label::kStr, strings_.number_of(std::string{one.text}));
                continue;
            }
            label.add_int64(pprof::Label::kNum, one.number);
            if (!one.unit.empty()) {
                label.add_int64(pprof::Label::kNumUnit, strings_.number_of(std::string{one.unit}));
            }
        }
    }

    void write_sample(std::size_t number) {
        const ProfileSample& counted = tables_.samples()[number];
        chain_.clear();
        parts_.clear();
        for (std::uint32_t node = counted.node; node != 0; node = tables_.nodes()[node].caller) {
            const std::uint32_t location = tables_.nodes()[node].location;
            if (sources_ != nullptr && sources_->has_kept() && (is_inlined(location) || !parts_.empty())) {
                parts_.push_back(location);
                if (!is_inlined(location) || tables_.nodes()[node].caller == 0) {
                    chain_.push_back(group_of(parts_));
                    parts_.clear();
                }
            } else {
                chain_.push_back(std::uint64_t{location} + 1);
            }
        }
        values_.clear();
        for (std::size_t value = 0; value < tables_.values().size(); ++value) {
            values_.push_back(tables_.value(number, value));
        }
        {
            pbf_builder<pprof::Sample> sample{profile_, pprof::Profile::kSample};
            sample.add_packed_uint64(pprof::Sample::kLocationId, chain_.begin(), chain_.end());
            sample.add_packed_int64(pprof::Sample::kValue, values_.begin(), values_.end());
            write_labels(sample, counted);
        }
        flush_if_full();
    }

    void flush_if_full() {
        if (buffer_.size() >= kPprofBufferSizeBytes) {
            flush();
        }
    }

    void flush() {
        if (!failure_) {
            if (Result<Done> written = gzip_.write(buffer_); !written.ok()) {
                failure_ = written.error();
            }
        }
        buffer_.clear();
    }

    const Scan& scan_;
    const ProfileTables& tables_;
    const ProfileSources* sources_;
    GzipStream gzip_;
    MemoryShare share_;
    StringTable strings_;
    std::string buffer_;
    pbf_builder<pprof::Profile> profile_{buffer_};
    std::map<std::vector<std::uint32_t>, std::uint64_t> groups_;  // ids of locations with several parts
    std::set<std::string> comments_;
    std::vector<std::uint32_t> parts_;
    std::vector<std::uint64_t> chain_;
    std::vector<std::int64_t> values_;
    std::optional<Error> failure_;
};

Result<QueryEnd> write_pprof(const ExportInput& input, Symbolizer& symbolizer, const SourceOptions& options,
                             ExportSink& sink) {
    const Scan& scan = input.scan;
    ProfileTables tables{symbolizer, scan.memory(), scan.worker_count()};
    PERFLEET_TRY(tables.count(scan));
    ProfileNotes notes = tables.notes(scan);
    std::optional<ProfileSources> sources;
    const bool has_kept = std::any_of(tables.images().begin(), tables.images().end(),
                                      [](const ProfileImage& image) { return has_made_names(image.definition); });
    if (options.has_inlines || has_kept) {
        sources.emplace(tables, symbolizer, scan.memory(),
                        options.has_inlines ? ProfileSources::Images::kAll : ProfileSources::Images::kKept);
        if (scan.memory().is_exceeded()) {
            return scan.memory().exceeded();
        }
    }
    if (Result<Done> written = ProfileMessage{scan, tables, sources ? &*sources : nullptr, sink}.write(notes);
        !written.ok()) {
        return std::move(written).error();
    }
    QueryEnd outcome;
    outcome.summary =
        std::to_string(tables.row_count()) + " samples in " + std::to_string(tables.samples().size()) + " stacks";
    for (const auto& [event, ledger] : notes.ledgers) {
        outcome.ledger.add(ledger);
    }
    outcome.warnings = std::move(notes.warnings);
    return outcome;
}

}  // namespace

ExportFormat pprof_format() {
    return with_options({.name = "pprof", .summary = "for go tool pprof, speedscope and others"}, inline_option(),
                        write_pprof);
}

}  // namespace perfleet
