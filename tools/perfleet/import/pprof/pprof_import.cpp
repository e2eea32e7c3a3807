#include "tools/perfleet/import/pprof/pprof_import.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "exporters/profile/sample_labels.h"
#include "query-engine/symbol/kept_sources.h"
#include "schemas/columns/record_type.h"
#include "schemas/peers/key_file.h"
#include "schemas/perf/perf_event.h"
#include "schemas/text/hex.h"
#include "schemas/text/numbered_name.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/wire/hello_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/task_rows.h"
#include "tools/perfleet/import/pprof/pprof_profile.h"
#include "tools/perfleet/import/session/sealed_rows.h"

namespace perfleet {
namespace {

using enum ColumnId;

constexpr std::size_t kCommentsSizeBytesMax = 16U << 10;  // with each image

constexpr std::uint64_t kRowsOfSampleMax = 1'000'000;
constexpr std::size_t kMappingsMax = limits::kImagesMax / 4;
constexpr std::int64_t kPidMax = 1 << 22;    // Linux has no larger pid
constexpr std::uint64_t kSoftwareDummy = 9;  // PERF_COUNT_SW_DUMMY
constexpr std::string_view kCountUnit = "count";

// Values that form one event.
struct EventValues {
    std::string name;
    std::string unit;
    std::optional<std::size_t> count;   // index of the value that counts
    std::optional<std::size_t> weight;  // index of the value that is the weight; empty: each counted one weighs 1
};

std::string unit_from(std::string_view unit) {
    return unit == "nanoseconds" ? "ns" : unit == "microseconds" ? "us" : std::string{unit.empty() ? kCountUnit : unit};
}

// `samples`, or `EVENT:samples` as perfleet writes if there are several events.
std::optional<std::string_view> counted_event(const PprofProfile::ValueType& type) {
    constexpr std::string_view kSamples = "samples";
    if (type.unit != kCountUnit || !type.type.ends_with(kSamples)) {
        return std::nullopt;
    }
    const std::string_view event = type.type.substr(0, type.type.size() - kSamples.size());
    return event.empty() || event.ends_with(':')
               ? std::optional{event.substr(0, event.size() - (event.empty() ? 0 : 1))}
               : std::nullopt;
}

std::vector<EventValues> events_of(const std::vector<PprofProfile::ValueType>& types) {
    std::vector<EventValues> events;
    std::map<std::string, std::size_t, std::less<>> counts;  // by event
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (const auto event = counted_event(types[i])) {
            counts[std::string{*event}] = i;
        }
    }
    std::set<std::size_t> used;
    const bool is_pair = types.size() == 2 && counts.size() == 1;
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (counted_event(types[i])) {
            continue;
        }
        EventValues event{std::string{types[i].type}, unit_from(types[i].unit), std::nullopt, i};
        if (const auto count = is_pair ? counts.begin() : counts.find(types[i].type); count != counts.end()) {
            event.count = count->second;
            used.insert(count->second);
        }
        events.push_back(std::move(event));
    }
    for (const auto& [name, value] : counts) {
        if (!used.contains(value)) {
            events.push_back({name.empty() ? "samples" : name, std::string{kCountUnit}, value, std::nullopt});
        }
    }
    for (std::size_t i = 1; i < events.size(); ++i) {
        std::string name = std::exchange(events[i].name, {});
        events[i].name = numbered(std::move(name), std::span{events}.first(i),
                                  [](const EventValues& event) -> const std::string& { return event.name; });
    }
    return events;
}

ImageContentId content_from(std::string_view bytes, bool is_hash) {
    return ImageContentId::from(std::as_bytes(std::span{bytes}), is_hash);
}

class PprofImport {
public:
    PprofImport(const FileBytes& file, const RecordingImport& options, SessionDestination& destination)
        : file_{file}, options_{options}, destination_{destination} {}

