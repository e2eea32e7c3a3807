#include "target-collector/intake/perf-data/perf_data_import.h"

#include <sys/utsname.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "schemas/peers/key_file.h"
#include "schemas/perf/perf_event.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/hello_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/intake/perf-data/event_finder.h"
#include "target-collector/intake/perf-data/record_order.h"
#include "target-collector/intake/perf-data/record_replay.h"
#include "target-collector/intake/perf-data/record_source.h"
#include "target-collector/intake/perf-data/record_streams.h"
#include "target-collector/intake/perf-data/recorded_session.h"
#include "target-collector/intake/perf-data/simpleperf.h"
#include "target-collector/intake/perf-data/stat_replay.h"
#include "target-collector/intake/session/sealed_rows.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

using perf::RecordType;

constexpr std::uint32_t kAuxtrace = 71;
constexpr std::uint32_t kEventUpdate = 78;
constexpr std::uint32_t kKernelTypeLast = 63;             // records of the kernel come before those of perf
constexpr std::uint64_t kFileTimeStepNs = 1'000'000'000;  // at most, in file systems
constexpr std::uint64_t kAheadMaxNs = std::uint64_t{86'400} * 1'000'000'000;  // a larger difference isn't a fast clock
// Records of perf itself that have no meaning for rows.
constexpr bool is_without_rows(std::uint32_t type) {
    switch (type) {
        case 65:  // EVENT_TYPE
        case 69:  // ID_INDEX
        case 82:  // FINISHED_INIT
        case simpleperf::kCallchain:
        case simpleperf::kUnwindingResult:
        case simpleperf::kDebug: return true;
        default: return false;
    }
}

std::span<const std::byte> body_of(const RecordBytes& record) {
    return record.bytes.subspan(sizeof(perf::RecordHeader));
}

class PerfDataImport {
public:
    PerfDataImport(RecordingFiles files, const RecordingImport& options, SessionDestination& destination,
                   const ProgressReport& progress)
        : file_{std::move(files.file)},
          parts_{std::move(files.parts)},
          options_{options},
          destination_{destination},
          progress_{progress} {}

    Result<ImportedRecording> run() {
        header_ = PERFLEET_TRY(read_perf_data_header(file_));
        recording_ = std::make_unique<RecordedSession>(header_.is_foreign);
        if (!header_.is_pipe) {
            PERFLEET_TRY(recording_->read_sections(file_, header_));
        }
        if (header_.is_unfinished) {
            utsname system{};
            ::uname(&system);
            recording_->is_unfinished = true;
            recording_->architecture = system.machine;
            recording_->warnings.emplace_back(
                "the recording was never finished, as after a kill of perf record: all whole records are imported; "
                "host, build-ids and formats of tracepoints aren't in the file (this machine's architecture is "
                "assumed)");
        }
        const bool is_of_simpleperf =
            !header_.features.empty() && header_.features.back().first >= simpleperf::kFirstFeature;
        if (header_.is_pipe || recording_->first_ns == 0 || is_of_simpleperf) {
            look_ahead();
        }
        if (recording_->events.empty()) {
            return Error{ErrorCode::kInvalid, file_.path() + ": it describes no events: nothing can be read from it"};
        }
        recording_->name_events();
        auto record = PERFLEET_TRY(describe_session());
        if (is_shifted(record) && PERFLEET_TRY(destination_.has_ended(record.target, record.session))) {
            imported_.session = record.session;  // imported earlier, thus with earlier times
            imported_.target_name = record.target_name;
            imported_.batches_there = 1;
            return std::move(imported_);
        }
        writer_ = PERFLEET_TRY(destination_.begin(std::move(record), options_.now));
        PERFLEET_TRY(replay());
        static_cast<StoredSession&>(imported_) = writer_->stored();
        return std::move(imported_);
    }

private:
    // Reads ahead in a pipe: the records that describe it, and the times of its beginning and end.
    void look_ahead() {
        RecordStreams streams{file_, parts_, header_};
        std::unique_ptr<EventFinder> events;
        while (const auto record = streams.next(nullptr)) {
            RecordSource& source = streams.source();
            if (const auto counted_ns = StatReplay::round_time_ns(*record, header_.is_foreign)) {
                recording_->last_ns = std::max(recording_->last_ns, *counted_ns);
            }
            if (record->type > kKernelTypeLast) {
                if (!take_description(source, *record)) {
                    recording_->warnings.push_back("damaged at offset " + std::to_string(record->file_offset) +
                                                   ": a record of type " + std::to_string(record->type) +
                                                   " that describes the recording; passed over");
                }
                events = nullptr;  // its knowledge of ids may be outdated
                continue;
            }
            if (recording_->events.empty()) {
                continue;
            }
            if (events == nullptr) {
                events = std::make_unique<EventFinder>(*recording_);
            }
            if (const std::uint64_t time = events->time_of(*record); time != 0) {
                recording_->first_ns = recording_->first_ns == 0 ? time : std::min(recording_->first_ns, time);
                recording_->last_ns = std::max(recording_->last_ns, time);
            }
        }
    }

    // Takes a describing record, which a file has in its sections instead. False: the record is malformed.
    bool take_description(RecordSource& source, const RecordBytes& record) {
        const auto body = body_of(record);
        ByteCursor cursor{body, header_.is_foreign};
        switch (record.type) {
            case static_cast<std::uint32_t>(RecordType::kHeaderAttr):
                return !header_.is_pipe || recording_->take_attr(body);
            case static_cast<std::uint32_t>(RecordType::kHeaderBuildId):
                return recording_->take_build_id(record.misc, body);
            case static_cast<std::uint32_t>(RecordType::kHeaderFeature): {
                const std::uint64_t number = cursor.u64();
                return number < 256 && recording_->take_feature(static_cast<unsigned>(number), cursor.rest());
            }
            case static_cast<std::uint32_t>(RecordType::kHeaderTracingData): {
                const std::uint64_t size = cursor.u32();
                if (cursor.rest().size() >= sizeof(std::uint64_t)) {  // in the record: older simpleperf versions
                    return recording_->take_tracing_data(cursor.rest());
                }
                if (size > RecordedSession::kSectionSizeBytesMax) {
                    source.skip_payload(size);
                    return false;
                }
                return recording_->take_tracing_data(source.take_payload((size + 7) / 8 * 8));
            }
            case kEventUpdate: return recording_->take_event_update(body);
            case simpleperf::kTracingData: cursor.skip(4); return recording_->take_tracing_data(cursor.rest());
            case simpleperf::kEventId: return recording_->take_event_ids(body);
            case simpleperf::kKernelSymbols: return recording_->take_kallsyms(body);
            default: skip_payload_of(source, record); return true;
        }
    }

    static void skip_payload_of(RecordSource& source, const RecordBytes& record) {
        ByteCursor cursor{body_of(record), source.is_foreign()};
        if (record.type == kAuxtrace) {
            source.skip_payload(cursor.u64());
        } else if (record.type == static_cast<std::uint32_t>(RecordType::kHeaderTracingData) &&
                   body_of(record).size() <= sizeof(std::uint64_t)) {
            source.skip_payload((std::uint64_t{cursor.u32()} + 7) / 8 * 8);
        }
    }

    // The time at which the recording began.
    [[nodiscard]] ClockPoint start_point() const {
        const std::uint64_t first = recording_->first_ns;
        if (options_.start) {
            return {Ticks{first}, *options_.start, 0};
        }
        const std::uint64_t last = std::max(recording_->last_ns, first);
        const UtcNs end{std::min(file_.modified().value, options_.now.value)};
        if (const auto& pair = recording_->clock_pair) {
            const ClockPoint paired{Ticks{pair->ticks}, UtcNs{pair->utc_ns}};
            const auto ahead_ns = static_cast<std::uint64_t>(std::max(utc_at(paired, last), end).value - end.value);
            const std::uint64_t shift_ns = ahead_ns > kAheadMaxNs || ahead_ns < kFileTimeStepNs ? 0 : ahead_ns;
            const UtcNs start = utc_at(paired, first);
            return {Ticks{first}, UtcNs{start.value - static_cast<std::int64_t>(shift_ns)}, shift_ns};
        }
        return {Ticks{first}, utc_at({Ticks{last}, end}, first), last - first};
    }

    // Adds what simpleperf records about device and app.
    void add_meta_labels(SessionRecord& record) const {
        for (const char* const key : {"simpleperf_version", "product_props", "android_version", "android_build_type",
                                      "app_package_name", "app_type"}) {
            const auto found = recording_->meta.find(key);
            const bool is_named = std::any_of(record.labels.begin(), record.labels.end(),
                                              [&](const auto& label) { return label.first == key; });
            if (!is_named && found != recording_->meta.end() && !found->second.empty() &&
                found->second.size() <= limits::kLabelSizeBytesMax && record.labels.size() < limits::kLabelsMax) {
                record.labels.emplace_back(key, found->second);
            }
        }
        std::sort(record.labels.begin(), record.labels.end());
    }

    // The recording's clock was ahead: its times depend on the time of import.
    [[nodiscard]] bool is_shifted(const SessionRecord& record) const {
        return recording_->clock_pair && !options_.start && record.start_point.uncertainty_ns > 0;
    }

    Result<SessionRecord> describe_session() {
        SessionRecord record;
        const auto bounded = [](std::string text) {
            text.resize(std::min(text.size(), hello_limits::kNameSizeBytesMax));
            return text;
        };
        record.target_name = bounded(!options_.target_name.empty()    ? options_.target_name
                                     : !recording_->host_name.empty() ? recording_->host_name
                                                                      : perfleet::host_name());
        record.target = target_id_of(record.target_name);
        record.architecture = bounded(options_.architecture.empty() ? recording_->architecture : options_.architecture);
        record.labels = options_.labels;
        add_meta_labels(record);
        record.start_point = start_point();
        // By its own clock, even if that is ahead.
        const std::int64_t shift_ns =
            is_shifted(record) ? static_cast<std::int64_t>(record.start_point.uncertainty_ns) : 0;
        record.session = session_id_of(file_, UtcNs{record.start_point.utc_ns.value + shift_ns});
        const RecordedEvent& first = recording_->events.front();
        record.linux_clockid = first.is(attr_flags::kUseClockid) ? first.clock_id : -1;
        record.clock_name = record.linux_clockid == 1 ? "monotonic" : "perf";
        record.ticks_per_second = static_cast<std::uint64_t>(kNsPerSecond);
        record.host = recording_->host;
        record.collector_version = bounded("perf " + recording_->perf_version);
        for (const RecordedEvent& recorded : recording_->events) {
            EventRecord& event = record.events.emplace_back();
            event.name = recorded.name;
            event.kind = recorded.format.empty() ? Kind::kSample : Kind::kTracepoint;
            event.perf_type = recorded.type;
            event.perf_config = recorded.config;
            event.period = recorded.period;
            event.is_frequency = recorded.is(attr_flags::kFreq);
            event.exclude_kernel = recorded.is(attr_flags::kExcludeKernel);
            event.exclude_user = recorded.is(attr_flags::kExcludeUser);
            event.callchain = recorded.has(perf::sample_type::kCallchain);
            event.unit = bounded(unit_of_event(recorded));
            event.format = recorded.format;
            event.group = recorded.group;
            event.attr = recorded.attr;
        }
        return record;
    }

    Result<Done> replay() {
        SealedRows rows{*writer_};
        const EventFinder events{*recording_};
        const ClockPoint& start = writer_->record().start_point;
        RecordReplay replay{*recording_, events, rows, start, options_.files};
        StatReplay counters{events, replay, start.ticks.value};
        const std::int64_t now_max = options_.now.value + static_cast<std::int64_t>(kFileTimeStepNs);
        RecordOrder order;
        const auto take = [&](const RecordBytes& record, std::uint64_t time) {
            if (utc_at(start, time).value > now_max) {  // a recording has no times in the future
                ++future_count_;
                replay.count_malformed();
            } else {
                replay.take(record, time);
            }
        };
        RecordStreams streams{file_, parts_, header_};
        while (const auto record = streams.next(&events)) {
            RecordSource& source = streams.source();
            if (record->type == static_cast<std::uint32_t>(RecordType::kFinishedRound)) {
                if (!streams.is_merged()) {  // else it is a round of one file only
                    order.finish_round(take);
                    report_progress(streams);
                }
            } else if (record->type > kKernelTypeLast) {
                if (!counters.take(*record)) {
                    pass_over(source, *record, replay);
                }
            } else if (const std::uint64_t time = events.time_of(*record); time == 0) {
                take(*record, 0);
            } else {
                order.add(*record, time);
                if (order.is_full()) {
                    order.pass_half(take);
                    report_progress(streams);
                }
            }
            if (rows.error()) {
                return Error{rows.error()->code, file_.path() + ": " + rows.error()->message};
            }
        }
        order.pass_all(take);
        counters.finish();
        replay.finish();
        PERFLEET_TRY(keep_kernel_symbols(replay.images()));
        PERFLEET_TRY(keep_recorded_symbols(replay.images()));
        add_warnings(streams, replay);
        imported_.sample_count = replay.sample_count();
        return rows.finish(Ticks{std::max(replay.time(), start.ticks.value)});
    }

    static void pass_over(RecordSource& source, const RecordBytes& record, RecordReplay& replay) {
        const auto type = static_cast<RecordType>(record.type);
        const bool is_description = type == RecordType::kHeaderAttr || type == RecordType::kHeaderBuildId ||
                                    type == RecordType::kHeaderFeature || type == RecordType::kHeaderTracingData ||
                                    record.type == kEventUpdate || record.type == simpleperf::kTracingData ||
                                    record.type == simpleperf::kEventId || record.type == simpleperf::kKernelSymbols;
        if (!is_description && !is_without_rows(record.type)) {
            replay.skip(record.type);
        }
        skip_payload_of(source, record);
    }

    void report_progress(const RecordStreams& streams) const {
        if (progress_) {
            std::uint64_t size_bytes = file_.size_bytes();
            for (const FileBytes& part : parts_) {
                size_bytes += part.size_bytes();
            }
            progress_(streams.offset(), size_bytes);
        }
    }

    Result<Done> keep_kernel_symbols(const ReplayedImages& images) {
        const ImageContentId& content = images.kernel().kernel_content();
        if (images.packed_kernel_symbols().empty() || content.size_bytes == 0) {
            return Done{};
        }
        const std::string_view build_id{reinterpret_cast<const char*>(content.bytes.data()), content.size_bytes};
        return writer_->put_image(build_id, {static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols),
                                             images.packed_kernel_symbols()});
    }

    Result<Done> keep_recorded_symbols(const ReplayedImages& images) {
        for (const auto& [content, text] : images.recorded_symbols()) {
            std::string packed = packed_symbols(text);
            if (!packed.empty()) {
                PERFLEET_TRY(writer_->put_image(
                    content, {static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols), std::move(packed)}));
            }
        }
        return Done{};
    }

    void add_warnings(const RecordStreams& streams, const RecordReplay& replay) {
        imported_.warnings = std::move(recording_->warnings);
        if (is_shifted(writer_->record())) {
            imported_.warnings.push_back(
                "it ends " + std::to_string(writer_->record().start_point.uncertainty_ns / 1'000'000 + 1) +
                " ms after its file was last written: its times are taken to be earlier by that (perfleet import "
                "--time says when it began)");
        }
        if (future_count_ > 0) {
            imported_.warnings.push_back(counted_noun(future_count_, "record is", "records are") +
                                         " lost: of a time after now (`malformed` in its ledger; "
                                         "perfleet import --time says when the recording began)");
        }
        if (const std::uint64_t broken = replay.malformed_count() - future_count_; broken > 0) {
            imported_.warnings.push_back(counted_noun(broken, "record is", "records are") +
                                         " lost: not of the format (`malformed` in its ledger)");
        }
        if (replay.cut_stack_count() > 0) {
            imported_.warnings.push_back(cut_chains_warning(replay.cut_stack_count()));
        }
        const std::vector<std::string> warnings = replay.warnings();
        imported_.warnings.insert(imported_.warnings.end(), warnings.begin(), warnings.end());
        for (const std::string& damage : streams.damages()) {
            imported_.warnings.push_back(damage + "; what stands before it is imported");
        }
        std::string named;
        for (const std::string& what : replay.not_kept()) {
            named += (named.empty() ? "" : ", ") + what;
        }
        if (!named.empty()) {
            imported_.warnings.push_back("not kept: " + named);
        }
    }

    FileBytes file_;
    std::vector<FileBytes> parts_;
    const RecordingImport& options_;
    SessionDestination& destination_;
    const ProgressReport& progress_;
    PerfDataHeader header_;
    std::unique_ptr<RecordedSession> recording_;
    std::unique_ptr<SessionWriter> writer_;
    ImportedRecording imported_;
    std::uint64_t future_count_ = 0;
};

}  // namespace

Result<ImportedRecording> import_perf_data(RecordingFiles files, const RecordingImport& options,
                                           SessionDestination& destination, const ProgressReport& progress) {
    return PerfDataImport{std::move(files), options, destination, progress}.run();
}

}  // namespace perfleet
