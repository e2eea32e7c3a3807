#include "exporters/pprof/imported_profiles.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exporters/pprof/profile_writer.h"
#include "exporters/profile/profile_tables.h"
#include "exporters/report/report.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/symbol/kept_symbols.h"
#include "schemas/pprof/pprof_profile.h"
#include "schemas/pprof/profile_frames.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

using protozero::pbf_builder;

// A session's profile, without its samples.
struct Imported {
    explicit Imported(PprofProfile kept) : profile{std::move(kept)}, frames{profile} {}

    [[nodiscard]] std::size_t size_bytes() const {
        constexpr std::size_t kPlaceSizeBytes = 200;  // of a line with its location and function, about
        return text_size_bytes + profile.locations.size() * kPlaceSizeBytes;
    }

    PprofProfile profile;
    std::size_t text_size_bytes = 0;
    ProfileFrames frames;
    std::map<std::string, std::uint32_t> mappings;  // by the id of the image made for them
    std::vector<std::optional<std::size_t>> types;  // of the file, by event; nothing: not selected
    // Added to a number here, 1 + the index, it is the id in the file.
    std::uint64_t mapping_base = 0;
    std::uint64_t location_base = 0;
    std::uint64_t function_base = 0;
};

// Whether linkers make such names: pprof makes names of functions from them.
bool is_mangled(std::string_view name) {
    return name.starts_with("_Z") || name.starts_with("__Z") || name.starts_with("_R") || name.starts_with('?');
}

// Nothing if the session has no profile that can be read.
Result<std::unique_ptr<Imported>> read_imported(const Scan& scan, std::size_t session_index) {
    const ScannedSession& session = scan.sessions()[session_index];
    if (!has_imported_values(session.record) || session.epochs.empty()) {
        return std::unique_ptr<Imported>{};
    }
    const auto dictionary =
        PERFLEET_TRY(scan.dictionary(session_index, session.epochs.front(), std::array{Kind::kImage}));
    for (std::uint32_t i = 0; i < dictionary->image_count(); ++i) {
        const ImageDefinition& image = dictionary->image(ImageNumber{i});
        if (image.name != kProfileImage || !has_made_names(image) || image.build_id.size() < sizeof(SessionId)) {
            continue;
        }
        const auto content = PERFLEET_TRY(scan.store().image(image.build_id));
        const auto text = content ? unpacked_sources(content->bytes, image.name) : Result<std::string>{std::string{}};
        const std::string kept = text.ok() && text->starts_with(kProfileMark) ? text->substr(1) : std::string{};
        auto profile = PprofProfile::read(std::as_bytes(std::span{kept}));
        if (!profile.ok() || profile->value_types.size() != session.record.events.size()) {
            break;
        }
        auto imported = std::make_unique<Imported>(*std::move(profile));
        imported->text_size_bytes = text->size();
        for (std::uint32_t mapping = 0; mapping < imported->profile.mappings.size(); ++mapping) {
            imported->mappings[made_image_id(profile_of_image(image.build_id), mapping + 1)] = mapping;
        }
        return imported;
    }
    return std::unique_ptr<Imported>{};
}

class ImportedProfiles {
public:
    ImportedProfiles(const Scan& scan, std::vector<std::unique_ptr<Imported>> imported, ExportSink& sink)
        : scan_{scan}, imported_{std::move(imported)}, out_{sink, scan.memory()} {}

    Result<QueryEnd> write() {
        choose_types();
        for (const auto& [type, unit] : types_) {
            out_.value_type(pprof::Profile::kSampleType, type, unit);
        }
        write_head();
        for (const auto& imported : imported_) {
            write_definitions(*imported);
        }
        for (std::size_t i = 0; i < imported_.size(); ++i) {
            for (const EpochNumber epoch : scan_.sessions()[i].epochs) {
                PERFLEET_TRY(write_epoch(i, epoch));
            }
        }
        const auto events = PERFLEET_TRY(choose_measures(scan_));
        ProfileNotes notes = profile_notes(scan_, events, {}, sample_count_ > 0);
        out_.profile().add_int64(pprof::Profile::kComment, out_.string(comment_of(notes)));
        PERFLEET_TRY(out_.finish());
        QueryEnd outcome;
        outcome.summary = counted_noun(sample_count_, "sample") + " of " + counted_noun(types_.size(), "type");
        for (const auto& [event, ledger] : notes.ledgers) {
            outcome.ledger.add(ledger);
        }
        outcome.warnings = std::move(notes.warnings);
        return outcome;
    }

private:
    // A series of an epoch.
    struct Source {
        Source(const Scan& scan, std::size_t session_index, EpochNumber epoch, Series series,
               std::span<const ColumnId> columns, std::size_t type_in_file)
            : cursor{scan, session_index, {epoch}, series, columns}, type{type_in_file} {
            advance();
        }
        void advance() {
            if (block == nullptr || ++row == block->rows.row_count()) {
                block = cursor.next();
                row = 0;
            }
        }
        [[nodiscard]] std::uint64_t integer(ColumnId id) const { return block->rows.integers(id)[row]; }