    Result<ImportedRecording> run() {
        auto read = PprofProfile::read(file_.piece(0, PprofProfile::kProfileSizeBytesMax + 1));
        if (!read.ok()) {
            return Error{read.error().code, file_.path() + ": " + read.error().message};
        }
        profile_ = std::move(*read);
        if (profile_.value_types.size() > limits::kEventsMax) {
            return Error{ErrorCode::kTooLarge,
                         file_.path() + ": it has " + std::to_string(profile_.value_types.size()) +
                             " types of values; at most " + std::to_string(limits::kEventsMax) + " can be kept"};
        }
        events_ = events_of(profile_.value_types);
        if (events_.empty()) {
            return Error{ErrorCode::kInvalid, file_.path() + ": no profile of pprof, or one without types of values"};
        }
        if (profile_.mappings.size() > kMappingsMax) {
            return Error{ErrorCode::kTooLarge, file_.path() + ": it has " + std::to_string(profile_.mappings.size()) +
                                                   " mappings; at most " + std::to_string(kMappingsMax) +
                                                   " can be kept"};
        }
        const auto writer = PERFLEET_TRY(destination_.begin(describe_session(), options_.now));
        SealedRows rows{*writer};
        definitions_.emplace(rows, images_, limits::kStackNodesMax, [this] {
            present_.clear();
            ++epoch_count_;
        });
        rows_ = &rows;
        make_images();
        PERFLEET_TRY(keep_symbols(*writer));
        rows.tick(kStart);
        definitions_->begin_epoch(kStart);
        for (const PprofProfile::Sample& sample : profile_.samples) {
            take(sample);
            if (rows.error()) {
                return Error{rows.error()->code, file_.path() + ": " + rows.error()->message};
            }
        }
        PERFLEET_TRY(rows.finish(Ticks{kStart.value + duration_ns()}));
        static_cast<StoredSession&>(imported_) = writer->stored();
        add_warnings();
        return std::move(imported_);
    }

private:
    static constexpr Ticks kStart{1'000'000'000};

    // A line of a location.
    struct LineNumber {
        std::uint32_t location = 0;
        std::uint32_t line = 0;
    };
    // The images made for a mapping, or for all that lies outside mappings.
    struct Made {
        std::optional<ImageIndex> named;  // has symbols for the profile's functions
        std::optional<ImageIndex> file;   // has the locations without functions
        std::string content;              // of `named`
        std::vector<LineNumber> lines;    // with functions, in the profile's order
        std::string symbols;
        KeptSources sources;
    };

    [[nodiscard]] std::uint64_t duration_ns() const {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(profile_.duration_ns, 0));
    }

    SessionRecord describe_session() {
        SessionRecord record;
        const auto bounded = [](std::string text) {
            text.resize(std::min(text.size(), hello_limits::kNameSizeBytesMax));
            return text;
        };
        record.target_name = bounded(options_.target_name.empty() ? host_name() : options_.target_name);
        record.target = target_id_of(record.target_name);
        record.architecture = bounded(options_.architecture);
        record.labels = options_.labels;
        const std::int64_t told =
            profile_.time_ns > 0 ? profile_.time_ns : file_.modified().value - profile_.duration_ns;
        const UtcNs start{options_.start ? options_.start->value
                                         : std::clamp<std::int64_t>(told, 0, options_.now.value)};
        record.start_point = {kStart, start, 0};
        record.session = session_id_of(file_, start);
        record.linux_clockid = -1;
        record.clock_name = "profile";
        record.ticks_per_second = static_cast<std::uint64_t>(kNsPerSecond);
        record.collector_version = kPprofCollector;
        for (const EventValues& values : events_) {
            EventRecord& event = record.events.emplace_back();
            event.name = bounded(printable(values.name.empty() ? "samples" : values.name));
            event.kind = Kind::kSample;
            event.perf_type = perf::kTypeSoftware;
            event.perf_config = kSoftwareDummy;
            event.callchain = true;
            event.unit = bounded(printable(values.unit));
            const bool is_of_period = values.weight && profile_.period > 0 &&
                                      profile_.period_type.type == profile_.value_types[*values.weight].type;
            event.period = is_of_period ? static_cast<std::uint64_t>(profile_.period) : 1;
        }
        return record;
    }

    // -- images -------------------------------------------------------------------------------------------------------

    void make_images() {
        const SessionId session = session_id_of(file_, UtcNs{0});
        for (std::size_t i = 0; i < profile_.mappings.size(); ++i) {
            Made& made = made_.emplace_back();
            made.content.resize(limits::kBuildIdSizeBytesMax);
            const std::array<std::uint64_t, 2> words{session.high, session.low ^ (i + 1)};
            std::memcpy(made.content.data(), words.data(), std::min(made.content.size(), sizeof words));
        }
        place_offsets_.resize(profile_.locations.size());
        for (std::uint32_t i = 0; i < profile_.locations.size(); ++i) {
            const PprofProfile::Location& location = profile_.locations[i];
            place_offsets_[i].resize(location.lines.size());
            for (std::uint32_t line = 0; line < location.lines.size(); ++line) {
                made_[location.mapping].lines.push_back({i, line});
            }
        }
        for (std::uint32_t i = 0; i < made_.size(); ++i) {
            place_lines(made_[i], profile_.mappings[i]);
        }
    }

