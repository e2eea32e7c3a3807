#include "target-collector/intake/pprof/pprof_import.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "schemas/peers/key_file.h"
#include "schemas/pprof/kept_sources.h"
#include "schemas/pprof/pprof_profile.h"
#include "schemas/pprof/profile_frames.h"
#include "schemas/text/hex.h"
#include "schemas/text/numbered_name.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/wire/hello_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/intake/pprof/sample_numbers.h"
#include "target-collector/intake/session/event_of_amounts.h"
#include "target-collector/intake/session/sealed_rows.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/task_rows.h"

namespace perfleet {
namespace {

using enum ColumnId;

constexpr std::size_t kMappingsMax = limits::kImagesMax / 4;
constexpr std::int64_t kPidMax = 1 << 22;  // Linux has no larger pid

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
        if (profile_.value_types.empty()) {
            return Error{ErrorCode::kInvalid, file_.path() + ": no profile of pprof, or one without types of values"};
        }
        if (profile_.mappings.size() > kMappingsMax) {
            return Error{ErrorCode::kTooLarge, file_.path() + ": it has " + std::to_string(profile_.mappings.size()) +
                                                   " mappings; at most " + std::to_string(kMappingsMax) +
                                                   " can be kept"};
        }
        profile_id_ = session_id_of(file_, UtcNs{0});
        frames_.emplace(profile_);
        numbers_.emplace(profile_);
        const auto writer = PERFLEET_TRY(destination_.begin(describe_session(), options_.now));
        SealedRows rows{*writer};
        // Each epoch names the image that has the profile.
        definitions_.emplace(rows, images_, limits::kStackNodesMax, [this] {
            present_.clear();
            ++epoch_count_;
            (void)definitions_->image(0, now_);
        });
        rows_ = &rows;
        (void)images_.intern(made_image(kProfileImage, image_flags::kUnknown, 0));
        PERFLEET_TRY(keep_profile(*writer));
        PERFLEET_TRY(keep_symbols(*writer));
        rows.tick(now_);
        definitions_->begin_epoch(now_);
        for (const PprofProfile::Sample& sample : profile_.samples) {
            take(sample);
            ++now_.value;
            if (rows.error()) {
                return Error{rows.error()->code, file_.path() + ": " + rows.error()->message};
            }
        }
        PERFLEET_TRY(rows.finish(Ticks{std::max(now_.value, kStart.value + duration_ns())}));
        static_cast<StoredSession&>(imported_) = writer->stored();
        add_warnings();
        return std::move(imported_);
    }

private:
    static constexpr Ticks kStart{1'000'000'000};

    // The images of a mapping, or of all that lies outside mappings.
    struct Made {
        std::optional<ImageIndex> named;  // has symbols for the profile's functions
        std::optional<ImageIndex> file;   // has the locations without functions
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
        add_events(record, bounded);
        return record;
    }

    // The default type comes first, the others in the profile's order (profile_events()).
    template <class Bounded>
    void add_events(SessionRecord& record, const Bounded& bounded) {
        std::vector<std::string> names;  // in the profile's order
        for (const PprofProfile::ValueType& type : profile_.value_types) {
            const std::string name = type.type.empty() ? "samples" : bounded(printable(type.type));
            names.push_back(
                numbered(name, names, [](const std::string& taken) -> const std::string& { return taken; }));
            if (names.back() != name) {
                imported_.warnings.push_back("several types of values are named " + name + ": one of them is " +
                                             names.back() + " here");
            }
        }
        types_ = profile_events(profile_);
        for (const std::size_t type : types_) {
            record.events.push_back(event_of_amounts(names[type], unit_of_pprof(profile_.value_types[type].unit)));
        }
    }

    // -- images -------------------------------------------------------------------------------------------------------

    [[nodiscard]] Image made_image(const std::string& name, std::uint64_t flags, std::uint64_t number) const {
        return {name, flags | image_flags::kContentHash, 0, 0, content_from(made_image_id(profile_id_, number), true)};
    }

    Result<Done> keep(SessionWriter& writer, std::uint64_t number, const std::string& symbols,
                      const std::string& sources) const {
        return writer.put_image(made_image_id(profile_id_, number),
                                {static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols),
                                 packed_symbols(symbols) + packed_symbols(sources)});
    }

    // Keeps the profile without its samples, which exports begin with.
    Result<Done> keep_profile(SessionWriter& writer) {
        const std::string text = profile_.without_samples();
        if (text.size() > limits::kSymbolsSizeBytesMax) {
            imported_.warnings.emplace_back(
                "its functions, locations and texts have more than 64 MiB: exports to pprof have the names and values "
                "of its samples, and nothing else");
            return Done{};
        }
        std::string symbols;
        append_symbol(symbols, 0, kProfileImage);
        return keep(writer, 0, symbols, kProfileMark + text);
    }

