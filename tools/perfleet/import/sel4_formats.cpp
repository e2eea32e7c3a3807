// Logs of a seL4 kernel, as bytes of memory: kernel entries, tracepoints, utilisation.
#include <fmt/format.h>

#include <map>
#include <set>
#include <span>

#include "schemas/sel4/log_description.h"
#include "schemas/sel4/names.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/utilisation_thread.h"
#include "tools/perfleet/import/run_parts.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

using enum ColumnId;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

// Kernel properties that every log's description needs. Errors: kUsage names the option.
Result<sel4::LogDescription> describe_kernel(const ImportHints& hints, bool needs_architecture) {
    sel4::LogDescription description;
    description.architecture_name = hints.architecture;
    description.architecture = sel4::architecture_of(hints.architecture);
    if (!description.architecture && (needs_architecture || !hints.architecture.empty())) {
        return usage("--arch: the log's layout depends on it: aarch64, aarch32, x86_64, ia32, riscv64 or riscv32");
    }
    if (!hints.kernel_version.empty() && !sel4::major_version(hints.kernel_version)) {
        return usage("--kernel-version: \"" + hints.kernel_version.substr(0, 64) + "\" is no version like 14.0.0");
    }
    description.version = hints.kernel_version;
    description.is_mcs = hints.is_mcs;
    return description;
}

Result<std::uint64_t> index_of(const ImportHints& hints) {
    if (!hints.log_index) {
        return usage(
            "--log-index: give the value that seL4_BenchmarkFinalizeLog returned; without it old entries can't be "
            "distinguished from new ones");
    }
    return *hints.log_index;
}

// The bytes of `count` records.
Result<std::span<const std::byte>> records_of(std::string_view bytes, std::uint64_t count, std::size_t size_bytes) {
    if (bytes.size() / size_bytes < count) {
        return invalid(
            fmt::format("{} bytes hold {} records of {} bytes, but --log-index and --arch say {}: the file was "
                        "cut, or is of another architecture",
                        bytes.size(), bytes.size() / size_bytes, size_bytes, count));
    }
    return bytes_of(bytes).first(count * size_bytes);
}

ImportedRun new_kernel_run(const std::string& format, const ImportHints& hints) {
    ImportedRun run = new_run(format);
    if (!hints.kernel_version.empty()) {
        run.labels["kernel"] = "seL4 " + hints.kernel_version;
    }
    return run;
}

// Timestamps without a duration, one a line: rows of a tracepoint with value 0.
Result<ImportedSeries> read_points(const std::string& event, std::string_view text) {
    ImportedSeries series;
    series.kind = Kind::kTracepoint;
    series.event = event;
    PERFLEET_TRY(each_line(text, [&](const TextLine& line) -> Result<Done> {
        const auto time = number_of<std::uint64_t>(line.text);
        if (time) {
            series.rows.push_back(timed_row<Kind::kTracepoint>(*time, column<kWeight>(1)));
        } else if (!line.text.empty() && !line.text.starts_with('#')) {
            return invalid(fmt::format("points of {}, line {}: \"{}\" is no timestamp in cycles", event, line.number,
                                       line.text.substr(0, 64)));
        }
        return Done{};
    }));
    return series;
}

}  // namespace

Result<std::vector<ImportedRun>> read_sel4_entries(std::string_view bytes_untrusted, const ImportHints& hints) {
    auto description = PERFLEET_TRY(describe_kernel(hints, true));
    const std::uint64_t index = PERFLEET_TRY(index_of(hints));
    const sel4::Architecture architecture = *description.architecture;
    const sel4::EntryLayout layout = sel4::entry_layout_of(architecture);
    const auto fill = sel4::entry_log_fill(layout, index);
    if (!fill.ok()) {
        return usage(fmt::format("--log-index: {} is more than the {} entries that a buffer holds", index,
                                 sel4::entry_capacity(layout)));
    }
    const auto records = PERFLEET_TRY(records_of(bytes_untrusted, fill->record_count, sel4::entry_size_bytes(layout)));
    std::vector<ImportedRun> runs{new_kernel_run("sel4-entries", hints)};
    ImportedRun& run = runs[0];
    run.clock = ImportedClock{"cycles"};
    if (hints.clock_hz != 0) {
        run.clock->ticks_per_second = hints.clock_hz;
    } else {
        run.warnings.emplace_back("without --clock-hz times are given as if a cycle took 1 ns; cycles are exact");
    }
    ImportedSeries& series = run.series.emplace_back(new_series(Kind::kKernelEntry, hints, "kernel_entries"));
    sel4::KernelEntryReader reader{layout, sel4::has_short_clock(architecture), records};
    for (sel4::KernelEntry entry; reader.next(entry);) {
        // Other architectures don't set the core.
        const bool has_core =
            sel4::is_arm(architecture) &&
            sel4::entry_path(description.numbering(), entry.path_number) == sel4::EntryPath::kInterrupt;
        series.rows.push_back(timed_row<Kind::kKernelEntry>(
            entry.start_ticks, column<kCpu>(has_core ? sel4::word_detail(entry.detail).core : 0),
            column<kDuration>(entry.duration_ticks), column<kEntryPath>(entry.path_number),
            column<kEntryDetail>(entry.detail)));
    }
    description.is_saturated = fill->is_saturated;
    description.is_loss_known = fill->is_loss_known;
    series.format = sel4::format_description(description);
    if (fill->is_saturated) {
        run.labels["saturated"] = "true";
        run.warnings.push_back(fmt::format(
            "the log was full at {} entries: later ones are lost, and their number is unknown", fill->record_count));
    }
    if (reader.wrap_count() != 0) {
        run.warnings.push_back("the clock of 32 bits wrapped " + counted_noun(reader.wrap_count(), "time") +
                               ": later starts are given the bits that they lack");
    }
    for (const auto& [event, text] : hints.points) {
        run.series.push_back(PERFLEET_TRY(read_points(event, text)));
    }
    return runs;
}