        RowCursor cursor;
        std::size_t type;
        const RowBlock* block = nullptr;
        std::size_t row = 0;
    };

    // The types of the first profile, and those of the others that aren't among them. Types of one name and unit are
    // distinguished by their order.
    void choose_types() {
        std::uint64_t mappings = 0;
        std::uint64_t locations = 0;
        std::uint64_t functions = 0;
        for (std::size_t i = 0; i < imported_.size(); ++i) {
            Imported& imported = *imported_[i];
            const PprofProfile& profile = imported.profile;
            imported.mapping_base = std::exchange(mappings, mappings + profile.mappings.size() - 1);
            imported.location_base = std::exchange(locations, locations + profile.locations.size());
            imported.function_base = std::exchange(functions, functions + profile.functions.size());
            const std::vector<std::size_t> events = profile_events(profile);
            imported.types.resize(events.size());
            std::vector<bool> is_used(types_.size() + events.size());
            for (std::size_t type = 0; type < events.size(); ++type) {
                const auto event =
                    static_cast<std::uint16_t>(std::find(events.begin(), events.end(), type) - events.begin());
                if (!scan_.is_selected(i, {Kind::kSample, EventNumber{event}})) {
                    continue;
                }
                const std::pair named{std::string{profile.value_types[type].type},
                                      std::string{profile.value_types[type].unit}};
                std::size_t next = 0;
                while (next < types_.size() && (is_used[next] || types_[next] != named)) {
                    ++next;
                }
                if (next == types_.size()) {
                    types_.push_back(named);
                }
                is_used[next] = true;
                imported.types[event] = next;
            }
        }
        extra_location_ = locations;
        extra_function_ = functions;
    }

