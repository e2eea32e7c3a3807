// Writes the selected rows as a Perfetto trace, for ui.perfetto.dev and trace_processor, gzip-compressed.
//
// Each event is a session of samples with their call chains; its counter sums the weights of each CPU. Tracepoint
// entries are instants on their thread's track, with the text of `perf script`; sched:sched_switch gives the slices of
// CPUs and threads. Times are those of the export's clock, with one snapshot of UTC. With several targets, pids are
// kPidsOfTarget apart, CPUs are numbered consecutively, and process names begin with the target's.
//
// Errors: kTooLarge (the query's memory is exceeded), those of store and sink.
#include <algorithm>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "exporters/perfetto/perfetto_trace.h"
#include "exporters/sink/gzip_stream.h"
#include "exporters/timeline/timeline.h"
#include "query-engine/service/export_format.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {
namespace {

using protozero::pbf_builder;

constexpr std::uint32_t kPidsOfTarget = 1U << 22U;  // Linux pids are smaller
constexpr std::size_t kPacketsSizeBytes = 64U << 10U;
constexpr std::uint32_t kNamesSequence = 1;
constexpr std::uint32_t kFirstSampleSequence = 2;
constexpr std::uint64_t kFirstCounterTrack = std::uint64_t{1} << 40;  // above the track ids of threads

class PerfettoFile {
public:
    PerfettoFile(const Timeline& timeline, ExportSink& sink) : timeline_{timeline}, gzip_{sink} {}

    Result<Done> write() {
        place_cpus();
        name_processes();
        write_clock();
        samples_.resize(timeline_.events().size());
        const std::vector<TimelineRow>& rows = timeline_.rows();
        auto entry = timeline_.entries().begin();
        auto to = timeline_.switches().begin();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            write_names(rows[i].thread);
            write_sample(rows[i]);
            for (; entry != timeline_.entries().end() && entry->row == i; ++entry) {
                write_entry(rows[i], entry->text);
            }
            for (; to != timeline_.switches().end() && to->row == i; ++to) {
                write_switch(rows[i], *to);
            }
            if (buffer_.size() >= kPacketsSizeBytes) {
                PERFLEET_TRY(flush());
            }
        }
        for (std::size_t i = 0; i < timeline_.counters().size(); ++i) {
            PERFLEET_TRY(write_counter(timeline_.counters()[i], kFirstCounterTrack + i));
        }
        PERFLEET_TRY(flush());
        return gzip_.finish();
    }

    // Amounts that the format can't hold.
    void warn(std::vector<std::string>& warnings) const {
        for (const auto& [unit, amounts] : amounts_) {
            amounts.warn_of_negative(unit, warnings);
        }
    }

private:
    // The data that the packets of one event's samples have interned so far.
    struct Samples {
        bool has_begun = false;
        std::vector<bool> has_frame;
        std::vector<bool> has_callstack;  // by node
        std::vector<bool> has_mapping;
        std::map<std::uint32_t, std::uint64_t> weights;  // by CPU
    };

    [[nodiscard]] static std::uint32_t pid_of(const TimelineThread& thread, std::uint32_t number) {
        return thread.target * kPidsOfTarget + number;
    }
    [[nodiscard]] std::uint32_t cpu_of(const TimelineRow& row) const {
        return first_cpus_[timeline_.threads()[row.thread].target] + row.cpu;
    }

    void place_cpus() {
        std::vector<std::uint32_t> counts(timeline_.targets().size());
        for (const TimelineRow& row : timeline_.rows()) {
            std::uint32_t& count = counts[timeline_.threads()[row.thread].target];
            count = std::max(count, row.cpu + 1);
        }
        std::uint32_t next = 0;
        for (const std::uint32_t count : counts) {
            first_cpus_.push_back(std::exchange(next, next + count));
        }
    }

    // Names each process after its first thread, if that has rows.
    void name_processes() {
        for (const TimelineThread& thread : timeline_.threads()) {
            std::string name = (timeline_.targets().size() > 1 ? timeline_.targets()[thread.target] + " " : "");
            name += thread.command;
            const auto [known, is_new] = process_names_.try_emplace(pid_of(thread, thread.pid), name);
            if (!is_new && thread.pid == thread.tid) {
                known->second = std::move(name);
            }
        }
    }