Result<std::vector<ImportedRun>> read_sel4_tracepoints(std::string_view bytes_untrusted, const ImportHints& hints) {
    auto description = PERFLEET_TRY(describe_kernel(hints, true));
    const std::uint64_t index = PERFLEET_TRY(index_of(hints));
    if (!hints.tracepoint_count) {
        return usage("--max-tracepoints: give the kernel's KernelMaxNumTracePoints; higher ids aren't its own");
    }
    const sel4::WordSize word = sel4::word_size_of(*description.architecture);
    const sel4::LogFill fill = sel4::tracepoint_log_fill(word, index);
    const auto records =
        PERFLEET_TRY(records_of(bytes_untrusted, fill.record_count, sel4::tracepoint_size_bytes(word)));
    std::vector<ImportedRun> runs{new_kernel_run("sel4-tracepoints", hints)};
    ImportedRun& run = runs[0];
    // Tracepoints have no time: they are ordered by their place in the log.
    run.clock = ImportedClock{"place in the log"};
    std::map<std::uint64_t, std::vector<std::vector<std::uint64_t>>> by_id;
    sel4::TracepointReader reader{word, *hints.tracepoint_count, records};
    std::uint64_t place = 0;
    for (sel4::TracepointRecord record; reader.next(record);) {
        by_id[record.id].push_back(timed_row<Kind::kTracepoint>(place + reader.quarantined_count(), column<kWeight>(1),
                                                                column<kValue>(record.duration_ticks)));
        ++place;
    }
    description.is_saturated = fill.is_saturated;
    if (fill.lost != 0 || reader.quarantined_count() != 0) {
        // Their tracepoint is unknown.
        ImportedSeries& others = run.series.emplace_back(new_series(Kind::kTracepoint, hints, ""));
        others.event = "tracepoints of unknown id";
        others.format = sel4::format_description(description);
        if (fill.lost != 0) {
            others.lost[CountName::kLostSaturated] = fill.lost;
            run.labels["saturated"] = "true";
            run.warnings.push_back(fmt::format("the log was full at {} tracepoints: {} lost", fill.record_count,
                                               counted_noun(fill.lost, "later one is", "later ones are")));
        }
        if (reader.quarantined_count() != 0) {
            others.lost[CountName::kLostMalformed] = reader.quarantined_count();
            run.warnings.push_back(
                fmt::format("{} from {} on (the greatest is {}), which this "
                            "kernel doesn't have: counted, not stored",
                            counted_noun(reader.quarantined_count(), "tracepoint has an id", "tracepoints have ids"),
                            *hints.tracepoint_count, reader.quarantined_id_max()));
        }
    }
    for (auto& [id, rows] : by_id) {
        description.tracepoint_id = id;
        ImportedSeries& series = run.series.emplace_back(new_series(Kind::kTracepoint, hints, "tracepoint"));
        series.event += "-" + std::to_string(id);
        series.format = sel4::format_description(description);
        series.rows = std::move(rows);
    }
    return runs;
}

Result<std::vector<ImportedRun>> read_sel4_utilisation(std::string_view bytes_untrusted, const ImportHints& hints) {
    constexpr std::size_t kSizeBytes = sel4::kUtilisationWords * sizeof(std::uint64_t);
    auto description = PERFLEET_TRY(describe_kernel(hints, false));
    if (bytes_untrusted.empty() || bytes_untrusted.size() % kSizeBytes != 0) {
        return invalid(
            fmt::format("{} bytes; expected {} for each thread: the words of the IPC buffer after "
                        "seL4_BenchmarkGetThreadUtilisation",
                        bytes_untrusted.size(), kSizeBytes));
    }
    std::vector<ImportedRun> runs{new_kernel_run("sel4-utilisation", hints)};
    ImportedRun& run = runs[0];
    ImportedSeries& series = run.series.emplace_back(new_series(Kind::kUtilisation, hints, "utilisation"));
    const std::size_t thread_count = bytes_untrusted.size() / kSizeBytes;
    for (std::size_t i = 0; i < thread_count; ++i) {
        const auto read = sel4::read_utilisation(bytes_of(bytes_untrusted).subspan(i * kSizeBytes, kSizeBytes));
        if (!read.ok()) {
            return error_from_fault(read.error(), "thread " + std::to_string(i + 1));
        }
        if (i == 0) {
            series.rows.push_back(utilisation_row(kWholeSystem, read->total));
            series.rows.push_back(utilisation_row(kIdleThread, read->idle));
        } else if (utilisation_row(kWholeSystem, read->total) != series.rows[0]) {
            return invalid(
                fmt::format("thread {} has another total than the first: threads of one window, read after "
                            "its FinalizeLog, have the same",
                            i + 1));
        }
        series.rows.push_back(utilisation_row(i + 1, read->thread));
        description.thread_names[i + 1] =
            i < hints.thread_names.size() ? hints.thread_names[i] : "thread " + std::to_string(i + 1);
    }
    description.thread_names[kIdleThread] = "idle_thread";
    series.format = sel4::format_description(description);
    return runs;
}

}  // namespace perfleet
