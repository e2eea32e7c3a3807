#include "exporters/perfetto/perfetto_exporter.h"

#include <algorithm>
#include <map>
#include <set>

#include "exporters/timeline/json_file.h"

namespace perfleet {
namespace {

constexpr unsigned kMicroseconds = 3;            // decimals of ns
constexpr std::uint64_t kCpusPid = 0xffff'fff0;  // whom the slices of CPUs belong to, less the target's number

class PerfettoFile {
public:
    PerfettoFile(const Timeline& timeline, ExportSink& sink) : timeline_{timeline}, file_{sink, false} {}

    Result<Done> write() {
        file_.raw("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"perfleet\"},\"traceEvents\":[");
        write_names();
        write_entries();
        write_slices();
        file_.raw("],\n\"stackFrames\":{");
        bool is_first = true;
        for (std::uint32_t node = 1; node < timeline_.nodes().size(); ++node) {
            const TimelineFrame& frame = timeline_.frames()[timeline_.nodes()[node].frame];
            file_.next(is_first).raw("\n").text(std::to_string(node)).raw(":{\"category\":").text(frame.image);
            file_.raw(",\"name\":").text(frame.symbol);
            if (const std::uint32_t caller = timeline_.nodes()[node].caller; caller != 0) {
                file_.raw(",\"parent\":").text(std::to_string(caller));
            }
            file_.raw("}");
        }
        file_.raw("},\n\"samples\":[");
        is_first = true;
        for (const TimelineRow& row : timeline_.rows()) {
            write_sample(row, is_first);
        }
        file_.raw("]}\n");
        return file_.finish();
    }

private:
    [[nodiscard]] std::uint64_t pid_of(const TimelineThread& thread) const {
        return thread.target * kPidsOfTarget + thread.pid;
    }
    [[nodiscard]] std::uint64_t tid_of(const TimelineThread& thread) const {
        return thread.target * kPidsOfTarget + thread.tid;
    }
    // "M": what a process or a thread is called.
    void write_name(std::string_view what, std::uint64_t pid, std::uint64_t tid, const std::string& name) {
        file_.next(is_first_event_).raw("\n{\"ph\":\"M\",\"name\":").text(what).raw(",\"pid\":").number(pid);
        file_.raw(",\"tid\":").number(tid).raw(",\"args\":{\"name\":").text(name).raw("}}");
    }
    [[nodiscard]] std::string of_target(std::uint32_t target, const std::string& name) const {
        return timeline_.targets().size() > 1 ? timeline_.targets()[target] + " " + name : name;
    }

    void write_names() {
        std::set<std::uint64_t> named;
        for (const TimelineThread& thread : timeline_.threads()) {
            if (named.insert(pid_of(thread)).second) {
                write_name("process_name", pid_of(thread), pid_of(thread), of_target(thread.target, thread.command));
            }
            write_name("thread_name", pid_of(thread), tid_of(thread), thread.command);
        }
        std::set<std::pair<std::uint32_t, std::uint32_t>> cpus;
        for (const TimelineSwitch& one : timeline_.switches()) {
            if (cpus.insert({one.target, one.cpu}).second) {
                write_name("process_name", kCpusPid - one.target, 0, of_target(one.target, "CPUs"));
                write_name("thread_name", kCpusPid - one.target, one.cpu, "CPU " + std::to_string(one.cpu));
            }
        }
    }

    void write_entries() {
        for (const TimelineEntry& entry : timeline_.entries()) {
            const TimelineRow& row = timeline_.rows()[entry.row];
            const TimelineThread& thread = timeline_.threads()[row.thread];
            file_.next(is_first_event_).raw("\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"tracepoint\",\"name\":");
            file_.text(timeline_.events()[row.event].name).raw(",\"ts\":").decimal(row.time_ns, kMicroseconds);
            file_.raw(",\"pid\":").number(pid_of(thread)).raw(",\"tid\":").number(tid_of(thread));
            file_.raw(",\"args\":{\"cpu\":").number(row.cpu).raw(",\"fields\":").text(entry.text).raw("}}");
        }
    }

    // From one switch of a CPU to its next; what isn't known to have ended lasts to the last row.
    void write_slices() {
        std::map<std::pair<std::uint32_t, std::uint32_t>, const TimelineSwitch*> running;
        for (const TimelineSwitch& one : timeline_.switches()) {
            const TimelineSwitch*& before = running[{one.target, one.cpu}];
            if (before != nullptr) {
                write_slice(*before, one.time_ns);
            }
            before = &one;
        }
        for (const auto& [cpu, last] : running) {
            write_slice(*last, timeline_.last_ns());
        }
    }

    void write_slice(const TimelineSwitch& from, std::uint64_t end_ns) {
        if (from.next_tid == 0) {
            return;  // idle
        }
        file_.next(is_first_event_).raw("\n{\"ph\":\"X\",\"cat\":\"sched\",\"name\":").text(from.next_command);
        file_.raw(",\"ts\":").decimal(from.time_ns, kMicroseconds);
        file_.raw(",\"dur\":").decimal(end_ns - std::min(end_ns, from.time_ns), kMicroseconds);
        file_.raw(",\"pid\":").number(kCpusPid - from.target).raw(",\"tid\":").number(from.cpu);
        file_.raw(",\"args\":{\"tid\":").number(from.next_tid).raw("}}");
    }

    void write_sample(const TimelineRow& row, bool& is_first) {
        const TimelineThread& thread = timeline_.threads()[row.thread];
        file_.next(is_first).raw("\n{\"name\":").text(timeline_.events()[row.event].name);
        file_.raw(",\"cpu\":").number(row.cpu).raw(",\"pid\":").number(pid_of(thread));
        file_.raw(",\"tid\":").number(tid_of(thread)).raw(",\"comm\":").text(thread.command);
        file_.raw(",\"ts\":").decimal(row.time_ns, kMicroseconds).raw(",\"weight\":").number(row.weight);
        file_.raw(",\"sf\":").text(std::to_string(row.node)).raw("}");
    }

    const Timeline& timeline_;
    JsonFile file_;
    bool is_first_event_ = true;
};

}  // namespace

Result<ExportOutcome> export_perfetto(const Scan& scan, Symbolizer& symbolizer, ExportSink& sink) {
    const auto timeline = Timeline::read(scan, symbolizer);
    if (!timeline.ok()) {
        return Error{timeline.error()};
    }
    if (auto written = PerfettoFile{**timeline, sink}.write(); !written.ok()) {
        return std::move(written).error();
    }
    return (*timeline)->outcome();
}

}  // namespace perfleet