    // Keeps names and lines of the mappings' functions.
    Result<Done> keep_symbols(SessionWriter& writer) {
        for (std::uint32_t i = 0; i < profile_.mappings.size(); ++i) {
            made_.emplace_back();
            std::string symbols;
            KeptSources sources;
            std::unordered_map<std::string_view, std::uint32_t> files{{"", 0}};
            std::optional<std::uint32_t> before;
            for (const ProfileFrames::Place place : frames_->places(i)) {
                const PprofProfile::Line line = place.line == ProfileFrames::kNoLine
                                                    ? PprofProfile::Line{}
                                                    : profile_.locations[place.location].lines[place.line];
                const PprofProfile::Function function = line.function == PprofProfile::kNoFunction
                                                            ? PprofProfile::Function{}
                                                            : profile_.functions[line.function];
                if (before != line.function) {
                    const std::string name = printable(function.name.empty() ? function.system_name : function.name);
                    append_symbol(symbols, sources.places.size() * kKeptPlaceSizeBytes,
                                  name.empty() ? "[unknown]" : name);
                    before = line.function;
                }
                const auto [file, is_new] =
                    files.try_emplace(function.file_name, static_cast<std::uint32_t>(sources.files.size()));
                if (is_new) {
                    sources.files.push_back(printable(function.file_name));
                }
                sources.places.push_back({.line = line.line, .file = file->second});
            }
            if (before) {
                // The last symbol covers at most two pages.
                append_symbol(symbols, sources.places.size() * kKeptPlaceSizeBytes, "[end]");
                PERFLEET_TRY(keep(writer, i + 1, symbols, kept_sources_text(sources)));
            }
        }
        return Done{};
    }

    [[nodiscard]] ResolvedFrame resolved(std::uint32_t mapping, ProfileFrames::Frame frame) {
        if (frame.in == ProfileFrames::In::kUnknown) {
            return {images_.intern({"[unknown]", image_flags::kUnknown, 0, 0, {}}).value_or(0), frame.offset};
        }
        const bool is_made = frame.in == ProfileFrames::In::kMade;
        std::optional<ImageIndex>& image = is_made ? made_[mapping].named : made_[mapping].file;
        if (!image) {
            const std::string name = frames_->name_of(mapping);
            const std::uint64_t kernel = name.starts_with("[kernel") ? image_flags::kKernel : 0;
            image = images_.intern(is_made ? made_image(name, kernel, mapping + 1)
                                           : Image{name, image_flags::kFileOffset, 0, 0,
                                                   content_from(frames_->build_id_of(mapping), false)});
        }
        return {image.value_or(0), frame.offset};
    }

    // -- rows ---------------------------------------------------------------------------------------------------------

    void take(const PprofProfile::Sample& sample) {
        if (rows_->epoch_is_over()) {
            definitions_->begin_epoch(now_);
        }
        StackNumber stack = stack_of(sample);
        const std::uint64_t epoch = epoch_count_;
        const auto [pid, tid] = thread_of(sample);
        if (epoch_count_ != epoch) {  // it didn't fit into the epoch before
            stack = stack_of(sample);
        }
        std::string labels = encode_labels(sample.labels);
        if (labels.size() > limits::kRawBytesMax) {
            labels.clear();
            ++long_label_count_;
        }
        const bool is_zero =
            std::all_of(sample.values.begin(), sample.values.end(), [](auto value) { return value == 0; });
        for (std::uint16_t i = 0; i < types_.size(); ++i) {
            const std::int64_t value = sample.values[types_[i]];
            if (value != 0 || (is_zero && i == 0)) {
                append_row(EventNumber{i}, pid, tid, stack, static_cast<std::uint64_t>(value),
                           numbers_->of(sample, types_[i]), labels);
            }
        }
        cut_stack_count_ += cut_frame_count_ > 0 ? 1 : 0;
    }

