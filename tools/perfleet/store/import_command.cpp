// import: puts measurements of other programs into a store.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "daemon/command-line/arguments.h"
#include "daemon/option/program_options.h"
#include "query-engine/select/selection.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/diff/diff_runs.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/key_file.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/hello_limits.h"
#include "storage/store/open_store.h"
#include "target-collector/linux/host/machine_state.h"
#include "target-collector/linux/host/processor_pmu.h"
#include "target-collector/linux/host/target_identity.h"
#include "tools/perfleet/import/exact_decimal.h"
#include "tools/perfleet/import/frame_import.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/program_files.h"
#include "tools/perfleet/import/recording_file.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/import/session/import_limits.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/session/session_destination.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr std::size_t kFileSizeBytesMax = 1ULL << 30;
constexpr std::string_view kClockLabel = "clock_hz=";
constexpr const char* kFileLabel = "file";  // of repetitions: the file's name

using Reader = Result<std::vector<ImportedRun>> (*)(std::string_view, const ImportHints&);
constexpr const char* kFrames = "frames";
const std::map<std::string, Reader> kReaders{{"kbench", read_kbench},
                                             {"columns", read_columns},
                                             {"bernat", read_bernat},
                                             {"sel4bench", read_sel4bench},
                                             {"utilisation", read_utilisation},
                                             {"go-bench", read_go_bench},
                                             {"google-benchmark", read_google_benchmark},
                                             {"hyperfine", read_hyperfine},
                                             {"sel4-entries", read_sel4_entries},
                                             {"sel4-tracepoints", read_sel4_tracepoints},
                                             {"sel4-utilisation", read_sel4_utilisation}};

struct ImportOptions : GatewayChoice {  // without a gateway: into `data`
    std::string file;
    std::string data;
    std::vector<ConnectKeys> keys;
    std::string format;
    ImportHints hints;
    std::string target;
    std::string architecture;
    std::string time;
    std::optional<std::string> clock_hz;
    std::vector<std::string> labels;
    bool is_measured_here = false;
    bool is_new_session = false;
    std::vector<std::string> point_files;  // EVENT=FILE
    std::string symfs;
};

struct SourceFile {
    std::string text;
    UtcNs modified;
};

Result<Done> import_text(const ImportOptions& options, const std::string& format, SourceFile file);

Error too_large_file(const std::string& path) {
    return Error{ErrorCode::kTooLarge, path + ": larger than 1 GiB; split it"};
}

Result<SourceFile> read_file(const std::string& path) {
    const FileDescriptor descriptor{path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!descriptor) {
        return error_from_errno(errno, path);
    }
    SourceFile file;
    file.modified = utc_now();
    struct stat status {};
    if (::fstat(descriptor.get(), &status) == 0 && S_ISREG(status.st_mode)) {
        file.modified = UtcNs{status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec};
    }
    auto text = read_rest(descriptor.get(), kFileSizeBytesMax);
    if (!text) {
        return error_from_errno(errno, path);
    }
    file.text = std::move(*text);
    if (file.text.size() > kFileSizeBytesMax) {
        return too_large_file(path);
    }
    return file;
}

// "62500000", "2.4e9"; `option` names its source in errors. Errors: kUsage.
Result<std::uint64_t> parse_clock_hz(const std::string& option, const std::string& text) {
    const ParsedDecimal parsed = parse_decimal(text);
    const auto hertz = parsed.fault == DecimalFault::kNone ? in_parts(parsed.value, 0) : std::nullopt;
    if (!hertz || *hertz == 0) {
        return usage(option + text +
                     ": no whole number of Hz above 0; write it as 62500000 or 2.4e9, or leave "
                     "it out where it isn't known");
    }
    return *hertz;
}

// The value of --clock-hz or of the label clock_hz, which must not differ; 0: neither is given.
Result<std::uint64_t> said_clock_hz(const ImportOptions& options) {
    std::uint64_t hertz = 0;
    std::string said_by;
    const auto take = [&](const std::string& option, const std::string& text) -> Result<Done> {
        const auto parsed = PERFLEET_TRY(parse_clock_hz(option, text));
        if (hertz != 0 && parsed != hertz) {
            return usage(said_by + " and " + option + text + " say different things: leave out the one that is wrong");
        }
        hertz = parsed;
        said_by = option + text;
        return Done{};
    };
    if (options.clock_hz) {
        PERFLEET_TRY(take("--clock-hz ", *options.clock_hz));
    }
    for (const std::string& label : options.labels) {
        if (label.starts_with(kClockLabel)) {
            PERFLEET_TRY(take("--label " + std::string{kClockLabel}, label.substr(kClockLabel.size())));
        }
    }
    return hertz;
}

