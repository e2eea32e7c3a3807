// The Linux collector as a library: source, sealer, ring and delivery combined. `perfleet-collector` is this with a
// main(); `perfleet record` runs one against a gateway in its own process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/series.h"
#include "schemas/wire/delivery_limits.h"
#include "target-collector/linux/link/gateway_choice.h"
#include "target-collector/metrics/collector_counts.h"
#include "target-collector/source/linux/event/call_chain_mode.h"
#include "target-collector/source/linux/event/sampled_details.h"

namespace perfleet {

struct CollectorOptions : GatewayChoice {
    std::string gateway_name;       // for messages; empty: "the gateway at ENDPOINT"
    std::string output_file;        // write frames to this file instead of a gateway
    bool is_output_forced = false;  // may replace a file
    // Takes frames in this process, in place of a gateway: a whole frame or, with an error, none of it. Called by one
    // thread.
    std::function<Result<Done>(std::span<const std::byte> frame)> take_frame;
    std::uint64_t batch_age_ns_max = limits::kBatchAgeNsMax;  // the longest wait of a row until its batch is sealed
    // File for frames that the gateway hasn't acknowledged within exit_wait_s at the end; empty: they are lost.
    std::string unacknowledged_file;
    std::vector<std::string> events;         // as written after -e; empty: cycles, or cpu-clock if the machine has none
    std::vector<std::string> event_filters;  // of each of `events`; may be shorter
    std::optional<std::uint64_t> frequency_hz;
    std::optional<std::uint64_t> period;
    std::uint32_t jitter_percent = 10;                 // --jitter, of fixed periods; 0: none
    std::optional<std::uint64_t> jitter_seed;          // default: a new one for each session
    std::uint64_t default_frequency_hz = 99;           // if neither is given; every tracepoint hit is taken
    CallChainMode call_chains = CallChainMode::kNone;  // -g, --call-graph
    std::uint32_t user_stack_bytes = kUserStackBytes;  // --call-graph dwarf: copied with each sample
    SampledDetails details;                            // --user-regs, --intr-regs
    // --cpu-budget, in percent of one core; only with all_cpus. Empty: no limit.
    std::optional<double> cpu_budget_percent;
    bool has_off_cpu = false;          // --off-cpu
    bool all_cpus = false;             // -a
    std::vector<std::int32_t> pids;    // -p, with their threads and children
    std::vector<std::int32_t> tids;    // -t, only these threads
    std::optional<std::uint32_t> uid;  // --uid, the processes of this user
    std::vector<std::uint32_t> cpus;   // -C, only these; empty: all
    std::vector<std::string> command;  // after --
    // Records a benchmark (probe/perfleet/bench.h) of `command` instead of `events`.
    struct Benchmark {
        std::string name;
        bool is_circle = false;       // accumulated latencies
        std::string parameters;       // for its environment: "PERFLEET_BENCH=…"
        std::string overhead;         // format of the event (probe_overhead.h); may be empty
        std::uint64_t row_count = 0;  // expected; with another number the run has failed
    };
    std::optional<Benchmark> benchmark;
    std::vector<std::pair<std::string, std::string>> labels;
    std::string target_name;  // default: the key's name, or the host's without a key
    bool include_self = false;
    bool keeps_symbols = true;                // offers the symbol tables of sampled files to the gateway
    std::string reader_program;               // reads files in its own processes (confined_reader.h); empty: read here
    std::optional<std::string> cache_folder;  // keeps unwind tables and symbols; "none"; default: the user's
    bool is_symbol_rate_limited = true;       // by DeliveryCore::kImageBytesPerSecond
    bool all_user = false;
    bool all_kernel = false;
    bool is_inherited = true;              // by threads and processes that start later
    bool is_frequency_strict = false;      // a frequency above the kernel's limit is an error
    std::optional<std::int64_t> delay_ms;  // until sampling begins; -1: until it is requested
    std::optional<double> duration_s;      // stop after this long; default: at the command's end, or at a signal
    std::uint32_t ring_pages = 0;          // kernel ring per CPU, a power of two; 0: as large as allowed
    std::size_t collector_ring_size_bytes = limits::kCollectorRingSizeBytes;
    std::string spool_folder;                     // keeps unacknowledged batches on disk; empty: in memory
    std::optional<std::size_t> spool_size_bytes;  // default: limits::kSpoolSizeBytes, on disk kDiskSpoolSizeBytes
    std::optional<double> spool_sync_s;           // interval of syncing the spool folder; default: never
    // Whether to log the gateway on connecting, and the progress every ten minutes (progress.h).
    bool reports_progress = false;
    double exit_wait_s = 10.0;                  // at the end: longest wait for the last acknowledgement
    std::vector<std::string> own_command_line;  // argv, for the session's description
};

// The result of a run. All rows counted here are also in the ledger.
struct CollectorSummary {
    SessionId session;
    TargetId target;
    // As in a shell; 0 without a command, and for one that was terminated at the end of the profile.
    int command_exit_status = 0;
    std::uint64_t run_status = 0;        // of a benchmark: protocol::kRunEnded
    std::uint64_t rows_produced = 0;     // of all series except definitions
    std::uint64_t samples_produced = 0;  // part of rows_produced, as the next
    std::uint64_t tracepoints_produced = 0;
    std::uint64_t rows_lost = 0;
    std::uint64_t rows_undelivered = 0;  // part of rows_lost: not acknowledged in time, though the spool had space
    std::vector<std::pair<CountName, std::uint64_t>> lost_by_reason;  // the rest of rows_lost
    std::uint64_t batches_sealed = 0;
    std::uint64_t batches_dropped = 0;
    std::uint64_t batches_kept = 0;         // in the spool folder for the next run, or in the file
    bool is_rest_in_file = false;           // unacknowledged batches are in CollectorOptions::unacknowledged_file
    std::uint64_t earlier_sessions = 0;     // still in the spool folder
    std::uint64_t damaged_spool_files = 0;  // of earlier runs: some of their batches or counts are lost
    bool everything_acknowledged = false;   // of this session
    bool is_rest_kept = false;              // unacknowledged batches are in the spool folder
    bool session_refused = false;           // the gateway refuses this session for good
    std::uint64_t own_cpu_ns = 0;           // of this process since open(), and of its readers
};

class Collector {
public:
    // Opens the events and starts the command stopped at its first instruction. Errors: kUsage (names the event and
    // alternatives), kPermission (with what to do), kUnsupported, kNotFound (pid, command), kInvalid (a command that
    // can't be run). `log` gets messages for the user ("waiting for the gateway at …", "profiling user space only: …").
    [[nodiscard]] static Result<std::unique_ptr<Collector>> open(CollectorOptions options, LogSink log);
    virtual ~Collector() = default;

    [[nodiscard]] virtual SessionId session() const = 0;

    // From any thread, also during run(); up to a fraction of a second old.
    [[nodiscard]] virtual CollectorCounts counts() const = 0;

    // The receiver: "the gateway at tcp://…". From any thread.
    [[nodiscard]] virtual std::string peer() const = 0;

    // Collects until the command or all processes of -p have ended, the duration is over, or stop() was called; then
    // flushes and closes the session.
    [[nodiscard]] virtual Result<CollectorSummary> run() = 0;

    // Signal-safe. The first call ends the collection in order; the second also stops waiting for acknowledgements.
    virtual void stop() = 0;

    // From any thread: the next rows belong to a new epoch, which can be understood without those before it.
    virtual void end_epoch() = 0;
};

}  // namespace perfleet