    void append_row(EventNumber event, std::uint32_t pid, std::uint32_t tid, StackNumber stack, std::uint64_t value,
                    std::uint64_t samples, const std::string& labels) {
        ++imported_.sample_count;
        const bool is_plain = labels.empty() && samples == kUnknownSamples;
        const Series series{is_plain ? Kind::kSample : Kind::kDetailedSample, event};
        if (cut_frame_count_ > 0) {
            rows_->count(series, CountName::kFramesTruncated, cut_frame_count_);
        }
        if (is_plain) {
            const auto integers = row_of<Kind::kSample>(column<kPid>(pid), column<kTid>(tid),
                                                        column<kStack>(stack.value), column<kWeight>(value));
            rows_->append({series, now_, integers});
            return;
        }
        const auto integers = row_of<Kind::kDetailedSample>(column<kPid>(pid), column<kTid>(tid),
                                                            column<kStack>(stack.value), column<kWeight>(value),
                                                            column<kValue>(samples), column<kRawSize>(labels.size()));
        std::array<std::span<const std::byte>, 5> bytes{};  // kRawBytes is the first byte column
        bytes.front() = std::as_bytes(std::span{labels});
        rows_->append({series, now_, integers, bytes});
    }

    StackNumber stack_of(const PprofProfile::Sample& sample) {
        chain_.clear();
        for (const auto number : sample.locations) {
            for (const ProfileFrames::Frame frame : frames_->frames(number)) {
                chain_.push_back(resolved(profile_.locations[number].mapping, frame));
            }
        }
        cut_frame_count_ = 0;
        if (chain_.size() > limits::kCallChainDepthMax) {
            cut_frame_count_ = chain_.size() - limits::kCallChainDepthMax + 1;
            chain_.resize(limits::kCallChainDepthMax - 1);
            const auto mark = images_.intern({std::string{kCutChainName}, image_flags::kUnknown, 0, 0, {}});
            chain_.push_back({mark.value_or(0), 0});
        }
        return definitions_->stack(chain_, now_);
    }

    // Process and thread, which are the same if the labels name only one. A thread without a number, or with that of a
    // thread of another name, gets one.
    std::pair<std::uint32_t, std::uint32_t> thread_of(const PprofProfile::Sample& sample) {
        std::string name;
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        for (const SampleLabel& label : sample.labels) {
            const auto number = static_cast<std::uint32_t>(std::clamp<std::int64_t>(label.number, 0, kPidMax));
            if (label.key == kCommLabel || (label.key == "thread" && !label.text.empty())) {
                name = printable(label.text);
            } else if (label.key == "tid" || label.key == "thread") {
                tid = number;
            } else if (label.key == "pid") {
                pid = number;
            }
        }
        if (name.empty() && profile_.mappings.size() > 1) {
            name = std::filesystem::path{frames_->name_of(1)}.filename();
        }
        const auto [known, is_new] = threads_.try_emplace({tid != 0 ? tid : pid, name}, tid != 0 ? tid : pid);
        if (is_new) {
            while (known->second == 0 || !tids_.insert(known->second).second) {
                known->second = next_tid_++;
            }
        }
        pid = pid != 0 ? pid : known->second;
        if (present_.insert(known->second).second) {
            TaskRow row;
            row.time = now_;
            row.op = TaskOp::kPresent;
            row.pid = pid;
            row.tid = known->second;
            row.string = definitions_->string(name, now_);
            append_task_row(*rows_, row);
        }
        return {pid, known->second};
    }

    void add_warnings() {
        const auto add = [&](std::uint64_t count, const std::string& what) {
            if (count > 0) {
                imported_.warnings.push_back(std::to_string(count) + " " + what);
            }
        };
        add(long_label_count_, "samples have labels of more than 65,535 bytes, which aren't kept");
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
    SessionId profile_id_;
    std::optional<ProfileFrames> frames_;
    std::optional<SampleNumbers> numbers_;
    std::vector<std::size_t> types_;  // by event
    std::vector<Made> made_;          // by mapping
    ImageTable images_;               // the first is kProfileImage
    std::optional<EpochDefinitions> definitions_;
    std::vector<ResolvedFrame> chain_;  // of the current sample
    SealedRows* rows_ = nullptr;
    Ticks now_ = kStart;                                                      // each sample has its own
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> threads_;  // by the profile's number and name
    std::set<std::uint32_t> tids_;
    std::set<std::uint32_t> present_;  // in the current epoch
    std::uint64_t epoch_count_ = 0;
    std::uint32_t next_tid_ = 1;
    std::uint64_t cut_frame_count_ = 0;  // of the current sample
    std::uint64_t cut_stack_count_ = 0;
    std::uint64_t long_label_count_ = 0;
    ImportedRecording imported_;
};

}  // namespace

Result<ImportedRecording> import_pprof(const FileBytes& file, const RecordingImport& options,
                                       SessionDestination& destination) {
    return PprofImport{file, options, destination}.run();
}

}  // namespace perfleet