    void write_clock() {
        pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
        packet.add_uint32(perfetto::Packet::kSequence, kNamesSequence);
        packet.add_uint32(perfetto::Packet::kSequenceFlags, perfetto::kBeginsSequence);
        pbf_builder<perfetto::ClockSnapshot> snapshot{packet, perfetto::Packet::kClockSnapshot};
        const auto add = [&](std::uint32_t id, std::uint64_t ns) {
            pbf_builder<perfetto::Clock> clock{snapshot, perfetto::ClockSnapshot::kClock};
            clock.add_uint32(perfetto::Clock::kId, id);
            clock.add_uint64(perfetto::Clock::kTimestamp, ns);
        };
        add(perfetto::kBoottime, timeline_.first_ns());
        add(perfetto::kRealtime, static_cast<std::uint64_t>(timeline_.first_utc().value));
    }

    // Writes a thread's name before the first row that uses it, and again when it changes.
    void write_names(std::uint32_t number) {
        const TimelineThread& thread = timeline_.threads()[number];
        const std::uint32_t tid = pid_of(thread, thread.tid);
        const auto [named, is_new_thread] = thread_of_tid_.try_emplace(tid, number);
        if (!is_new_thread && std::exchange(named->second, number) == number) {
            return;
        }
        const std::uint32_t pid = pid_of(thread, thread.pid);
        pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
        packet.add_uint32(perfetto::Packet::kSequence, kNamesSequence);
        pbf_builder<perfetto::ProcessTree> tree{packet, perfetto::Packet::kProcessTree};
        if (const auto name = process_names_.find(pid); name != process_names_.end()) {
            pbf_builder<perfetto::Process> process{tree, perfetto::ProcessTree::kProcess};
            process.add_int32(perfetto::Process::kPid, static_cast<std::int32_t>(pid));
            process.add_string(perfetto::Process::kCommandLine, name->second);
            process.add_bool(perfetto::Process::kIsCommand, true);
            process_names_.erase(name);
        }
        pbf_builder<perfetto::Thread> made{tree, perfetto::ProcessTree::kThread};
        made.add_int32(perfetto::Thread::kTid, static_cast<std::int32_t>(tid));
        made.add_string(perfetto::Thread::kName, thread.command);
        made.add_int32(perfetto::Thread::kPid, static_cast<std::int32_t>(pid));
    }

    void write_sample(const TimelineRow& row) {
        const TimelineThread& thread = timeline_.threads()[row.thread];
        Samples& samples = samples_[row.event];
        pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
        packet.add_uint64(perfetto::Packet::kTimestamp, row.time_ns);
        packet.add_uint32(perfetto::Packet::kSequence, kFirstSampleSequence + row.event);
        packet.add_uint32(perfetto::Packet::kSequenceFlags, samples.has_begun
                                                                ? perfetto::kNeedsSequence
                                                                : perfetto::kBeginsSequence | perfetto::kNeedsSequence);
        if (!std::exchange(samples.has_begun, true)) {
            samples.has_frame.resize(timeline_.frames().size());
            samples.has_callstack.resize(timeline_.nodes().size());
            pbf_builder<perfetto::Defaults> defaults{packet, perfetto::Packet::kDefaults};
            pbf_builder<perfetto::PerfSampleDefaults> of_samples{defaults, perfetto::Defaults::kPerfSample};
            pbf_builder<perfetto::Timebase> timebase{of_samples, perfetto::PerfSampleDefaults::kTimebase};
            timebase.add_string(perfetto::Timebase::kName, timeline_.events()[row.event].name);
        }
        if (row.node != 0 && !samples.has_callstack[row.node]) {
            samples.has_callstack[row.node] = true;
            pbf_builder<perfetto::Interned> interned{packet, perfetto::Packet::kInternedData};
            write_callstack(interned, samples, row.node);
        }
        const std::uint32_t cpu = cpu_of(row);
        pbf_builder<perfetto::PerfSample> sample{packet, perfetto::Packet::kPerfSample};
        sample.add_uint32(perfetto::PerfSample::kCpu, cpu);
        sample.add_uint32(perfetto::PerfSample::kPid, pid_of(thread, thread.pid));
        sample.add_uint32(perfetto::PerfSample::kTid, pid_of(thread, thread.tid));
        if (row.node != 0) {
            const bool is_kernel = timeline_.frames()[timeline_.nodes()[row.node].frame].is_kernel;
            sample.add_uint64(perfetto::PerfSample::kCallstack, row.node);
            sample.add_enum(perfetto::PerfSample::kMode, is_kernel ? perfetto::kModeKernel : perfetto::kModeUser);
        }
        // A count that never falls: amounts below 0 are left out.
        const bool is_shown = amounts_[timeline_.events()[row.event].unit].add(row.amount);
        sample.add_uint64(perfetto::PerfSample::kCount,
                          samples.weights[cpu] += is_shown ? static_cast<std::uint64_t>(row.amount) : 0);
    }