    // Gives each line of a location its own offsets, those of one function side by side, so that one symbol covers
    // them.
    void place_lines(Made& made, const PprofProfile::Mapping& mapping) {
        made.sources.build_id = printable(mapping.build_id);
        made.sources.start = mapping.start;
        made.sources.limit = mapping.limit;
        made.sources.file_offset = mapping.file_offset;
        made.sources.flags = mapping.flags;
        keep_notes(made.sources);
        const auto line_of = [&](LineNumber at) { return profile_.locations[at.location].lines[at.line]; };
        std::stable_sort(made.lines.begin(), made.lines.end(),
                         [&](LineNumber a, LineNumber b) { return line_of(a).function < line_of(b).function; });
        std::unordered_map<std::string_view, std::uint32_t> files{{"", 0}};
        std::uint64_t offset = 0;
        for (std::size_t i = 0; i < made.lines.size(); ++i, offset += kKeptPlaceSizeBytes) {
            const PprofProfile::Line line = line_of(made.lines[i]);
            const PprofProfile::Function& function = profile_.functions[line.function];
            if (i == 0 || line_of(made.lines[i - 1]).function != line.function) {
                const std::string name = printable(function.name);
                add_symbol(made.symbols, offset, name.empty() ? "[unknown]" : name);
            }
            const auto [file, is_new] =
                files.try_emplace(function.file_name, static_cast<std::uint32_t>(made.sources.files.size()));
            if (is_new) {
                made.sources.files.push_back(printable(function.file_name));
            }
            const PprofProfile::Location& location = profile_.locations[made.lines[i].location];
            made.sources.places.push_back({location.address, line.line, file->second, line.column, function.first_line,
                                           made.lines[i].line + 1 < location.lines.size()});
            place_offsets_[made.lines[i].location][made.lines[i].line] = offset;
        }
        if (!made.lines.empty()) {
            add_symbol(made.symbols, offset, "[end]");  // the last symbol covers at most two pages
        }
        made.lines = {};
    }

    // Keeps the profile's comments and settings.
    void keep_notes(KeptSources& sources) {
        std::size_t size_bytes = 0;
        long_comment_count_ = 0;
        for (const std::string_view comment : profile_.comments) {
            std::string text = printable_lines(comment);
            if (text.size() > kCommentsSizeBytesMax - size_bytes) {
                ++long_comment_count_;
                continue;
            }
            size_bytes += text.size();
            sources.comments.push_back(std::move(text));
        }
        sources.drop_frames = printable(profile_.drop_frames.substr(0, kCommentsSizeBytesMax));
        sources.keep_frames = printable(profile_.keep_frames.substr(0, kCommentsSizeBytesMax));
    }

    static void add_symbol(std::string& symbols, std::uint64_t offset, const std::string& name) {
        std::array<char, 16> digits{};
        const auto end = std::to_chars(digits.begin(), digits.end(), offset, 16).ptr;
        symbols.append(digits.data(), end).append(" t ").append(name).append("\n");
    }

    [[nodiscard]] std::string name_of(std::uint32_t mapping) const {
        const std::string name = printable(profile_.mappings[mapping].file_name);
        return name.empty() ? "[unknown]" : name;
    }