    void write_head() {
        std::int64_t first_ns = 0;
        std::int64_t last_ns = 0;
        std::set<pprof::Profile> written;
        const auto text = [&](pprof::Profile field, std::string_view value) {
            if (!value.empty() && written.insert(field).second) {
                out_.text(field, value);
            }
        };
        for (const auto& imported : imported_) {
            const PprofProfile& profile = imported->profile;
            const bool has_period = !profile.period_type.type.empty() || !profile.period_type.unit.empty();
            if ((has_period || profile.period != 0) && written.insert(pprof::Profile::kPeriod).second) {
                if (has_period) {
                    out_.value_type(pprof::Profile::kPeriodType, profile.period_type.type, profile.period_type.unit);
                }
                out_.number(pprof::Profile::kPeriod, profile.period);
            }
            text(pprof::Profile::kDropFrames, profile.drop_frames);
            text(pprof::Profile::kKeepFrames, profile.keep_frames);
            text(pprof::Profile::kDefaultSampleType, profile.default_sample_type);
            text(pprof::Profile::kDocUrl, profile.doc_url);
            for (const std::string_view comment : profile.comments) {
                out_.profile().add_int64(pprof::Profile::kComment, out_.string(comment));
            }
            const bool is_first = imported == imported_.front();
            first_ns = is_first ? profile.time_ns : std::min(first_ns, profile.time_ns);
            const auto end_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(profile.time_ns) +
                                                          static_cast<std::uint64_t>(profile.duration_ns));
            last_ns = is_first ? end_ns : std::max(last_ns, end_ns);
        }
        out_.number(pprof::Profile::kTimeNanos, first_ns);
        out_.number(pprof::Profile::kDurationNanos,
                    imported_.size() == 1 ? imported_.front()->profile.duration_ns
                                          : static_cast<std::int64_t>(static_cast<std::uint64_t>(last_ns) -
                                                                      static_cast<std::uint64_t>(first_ns)));
    }

    void write_definitions(const Imported& imported) {
        const PprofProfile& profile = imported.profile;
        for (std::size_t i = 1; i < profile.mappings.size(); ++i) {
            write_mapping(imported.mapping_base + i, profile.mappings[i]);
        }
        for (std::size_t i = 0; i < profile.functions.size(); ++i) {
            write_function(imported.function_base + i + 1, profile.functions[i]);
        }
        for (std::size_t i = 0; i < profile.locations.size(); ++i) {
            write_location(imported, i);
        }
    }

    void write_mapping(std::uint64_t id, const PprofProfile::Mapping& from) {
        {
            pbf_builder<pprof::Mapping> mapping{out_.profile(), pprof::Profile::kMapping};
            mapping.add_uint64(pprof::Mapping::kId, id);
            mapping.add_uint64(pprof::Mapping::kMemoryStart, from.start);
            mapping.add_uint64(pprof::Mapping::kMemoryLimit, from.limit);
            mapping.add_uint64(pprof::Mapping::kFileOffset, from.file_offset);
            mapping.add_int64(pprof::Mapping::kFilename, out_.string(from.file_name));
            mapping.add_int64(pprof::Mapping::kBuildId, out_.string(from.build_id));
            constexpr std::array kFlags{pprof::Mapping::kHasFunctions, pprof::Mapping::kHasFilenames,
                                        pprof::Mapping::kHasLineNumbers, pprof::Mapping::kHasInlineFrames};
            for (std::size_t i = 0; i < kFlags.size(); ++i) {
                if ((from.flags >> i & 1U) != 0) {
                    mapping.add_bool(kFlags[i], true);
                }
            }
        }
        out_.flush_if_full();
    }

    void write_function(std::uint64_t id, const PprofProfile::Function& from) {
        {
            pbf_builder<pprof::Function> function{out_.profile(), pprof::Profile::kFunction};
            function.add_uint64(pprof::Function::kId, id);
            function.add_int64(pprof::Function::kName, out_.string(from.name));
            if (from.system_name != from.name || is_mangled(from.name)) {
                function.add_int64(pprof::Function::kSystemName, out_.string(from.system_name));
            }
            function.add_int64(pprof::Function::kFilename, out_.string(from.file_name));
            function.add_int64(pprof::Function::kStartLine, from.first_line);
        }
        out_.flush_if_full();
    }

    void write_location(const Imported& imported, std::size_t index) {
        const PprofProfile::Location& from = imported.profile.locations[index];
        {
            pbf_builder<pprof::Location> location{out_.profile(), pprof::Profile::kLocation};
            location.add_uint64(pprof::Location::kId, imported.location_base + index + 1);
            if (from.mapping != 0) {
                location.add_uint64(pprof::Location::kMappingId, imported.mapping_base + from.mapping);
            }
            location.add_uint64(pprof::Location::kAddress, from.address);
            for (const PprofProfile::Line& one : from.lines) {
                pbf_builder<pprof::Line> line{location, pprof::Location::kLine};
                if (one.function != PprofProfile::kNoFunction) {
                    line.add_uint64(pprof::Line::kFunctionId, imported.function_base + one.function + 1);
                }
                line.add_int64(pprof::Line::kLine, one.line);
                if (one.column != 0) {
                    line.add_int64(pprof::Line::kColumn, one.column);
                }
            }
            if (from.is_folded) {
                location.add_bool(pprof::Location::kIsFolded, true);
            }
        }
        out_.flush_if_full();
    }

    // The id of a location for frames that no profile has: marks of chains that aren't whole.
    std::uint64_t extra_location(const std::string& name) {
        const auto [known, is_new] = extra_locations_.try_emplace(name, extra_location_ + 1);
        if (is_new) {
            PprofProfile::Function function;
            function.name = name;
            write_function(++extra_function_, function);
            pbf_builder<pprof::Location> location{out_.profile(), pprof::Profile::kLocation};
            location.add_uint64(pprof::Location::kId, ++extra_location_);
            pbf_builder<pprof::Line> line{location, pprof::Location::kLine};
            line.add_uint64(pprof::Line::kFunctionId, extra_function_);
        }
        return known->second;
    }

    [[nodiscard]] Result<Done> write_epoch(std::size_t session_index, EpochNumber epoch) {
        const ScannedSession& session = scan_.sessions()[session_index];
        const Imported& imported = *imported_[session_index];
        constexpr std::array kColumns{ColumnId::kTime, ColumnId::kStack, ColumnId::kWeight, ColumnId::kRawBytes};
        std::deque<Source> sources;
        for (const Series series : session.series) {
            const bool is_chosen = session.record.kind_of(series) == Kind::kSample &&
                                   series.event.value < imported.types.size() && imported.types[series.event.value];
            if (is_chosen && scan_.has_rows(session_index, epoch, series)) {
                const bool has_labels = series.kind == Kind::kDetailedSample;
                sources.emplace_back(scan_, session_index, epoch, series, std::span{kColumns}.first(has_labels ? 4 : 3),
                                     *imported.types[series.event.value]);
            }
        }
        if (sources.empty()) {
            return Done{};
        }
        const auto dictionary = PERFLEET_TRY(scan_.dictionary(session_index, epoch));
        while (find_sample(sources)) {
            write_sample(imported, *dictionary);
            for (Source* const source : rows_) {
                source->advance();
            }
            PERFLEET_TRY(scan_.memory().check());
        }
        for (const Source& source : sources) {
            PERFLEET_TRY(source.cursor.status());
        }
        return Done{};
    }

    // Takes the rows of the earliest time; false after the last one.
    [[nodiscard]] bool find_sample(std::deque<Source>& sources) {
        rows_.clear();
        for (Source& source : sources) {
            if (source.block == nullptr) {
                continue;
            }
            const std::uint64_t time = source.integer(ColumnId::kTime);
            if (!rows_.empty() && time < rows_.front()->integer(ColumnId::kTime)) {
                rows_.clear();
            }
            if (rows_.empty() || time == rows_.front()->integer(ColumnId::kTime)) {
                rows_.push_back(&source);
            }
        }
        return !rows_.empty();
    }

    void write_sample(const Imported& imported, const EpochDictionary& dictionary) {
        const Source& first = *rows_.front();
        chain_of(dictionary, StackNumber{static_cast<std::uint32_t>(first.integer(ColumnId::kStack))}, chain_);
        locations_.clear();
        std::optional<ProfileFrames::Place> before;
        for (const StackNumber node : chain_) {
            if (node == kEmptyStack) {
                continue;
            }
            const Frame frame = dictionary.stack(node).frame;
            const ImageDefinition& image = dictionary.image(frame.image);
            const auto mapping = imported.mappings.find(image.build_id);
            const auto place = mapping == imported.mappings.end()
                                   ? imported.frames.find(image.name, image.build_id, frame.offset)
                                   : imported.frames.find(mapping->second, frame.offset);
            // Lines after the first belong to the location that is there already.
            const bool is_next = place && before && place->location == before->location && place->line != 0 &&
                                 place->line == before->line + 1;
            if (!is_next) {
                locations_.push_back(place ? imported.location_base + place->location + 1 : extra_location(image.name));
            }
            before = place;
        }
        values_.assign(types_.size(), 0);
        for (const Source* const source : rows_) {
            values_[source->type] = static_cast<std::int64_t>(source->integer(ColumnId::kWeight));
        }
        {
            pbf_builder<pprof::Sample> sample{out_.profile(), pprof::Profile::kSample};
            sample.add_packed_uint64(pprof::Sample::kLocationId, locations_.begin(), locations_.end());
            sample.add_packed_int64(pprof::Sample::kValue, values_.begin(), values_.end());
            if (first.block->series.kind == Kind::kDetailedSample) {
                write_labels(sample, first.block->rows.bytes(ColumnId::kRawBytes, first.row));
            }
        }
        ++sample_count_;
        out_.flush_if_full();
    }

    void write_labels(pbf_builder<pprof::Sample>& sample, std::string_view labels_untrusted) {
        const auto labels = decode_labels(labels_untrusted);
        for (const SampleLabel& one : labels ? *labels : std::vector<SampleLabel>{}) {
            pbf_builder<pprof::Label> label{sample, pprof::Sample::kLabel};
            label.add_int64(pprof::Label::kKey, out_.string(one.key));
            if (!one.text.empty()) {
                label.add_int64(pprof::Label::kStr, out_.string(one.text));
            }
            if (one.number != 0) {
                label.add_int64(pprof::Label::kNum, one.number);
            }
            if (!one.unit.empty()) {
                label.add_int64(pprof::Label::kNumUnit, out_.string(one.unit));
            }
        }
    }

    static std::string comment_of(const ProfileNotes& notes) {
        std::string text = "perfleet";
        for (const auto& [event, ledger] : notes.ledgers) {
            text += "; " + event + ": " + ledger_line(ledger);
        }
        for (const std::string& warning : notes.warnings) {
            text += "; warning: " + warning;
        }
        return printable(text);
    }

    const Scan& scan_;
    std::vector<std::unique_ptr<Imported>> imported_;  // by session
    ProfileWriter out_;
    std::vector<std::pair<std::string, std::string>> types_;  // of values, with their units
    std::map<std::string, std::uint64_t> extra_locations_;
    std::uint64_t extra_location_ = 0;  // the highest id of a location, and of a function
    std::uint64_t extra_function_ = 0;
    std::uint64_t sample_count_ = 0;
    std::vector<Source*> rows_;             // of the current sample
    std::vector<StackNumber> chain_;        // likewise
    std::vector<std::uint64_t> locations_;  // likewise
    std::vector<std::int64_t> values_;      // likewise
};

}  // namespace

Result<std::optional<QueryEnd>> write_imported_profiles(const Scan& scan, ExportSink& sink) {
    std::vector<std::unique_ptr<Imported>> imported;
    MemoryShare share{scan.memory()};
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        auto one = PERFLEET_TRY(read_imported(scan, i));
        if (one == nullptr) {
            return std::optional<QueryEnd>{};
        }
        share.add(one->size_bytes());
        imported.push_back(std::move(one));
        PERFLEET_TRY(scan.memory().check());
    }
    if (imported.empty()) {
        return std::optional<QueryEnd>{};
    }
    return std::optional{PERFLEET_TRY(ImportedProfiles(scan, std::move(imported), sink).write())};
}

}  // namespace perfleet