    // Writes the frames, the outermost first.
    void write_callstack(pbf_builder<perfetto::Interned>& interned, Samples& samples, std::uint32_t node) {
        chain_.clear();
        for (std::uint32_t at = node; at != 0; at = timeline_.nodes()[at].caller) {
            const std::uint32_t frame = timeline_.nodes()[at].frame;
            chain_.push_back(std::uint64_t{frame} + 1);
            if (!samples.has_frame[frame]) {
                samples.has_frame[frame] = true;
                write_frame(interned, samples, frame);
            }
        }
        pbf_builder<perfetto::Callstack> callstack{interned, perfetto::Interned::kCallstack};
        callstack.add_uint64(perfetto::Callstack::kNumber, node);
        for (auto frame = chain_.rbegin(); frame != chain_.rend(); ++frame) {
            callstack.add_uint64(perfetto::Callstack::kFrames, *frame);
        }
    }

    void write_frame(pbf_builder<perfetto::Interned>& interned, Samples& samples, std::uint32_t number) {
        const TimelineFrame& named = timeline_.frames()[number];
        const std::uint64_t id = std::uint64_t{number} + 1;
        const auto [image, is_new] = images_.try_emplace(named.image, images_.size() + 1);
        samples.has_mapping.resize(images_.size() + 1);
        const auto write_name = [&](perfetto::Interned field, std::uint64_t of, const std::string& text) {
            pbf_builder<perfetto::Name> name{interned, field};
            name.add_uint64(perfetto::Name::kNumber, of);
            name.add_bytes(perfetto::Name::kText, text);
        };
        if (!samples.has_mapping[image->second]) {
            samples.has_mapping[image->second] = true;
            write_name(perfetto::Interned::kMappingPath, image->second, named.image);
            pbf_builder<perfetto::Mapping> mapping{interned, perfetto::Interned::kMapping};
            mapping.add_uint64(perfetto::Mapping::kNumber, image->second);
            mapping.add_uint64(perfetto::Mapping::kPath, image->second);
        }
        write_name(perfetto::Interned::kFunctionName, id, named.symbol);
        pbf_builder<perfetto::Frame> frame{interned, perfetto::Interned::kFrame};
        frame.add_uint64(perfetto::Frame::kNumber, id);
        frame.add_uint64(perfetto::Frame::kFunctionName, id);
        frame.add_uint64(perfetto::Frame::kMapping, image->second);
    }

    void write_entry(const TimelineRow& row, const std::string& fields) {
        const TimelineThread& thread = timeline_.threads()[row.thread];
        const std::uint32_t tid = pid_of(thread, thread.tid);
        const std::uint64_t track = std::uint64_t{tid} + 1;
        if (tracks_.insert(tid).second) {
            pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
            packet.add_uint32(perfetto::Packet::kSequence, kNamesSequence);
            pbf_builder<perfetto::TrackDescriptor> descriptor{packet, perfetto::Packet::kTrackDescriptor};
            descriptor.add_uint64(perfetto::TrackDescriptor::kUuid, track);
            pbf_builder<perfetto::ThreadDescriptor> of_thread{descriptor, perfetto::TrackDescriptor::kThread};
            of_thread.add_int32(perfetto::ThreadDescriptor::kPid,
                                static_cast<std::int32_t>(pid_of(thread, thread.pid)));
            of_thread.add_int64(perfetto::ThreadDescriptor::kTid, tid);
        }
        pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
        packet.add_uint64(perfetto::Packet::kTimestamp, row.time_ns);
        packet.add_uint32(perfetto::Packet::kSequence, kNamesSequence);
        pbf_builder<perfetto::TrackEvent> event{packet, perfetto::Packet::kTrackEvent};
        event.add_enum(perfetto::TrackEvent::kType, perfetto::kInstant);
        event.add_uint64(perfetto::TrackEvent::kTrack, track);
        event.add_string(perfetto::TrackEvent::kCategory, "tracepoint");
        event.add_string(perfetto::TrackEvent::kName, timeline_.events()[row.event].name);
        {
            pbf_builder<perfetto::Annotation> cpu{event, perfetto::TrackEvent::kAnnotation};
            cpu.add_string(perfetto::Annotation::kName, "cpu");
            cpu.add_uint64(perfetto::Annotation::kUnsigned, row.cpu);
        }
        pbf_builder<perfetto::Annotation> text{event, perfetto::TrackEvent::kAnnotation};
        text.add_string(perfetto::Annotation::kName, "fields");
        text.add_string(perfetto::Annotation::kString, fields);
    }