    Result<Done> keep_symbols(SessionWriter& writer) {
        for (const Made& made : made_) {
            if (made.symbols.empty()) {
                continue;
            }
            std::string packed = packed_symbols(made.symbols) + packed_symbols(kept_sources_text(made.sources));
            if (auto kept = writer.put_image(
                    made.content, {static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols), std::move(packed)});
                !kept.ok()) {
                return kept;
            }
        }
        return Done{};
    }

    [[nodiscard]] ResolvedFrame frame_of(std::uint32_t mapping, std::uint64_t offset) {
        Made& made = made_[mapping];
        if (!made.named) {
            const std::string name = name_of(mapping);
            const std::uint64_t kernel = name.starts_with("[kernel") ? image_flags::kKernel : 0;
            made.named =
                images_.intern({name, kernel | image_flags::kContentHash, 0, 0, content_from(made.content, true)});
        }
        return {made.named.value_or(0), offset};
    }

    [[nodiscard]] ResolvedFrame frame_of(const PprofProfile::Location& location) {
        Made& made = made_[location.mapping];
        const PprofProfile::Mapping& mapping = profile_.mappings[location.mapping];
        const bool has_file = location.mapping != 0 && !mapping.file_name.empty() && location.address >= mapping.start;
        if (!made.file) {
            const std::string build_id = bytes_of_hex(mapping.build_id).value_or("");
            const bool has_id = build_id.size() <= limits::kBuildIdSizeBytesMax;
            made.file = has_file ? images_.intern({name_of(location.mapping), image_flags::kFileOffset, 0, 0,
                                                   content_from(has_id ? build_id : "", false)})
                                 : images_.intern({"[unknown]", image_flags::kUnknown, 0, 0, {}});
        }
        return {made.file.value_or(0),
                has_file ? location.address - mapping.start + mapping.file_offset : location.address};
    }

    // -- rows ---------------------------------------------------------------------------------------------------------

    void take(const PprofProfile::Sample& sample) {
        if (rows_->epoch_is_over()) {
            definitions_->begin_epoch(kStart);
        }
        StackNumber stack = stack_of(sample);
        const std::uint64_t epoch = epoch_count_;
        const std::uint32_t tid = thread_of(sample);
        if (epoch_count_ != epoch) {  // it didn't fit into the epoch before
            stack = stack_of(sample);
        }
        for (std::size_t i = 0; i < events_.size(); ++i) {
            const auto value_of = [&](std::size_t value) {
                return static_cast<std::uint64_t>(std::max<std::int64_t>(sample.values[value], 0));
            };
            negative_count_ += events_[i].weight && sample.values[*events_[i].weight] < 0 ? 1 : 0;
            const std::uint64_t weight = events_[i].weight ? value_of(*events_[i].weight) : 0;
            const std::uint64_t count = events_[i].count ? value_of(*events_[i].count) : weight != 0 ? 1 : 0;
            const std::uint64_t rows = std::min(count, kRowsOfSampleMax);
            joined_count_ += count - rows;
            imported_.sample_count += rows;
            if (cut_frame_count_ > 0 && rows > 0) {
                rows_->count(Series{Kind::kSample, EventNumber{static_cast<std::uint16_t>(i)}},
                             CountName::kFramesTruncated, rows * cut_frame_count_);
                cut_stack_count_ += rows;
            }
            for (std::uint64_t row = 0; row < rows; ++row) {
                // The sum is divided among all rows exactly.
                const std::uint64_t own = !events_[i].weight ? count / rows + (row < count % rows ? 1 : 0)
                                                             : weight / rows + (row < weight % rows ? 1 : 0);
                const auto integers = row_of<Kind::kSample>(column<kPid>(tid), column<kTid>(tid),
                                                            column<kStack>(stack.value), column<kWeight>(own));
                rows_->append({{Kind::kSample, EventNumber{static_cast<std::uint16_t>(i)}}, kStart, integers});
            }
        }
    }

    StackNumber stack_of(const PprofProfile::Sample& sample) {
        frames_.clear();
        for (const auto number : sample.locations) {
            const PprofProfile::Location& location = profile_.locations[number];
            for (const std::uint64_t offset : place_offsets_[number]) {
                frames_.push_back(frame_of(location.mapping, offset));
            }
            if (location.lines.empty()) {
                frames_.push_back(frame_of(location));
            }
        }
        cut_frame_count_ = 0;
        if (frames_.size() > limits::kCallChainDepthMax) {
            cut_frame_count_ = frames_.size() - limits::kCallChainDepthMax + 1;
            frames_.resize(limits::kCallChainDepthMax - 1);
            const auto mark = images_.intern({std::string{kCutChainName}, image_flags::kUnknown, 0, 0, {}});
            frames_.push_back({mark.value_or(0), 0});
        }
        return definitions_->stack(frames_, kStart);
    }

    // Threads without a number in the profile get one; each set of labels has its own thread.
    std::uint32_t thread_of(const PprofProfile::Sample& sample) {
        std::string name;
        std::uint32_t tid = 0;
        labels_.clear();
        for (const PprofProfile::Label& label : sample.labels) {
            if (label.key == "comm" || label.key == "thread" || (label.key == "process" && name.empty())) {
                name = printable(label.text);
            } else if (label.key == "tid" || label.key == "thread_id" || (label.key == "pid" && tid == 0)) {
                tid = static_cast<std::uint32_t>(std::clamp<std::int64_t>(label.number, 0, kPidMax));
            }
            labels_.push_back({label.key, label.text, label.unit, label.number});
        }
        // Labels that an export writes anyway need no row.
        const bool is_usual = labels_.empty() || (labels_.size() == 1 && labels_.front().key == "comm");
        std::string labels = is_usual ? std::string{} : encode_labels(labels_);
        if (labels.size() > limits::kRawBytesMax) {
            labels.clear();
            ++long_label_count_;
        }
        if (name.empty() && profile_.mappings.size() > 1) {
            name = std::filesystem::path{name_of(1)}.filename();
        }
        const auto [known, is_new] = threads_.try_emplace({tid, name, labels}, tid);
        if (is_new) {
            while (known->second == 0 || !tids_.insert(known->second).second) {
                known->second = next_tid_++;
            }
            if (!labels.empty()) {
                const auto integers = row_of<Kind::kRecord>(column<kPid>(known->second), column<kTid>(known->second),
                                                            column<kRecordType>(record_types::kSampleLabels),
                                                            column<kRawSize>(labels.size()));
                const std::array bytes{std::as_bytes(std::span{labels})};
                rows_->append({{Kind::kRecord, EventNumber{0}}, kStart, integers, bytes});
            }
        }
        if (present_.insert(known->second).second) {
            TaskRow row;
            row.time = kStart;
            row.op = TaskOp::kPresent;
            row.pid = row.tid = known->second;
            row.string = definitions_->string(name, kStart);
            append_task_row(*rows_, row);
        }
        return known->second;
    }

    void add_warnings() {
        const auto add = [&](std::uint64_t count, const std::string& what) {
            if (count > 0) {
                imported_.warnings.push_back(std::to_string(count) + " " + what);
            }
        };
        add(long_label_count_, "samples have labels of more than 65,535 bytes, which aren't kept");
        add(long_comment_count_, "comments are beyond 16 KiB of them, which are kept");
        for (const EventValues& event : events_) {
            if (const std::string_view name = without_number(event.name); name != event.name) {
                imported_.warnings.push_back("several types of values are named " + printable(name) +
                                             ": one of them is " + printable(event.name) + " here");
            }
        }
        add(negative_count_, "values are below 0 (a profile less another one?) and count as 0");
        add(joined_count_, "samples stand in rows with others, for their stacks have too many");
        if (cut_stack_count_ > 0) {
            imported_.warnings.push_back(cut_chains_warning(cut_stack_count_));
        }
        if (profile_.samples.empty()) {
            imported_.warnings.emplace_back("it has no samples");
        }
    }

    const FileBytes& file_;
    const RecordingImport& options_;
    SessionDestination& destination_;
    PprofProfile profile_;
    std::vector<EventValues> events_;
    std::vector<Made> made_;  // by mapping
    ImageTable images_;
    std::optional<EpochDefinitions> definitions_;
    std::vector<ResolvedFrame> frames_;  // of the current sample
    SealedRows* rows_ = nullptr;
    std::vector<std::vector<std::uint64_t>> place_offsets_;  // of the lines of each location
    // By the profile's thread number, name and labels.
    std::map<std::tuple<std::uint32_t, std::string, std::string>, std::uint32_t> threads_;
    std::set<std::uint32_t> tids_;
    std::set<std::uint32_t> present_;  // in the current epoch
    std::uint64_t epoch_count_ = 0;
    std::uint32_t next_tid_ = 1;
    std::vector<SampleLabel> labels_;
    std::uint64_t cut_frame_count_ = 0;  // of the current sample
    std::uint64_t cut_stack_count_ = 0;
    std::uint64_t long_label_count_ = 0;
    std::uint64_t long_comment_count_ = 0;
    std::uint64_t negative_count_ = 0;
    std::uint64_t joined_count_ = 0;
    ImportedRecording imported_;
};

}  // namespace

Result<ImportedRecording> import_pprof(const FileBytes& file, const RecordingImport& options,
                                       SessionDestination& destination) {
    return PprofImport{file, options, destination}.run();
}

}  // namespace perfleet