Result<Done> add_said_labels(const ImportOptions& options, std::map<std::string, std::string>& labels) {
    for (const std::string& label : options.labels) {
        const std::size_t equals = label.find('=');
        if (hello_limits::is_reserved_label(label.substr(0, equals))) {
            return usage("--label " + label + ": give it with --" + label.substr(0, equals) +
                         ", which selections know");
        }
        labels[label.substr(0, equals)] = label.substr(equals + 1);
    }
    return Done{};
}

Result<Done> add_labels(const ImportOptions& options, std::uint64_t clock_hz, ImportedRun& run) {
    if (options.is_measured_here) {
        for (const auto& labels : {machine_state(), processor_pmu()}) {
            for (const auto& [name, text] : labels) {
                run.labels[name] = text;
            }
        }
    }
    PERFLEET_TRY(add_said_labels(options, run.labels));
    if (clock_hz != 0) {
        run.labels["clock_hz"] = std::to_string(clock_hz);
    }
    return Done{};
}

Result<Done> read_points(const std::vector<std::string>& point_files, ImportHints& hints) {
    for (const std::string& named : point_files) {
        const std::size_t equals = named.find('=');
        if (equals == 0 || equals == std::string::npos) {
            return usage("--points " + named + ": expected EVENT=FILE");
        }
        auto file = PERFLEET_TRY(read_file(named.substr(equals + 1)));
        hints.points.emplace_back(named.substr(0, equals), std::move(file.text));
    }
    return Done{};
}

Result<std::unique_ptr<SessionDestination>> destination_of(const ImportOptions& options) {
    return options.gateways.empty() ? open_destination(PERFLEET_TRY(data_folder_of(options.data)))
                                    : connect_destination({options.gateways, "", options.keys});
}

Result<UtcNs> said_time(const ImportOptions& options, UtcNs now) {
    auto time = parse_time(options.time, now);
    return time.ok() ? std::move(time) : usage("--time: " + time.error().message);
}

void warn_of_expired(const ImportOptions& options, const StoredSession& stored) {
    if (stored.batches_expired > 0) {
        print_warning(options.file + ": " + counted_noun(stored.batches_expired, "batch is", "batches are") +
                      " of hours that were dropped from this store");
    }
}

// Imports a collector's own session, as if it had come over a wire.
Result<Done> import_collected(const ImportOptions& options) {
    if (options.file == "-") {
        return usage("--format frames: name the file, it is read twice");
    }
    if (!options.target.empty() || !options.architecture.empty() || !options.time.empty() || !options.labels.empty() ||
        options.is_measured_here || options.clock_hz) {
        return usage("--format frames: target, architecture, clock, time and labels are in the file");
    }
    if (!options.gateways.empty()) {
        return usage("--format frames: not through a gateway; name a store that no process writes to");
    }
    const auto named = PERFLEET_TRY(writable_data_folder_of(options.data));
    const auto store = PERFLEET_TRY(open_store(named, {.memory_size_bytes = kImportStoreMemorySizeBytes}));
    const auto fresh = options.is_new_session ? std::optional{new_session_id()} : std::nullopt;
    const ImportedFrames imported = PERFLEET_TRY(with_progress("import", [&](const ProgressReport& report) {
        return import_frames(options.file, fresh, utc_now(), *store, report);
    }));
    const std::string session = session_hex(imported.session);
    if (imported.was_there()) {
        fmt::print("session {} was there already{}\n", session,
                   imported.is_given ? "; if this is another run that left the same bytes: --new-session" : "");
    } else {
        fmt::print("session {} of {}: {} in {}\n", session, printable(imported.target_name),
                   counted_noun(imported.row_count, "row"), counted_noun(imported.batches_stored, "batch", "batches"));
    }
    warn_of_expired(options, imported);
    if (imported.cut_short.has_value()) {
        print_warning(*imported.cut_short + ": what stands before it is imported");
    } else if (!imported.has_end) {
        print_warning(options.file + ": its collector didn't come to an end: what it had not yet written is unknown");
    }
    return Done{};
}