    // Writes a track with the readings unchanged.
    Result<Done> write_counter(const TimelineCounter& counter, std::uint64_t track) {
        {
            pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
            packet.add_uint32(perfetto::Packet::kSequence, kNamesSequence);
            pbf_builder<perfetto::TrackDescriptor> descriptor{packet, perfetto::Packet::kTrackDescriptor};
            descriptor.add_uint64(perfetto::TrackDescriptor::kUuid, track);
            descriptor.add_string(perfetto::TrackDescriptor::kName, counter.name);
            pbf_builder<perfetto::CounterDescriptor> of_counter{descriptor, perfetto::TrackDescriptor::kCounter};
            of_counter.add_string(perfetto::CounterDescriptor::kUnitName, counter.unit);
        }
        for (const TimelineCounter::Reading& reading : counter.readings) {
            {
                pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
                packet.add_uint64(perfetto::Packet::kTimestamp, reading.time_ns);
                packet.add_uint32(perfetto::Packet::kSequence, kNamesSequence);
                pbf_builder<perfetto::TrackEvent> event{packet, perfetto::Packet::kTrackEvent};
                event.add_enum(perfetto::TrackEvent::kType, perfetto::kCounter);
                event.add_uint64(perfetto::TrackEvent::kTrack, track);
                event.add_int64(perfetto::TrackEvent::kCounterValue, static_cast<std::int64_t>(reading.value));
            }
            if (buffer_.size() >= kPacketsSizeBytes) {
                PERFLEET_TRY(flush());
            }
        }
        return Done{};
    }

    void write_switch(const TimelineRow& row, const TimelineSwitch& to) {
        const TimelineThread& from = timeline_.threads()[row.thread];
        const auto tid_of = [&](std::uint32_t tid) {
            return static_cast<std::int32_t>(tid == 0 ? 0 : pid_of(from, tid));  // one idle thread for all CPUs
        };
        pbf_builder<perfetto::Packet> packet{trace_, perfetto::Trace::kPacket};
        packet.add_uint32(perfetto::Packet::kSequence, kNamesSequence);
        pbf_builder<perfetto::FtraceBundle> bundle{packet, perfetto::Packet::kFtraceEvents};
        bundle.add_uint32(perfetto::FtraceBundle::kCpu, cpu_of(row));
        pbf_builder<perfetto::FtraceEvent> event{bundle, perfetto::FtraceBundle::kEvent};
        event.add_uint64(perfetto::FtraceEvent::kTimestamp, row.time_ns);
        event.add_uint32(perfetto::FtraceEvent::kTid, static_cast<std::uint32_t>(tid_of(from.tid)));
        pbf_builder<perfetto::SchedSwitch> made{event, perfetto::FtraceEvent::kSchedSwitch};
        made.add_string(perfetto::SchedSwitch::kPreviousCommand, from.command);
        made.add_int32(perfetto::SchedSwitch::kPreviousTid, tid_of(from.tid));
        made.add_int32(perfetto::SchedSwitch::kPreviousPriority, to.previous_priority);
        made.add_int64(perfetto::SchedSwitch::kPreviousState, to.previous_state);
        made.add_string(perfetto::SchedSwitch::kNextCommand, to.next_command);
        made.add_int32(perfetto::SchedSwitch::kNextTid, tid_of(to.next_tid));
        made.add_int32(perfetto::SchedSwitch::kNextPriority, to.next_priority);
    }

    [[nodiscard]] Result<Done> flush() {
        Result<Done> written = gzip_.write(buffer_);
        buffer_.clear();
        return written;
    }

    const Timeline& timeline_;
    GzipStream gzip_;
    std::string buffer_;
    pbf_builder<perfetto::Trace> trace_{buffer_};
    std::vector<std::uint32_t> first_cpus_;                           // by target
    std::unordered_map<std::uint32_t, std::string> process_names_;    // by pid, until they are written
    std::unordered_map<std::uint32_t, std::uint32_t> thread_of_tid_;  // as last named
    std::unordered_set<std::uint32_t> tracks_;                        // by tid
    std::unordered_map<std::string, std::uint64_t> images_;
    std::vector<Samples> samples_;                 // by event
    std::map<std::string, ShownAmounts> amounts_;  // by unit
    std::vector<std::uint64_t> chain_;
};

Result<QueryEnd> write_perfetto(const ExportInput& input, Symbolizer& symbolizer, const NoOptions&, ExportSink& sink) {
    const auto timeline = PERFLEET_TRY(Timeline::read(input.scan, symbolizer));
    PerfettoFile file{*timeline, sink};
    PERFLEET_TRY(file.write());
    QueryEnd outcome = timeline->outcome();
    file.warn(outcome.warnings);
    return outcome;
}

}  // namespace

ExportFormat perfetto_format() {
    return with_options({.name = "perfetto", .summary = "for ui.perfetto.dev: samples, tracepoints and scheduling"},
                        no_options(), write_perfetto);
}

}  // namespace perfleet