Result<Done> import_recording(const ImportOptions& options) {
    auto file = PERFLEET_TRY(open_recording_file(options.file, options.format));
    if (kReaders.contains(file.format)) {
        const FileBytes& bytes = file.files.file;
        if (bytes.size_bytes() > kFileSizeBytesMax) {
            return too_large_file(options.file);
        }
        const auto text = bytes.piece(0, bytes.size_bytes());
        return import_text(options, file.format,
                           {{reinterpret_cast<const char*>(text.data()), text.size()}, bytes.modified()});
    }
    if (options.is_measured_here || options.clock_hz || options.is_new_session) {
        return usage("--format " + file.format +
                     ": --measured-here, --clock-hz and --new-session are for other formats");
    }
    RecordingImport import;
    import.target_name = options.target;
    import.architecture = options.architecture;
    import.files = program_files({.symfs = options.symfs});
    import.now = utc_now();
    std::map<std::string, std::string> labels;
    PERFLEET_TRY(add_said_labels(options, labels));
    import.labels.assign(labels.begin(), labels.end());
    if (!options.time.empty()) {
        import.start = PERFLEET_TRY(said_time(options, import.now));
    }
    const auto destination = PERFLEET_TRY(destination_of(options));
    const auto imported = PERFLEET_TRY(import_recording_file(std::move(file), import, *destination));
    const std::string session = session_hex(imported.session);
    if (imported.was_there()) {
        fmt::print("session {} was there already\n", session);
    } else {
        fmt::print("session {} of {}: {}, {} of them samples\n", session, printable(imported.target_name),
                   counted_noun(imported.row_count, "row"), imported.sample_count);
    }
    warn_of_expired(options, imported);
    return Done{};
}

// Repetitions are many runs: one line summarises them.
void print_repetitions(const ImportedRun& first, std::size_t run_count, std::size_t new_count) {
    fmt::print("{} repetitions, {}; compare them with: perfleet diff --before '{{{}=\"{}\"}}' --after SIDE\n",
               run_count,
               new_count == run_count ? "stored"
               : new_count == 0       ? "all of them there already"
                                      : std::to_string(new_count) + " of them new",
               kFileLabel, printable(first.labels.at(kFileLabel)));
}

Result<Done> import_text(const ImportOptions& options, const std::string& format, SourceFile file) {
    const auto clock_hz = PERFLEET_TRY(said_clock_hz(options));
    ProgressLine progress{"import"};
    ImportHints hints = options.hints;
    hints.clock_hz = clock_hz;
    hints.architecture = options.architecture;
    PERFLEET_TRY(read_points(options.point_files, hints));
    auto runs = kReaders.at(format)(file.text, hints);
    if (!runs.ok()) {
        return Error{runs.error().code, options.file + ": " + runs.error().message};
    }
    ImportPlace place{options.target.empty() ? host_name() : options.target, options.architecture, file.modified,
                      options.file};
    if (!options.time.empty()) {
        place.time = PERFLEET_TRY(said_time(options, utc_now()));
    }
    const bool are_repetitions = !runs->empty() && runs->front().labels.contains(kRepetitionLabel);
    for (ImportedRun& run : *runs) {
        if (are_repetitions) {
            run.labels[kFileLabel] =
                std::filesystem::path{options.file}.filename().string().substr(0, limits::kLabelSizeBytesMax);
        }
        PERFLEET_TRY(add_labels(options, hints.clock_hz, run));
    }
    const auto destination = PERFLEET_TRY(destination_of(options));
    std::size_t new_count = 0;
    if (are_repetitions) {
        destination->defer_sync();
    }
    for (const ImportedRun& run : *runs) {
        const auto stored = store_run(run, place, *destination);
        progress.end();
        if (!stored.ok()) {
            return Error{stored.error().code, options.file + ": " + stored.error().message};
        }
        for (const std::string& warning : run.warnings) {
            print_warning(options.file + ": " + warning);
        }
        new_count += stored->was_there ? 0 : 1;
        if (are_repetitions) {
            continue;
        }
        if (stored->was_there) {
            fmt::print("session {} was there already\n", session_hex(stored->session));
        } else {
            fmt::print("session {}: {} of {} series\n", session_hex(stored->session),
                       counted_noun(stored->row_count, "row"), run.series.size());
        }
    }
    PERFLEET_TRY(destination->sync());
    if (are_repetitions) {
        print_repetitions(runs->front(), runs->size(), new_count);
    }
    return Done{};
}

Result<Done> import_as_told(ImportOptions& options) {
    PERFLEET_TRY(said_clock_hz(options));
    options.keys = PERFLEET_TRY(options.load_keys());
    if (!options.keys.empty() && options.target.empty()) {
        options.target = options.keys.front().own.name;
    }
    const bool has_frames = options.format == kFrames || (options.format.empty() && is_frame_file(options.file));
    return has_frames ? import_collected(options)
           : options.format.empty() || options.format == kPerfData || options.format == kPprof
               ? import_recording(options)
               : import_text(options, options.format, PERFLEET_TRY(read_file(options.file)));
}

// CLI11 reads -1 as 2^64 - 1.
std::string check_not_negative(const std::string& text) {
    return text.starts_with('-') ? "'" + text + "' is below 0" : "";
}

void add_kernel_log_options(CLI::App& command, ImportOptions& options) {
    ImportHints& hints = options.hints;
    add_options(
        command,
        {{"--log-index N", hints.log_index, "sel4-entries, sel4-tracepoints: result of seL4_BenchmarkFinalizeLog",
          is_checked_by(check_not_negative)},
         {"--max-tracepoints N", hints.tracepoint_count, "sel4-tracepoints: the kernel's KernelMaxNumTracePoints",
          is_checked_by(check_not_negative)},
         {"--kernel-version VERSION", hints.kernel_version,
          "sel4-…: of the kernel (default: as of 14.0.0; earlier ones numbered paths differently)"},
         {"--mcs", hints.is_mcs, "sel4-entries: the kernel is an MCS one, which numbers system calls differently"},
         {"--points EVENT=FILE", options.point_files,
          "sel4-entries: timestamps that a program took with the same cycle counter, one a line", is_not_empty,
          is_one_each},
         {"--threads LIST", hints.thread_names, "sel4-utilisation: their names, in the file's order, with commas",
          is_comma_list}});
}

}  // namespace

void add_import_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] =
        add_command<ImportOptions>(app, invocation, "import", "Store measurements of other programs", import_as_told);
    std::vector<std::string> names{kFrames, kPerfData, kPprof};
    std::ranges::copy(std::views::keys(kReaders), std::back_inserter(names));
    add_options(*command,
                {{"FILE", options->file, "file to import; - for standard input", is_not_empty, is_required},
                 {"--format FORMAT", options->format,
                  "perf.data (recognised without it: perf's recordings, from files, folders and pipes); "
                  "pprof (recognised; both may be gzip-compressed); kbench (Kanata Bench's serial output), "
                  "columns (numbers), bernat (his module's results), sel4bench (its JSON, or the console's "
                  "output with it), utilisation (output of seL4_BenchmarkDumpAllThreadsUtilisation); "
                  "go-bench, google-benchmark, hyperfine (results that are recognised, too); bytes "
                  "of memory: sel4-entries, sel4-tracepoints (the log buffer), sel4-utilisation (13 words a "
                  "thread); frames (recognised: output of perfleet-collector --output or of a target's file sink)",
                  is_checked_by(CLI::IsMember(names).description(""))}});
    add_options(*command, destination_rows(options->data, *options));
    add_options(
        *command,
        {ceph_conf_row(),
         {"--event NAME", options->hints.event, "name of the measured event"},
         {"--unit UNIT", options->hints.unit, "of the numbers (default: cycles)"},
         {"--target NAME", options->target,
          "where it was measured (default: the target of --key, that of the file, this host)"},
         {"--arch NAME", options->architecture, "its architecture"},
         {"--time TIME", options->time, "when (default: the file's time): RFC 3339, -2h"},
         {"--clock-hz HZ", options->clock_hz, "the cycle counter's frequency: 62500000, 2.4e9", is_not_empty},
         {"--label K=V", options->labels,
          "further properties of the run: governor=performance, turbo=off, kernel=…, compiler_flags=…", is_label},
         {"--measured-here", options->is_measured_here,
          "the run was measured on this machine as it is set now: governor, turbo, frequency, kernel and processor are "
          "stored with it"},
         {"--initial-test-size N", options->hints.initial_test_size,
          "kbench: the file is a bare table of tests × groups, whose first group has this test size",
          is_checked_by(check_not_negative)},
         {"--delta N", options->hints.test_size_delta, "… and each next one is greater by this",
          is_checked_by(check_not_negative)},
         {"--new-session", options->is_new_session,
          "frames: of a target without entropy, whose session is made here: another run, even with the same bytes as a "
          "stored one"},
         {"--symfs DIR", options->symfs,
          "perf.data with copied stacks (--call-graph dwarf): programs and libraries lie below this folder"}});
    add_kernel_log_options(*command, *options);
}

}  // namespace perfleet
