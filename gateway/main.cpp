// perfleet-gateway: receives batches from collectors, stores them in a RocksDB store, and starts a process that answers
// queries.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/command-line/arguments.h"
#include "daemon/command-line/version.h"
#include "daemon/listen/http_option.h"
#include "daemon/log/log.h"
#include "daemon/metrics/metrics_option.h"
#include "daemon/metrics/metrics_server.h"
#include "daemon/metrics/process_metrics.h"
#include "daemon/option/program_options.h"
#include "daemon/service/service_manager.h"
#include "daemon/start/program_start.h"
#include "daemon/start/stop_signal.h"
#include "gateway/admission/intake_limits.h"
#include "gateway/compaction/store_compaction.h"
#include "gateway/gateway.h"
#include "gateway/metrics/gateway_metrics.h"
#include "gateway/process/allocator.h"
#include "gateway/process/memory_plan.h"
#include "gateway/process/open_store.h"
#include "gateway/process/private_folder.h"
#include "gateway/process/query_process.h"
#include "gateway/process/symbol_fetch.h"
#include "gateway/retention/debounced_clock.h"
#include "gateway/retention/store_retention.h"
#include "schemas/host/descriptor_limit.h"
#include "schemas/host/endpoint.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/time.h"
#include "schemas/wire/delivery_limits.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/limits/store_limits.h"
#include "storage/store/open_engine.h"
#include "storage/store/options.h"
#include "storage/store/store.h"

namespace {

using namespace perfleet;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr unsigned kLibraryThreads = 2;  // the threads of connections and of metrics
constexpr std::string_view kNoQueries = "none";
constexpr std::uint32_t kTargetSessionsMost = 1U << 20;
constexpr double kClockTimeoutMostS = 7 * 86'400;
// Upper limit of the option: as many files as Linux lets a process open by default.
constexpr std::size_t kConnectionsSettableMax = 1U << 20;

const std::map<std::string, std::int64_t> kAgeUnits{{"h", 3'600}, {"d", 86'400}, {"w", 7 * 86'400}};

struct Arguments {
    std::string data;
    std::vector<std::string> listen{"tcp://127.0.0.1:7411"};
    std::string advertise;  // empty: the first endpoint of --listen
    std::string query{"tcp://127.0.0.1:7412"};
    double stop_within_s = static_cast<double>(StopSignal::kStopWithinNs) / kNsPerSecond;
    std::uint16_t shards = limits::kShardsDefault;  // of a newly created store
    bool is_shards_given = false;
    std::uint64_t memory_bytes = limits::kGatewayMemorySizeBytes;
    std::string metrics;  // empty: no metrics
    std::string log_level{"notice"};
    std::string log_format{"text"};
    std::string key;
    std::string collectors;
    std::string query_config;  // a file; empty: the default files
    std::string query_key;
    std::string clients;
    HttpOptions http;
    std::size_t connections_max = 0;
    bool asks_for_symbols = true;
    std::string debuginfod;  // servers; empty: none
    std::uint32_t target_sessions_max = intake_limits::kTargetSessionsMax;
    double clock_timeout_s = static_cast<double>(intake_limits::kClockTimeoutNs) / kNsPerSecond;
    bool is_without_compaction = false;
    bool is_without_dictionaries = false;
    std::uint32_t compact_batches = limits::kCompactedBatchesMax;
    std::string retention;     // a file with rules; empty: none
    RetentionPolicy retained;  // for all data if there are no rules
};

int fail(Log& log, const Error& error) {
    log.write({LogLevel::kError, "end", error.message});
    return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailure;
}

// Acknowledged data is on disk, and collectors still have the rest: ending at once loses nothing.
void end_by_force(Log& log) {
    log.write({LogLevel::kError, "end",
               "didn't stop in time (a disk or a cluster that doesn't answer?) and ends now; its collectors still have "
               "what isn't acknowledged"});
    _exit(kExitFailure);
}

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * kNsPerSecond); }

// Null: profiles that clients push come by the store's folder, or not at all.
Result<std::unique_ptr<PrivateFolder>> make_socket_folder(const Arguments& arguments) {
    return arguments.http.takes_profiles && !is_folder(arguments.data)
               ? PrivateFolder::make()
               : Result<std::unique_ptr<PrivateFolder>>{std::unique_ptr<PrivateFolder>{}};
}

Result<std::unique_ptr<QueryProcess>> start_queries(const Arguments& arguments, const std::string& socket_folder,
                                                    const LogSink& sink) {
    if (arguments.query == kNoQueries) {
        return std::unique_ptr<QueryProcess>{};
    }
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        return error_from_errno(error.value(), "/proc/self/exe");
    }
    std::vector<std::string> http_arguments = arguments.http.arguments();
    if (!socket_folder.empty()) {
        http_arguments.insert(http_arguments.end(), {"--writer", socket_folder});
    }
    return QueryProcess::start({(own.parent_path() / "perfleet-query").string(), arguments.data, arguments.query,
                                arguments.query_config, arguments.query_key, arguments.clients, arguments.http.address,
                                std::move(http_arguments), arguments.log_level, arguments.log_format, sink});
}

Result<std::unique_ptr<SymbolFetch>> start_symbol_fetch(const Arguments& arguments, const LogSink& sink) {
    if (arguments.debuginfod.empty()) {
        return std::unique_ptr<SymbolFetch>{};
    }
    if (!is_folder(arguments.data)) {
        return Error{ErrorCode::kUsage, "--debuginfod takes a store in a folder; for " + arguments.data +
                                            " run `perfleet symbols fetch` while no gateway writes to it"};
    }
    std::error_code error;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        return error_from_errno(error.value(), "/proc/self/exe");
    }
    return SymbolFetch::start({(own.parent_path() / "perfleet").string(), arguments.data, arguments.debuginfod, sink});
}

// Joins a store that gateways share; from then on this one holds some of its shards.
Result<Done> share_store(const Arguments& arguments, const Gateway& gateway, Store& store) {
    if (store.leases() == nullptr) {
        return Done{};
    }
    GatewayAddress own{arguments.advertise.empty() ? gateway.endpoints().front() : arguments.advertise, {}};
    if (!arguments.key.empty()) {
        auto key = load_secret_key(arguments.key);
        if (!key) {
            return Error{ErrorCode::kUsage, "--key " + key.error().message};
        }
        own.public_key = key->public_text;
    }
    for (const std::string_view any : {"//0.0.0.0:", "//[::]:", "//*:"}) {
        if (own.endpoint.find(any) != std::string::npos) {
            return Error{ErrorCode::kUsage, "--listen " + own.endpoint +
                                                " is no address that collectors can be sent to by other gateways; "
                                                "name one with --advertise tcp://HOST:PORT"};
        }
    }
    return store.leases()->join(own);
}

std::string comma_separated(const std::vector<std::string>& endpoints) {
    std::string text;
    for (const std::string& endpoint : endpoints) {
        text += (text.empty() ? "" : ",") + endpoint;
    }
    return text;
}

Result<RetentionRules> retention_rules(const Arguments& arguments) {
    if (!arguments.retention.empty()) {
        return load_retention_rules(arguments.retention);
    }
    RetentionRules rules;
    rules.rest = arguments.retained;
    return rules;
}

// Checks that need no access to the store's folder.
Result<Done> check(const Arguments& arguments) {
    for (const std::string& endpoint : arguments.listen) {
        PERFLEET_TRY(check_program_endpoint("--listen", endpoint, !arguments.key.empty()));
    }
    if (arguments.query != kNoQueries) {
        PERFLEET_TRY(check_program_endpoint("--query", arguments.query, !arguments.query_key.empty()));
    }
    if (arguments.query == kNoQueries && !arguments.http.address.empty()) {
        return Error{ErrorCode::kUsage, "--http: the query process answers it; leave --query none out"};
    }
    if (!arguments.http.address.empty()) {
        PERFLEET_TRY(parse_http_address(arguments.http));
    }
    for (const auto& [option, file] : {std::pair{"--key", arguments.key}, {"--query-key", arguments.query_key}}) {
        if (file.empty()) {
            continue;
        }
        if (const auto key = load_secret_key(file); !key) {
            return Error{ErrorCode::kUsage, std::string{option} + " " + key.error().message};
        }
    }
    return Done{};
}

Result<std::unique_ptr<MetricsServer>> start_metrics(const Arguments& arguments, const Gateway& gateway,
                                                     const Store& store, const QueryProcess* queries,
                                                     const StoreCompaction* compaction, const StoreRetention* retention,
                                                     const Log& log) {
    if (arguments.metrics.empty()) {
        return std::unique_ptr<MetricsServer>{};
    }
    return MetricsServer::start(
        arguments.metrics, [&arguments, &gateway, &store, queries, compaction, retention, &log](MetricPage& page) {
            add_gateway_metrics(
                {gateway.counts(), gateway.transport_counts(), size_of_folder(arguments.data), store.damage().size(),
                 queries == nullptr ? TransportCounts{} : queries->transport_counts(),
                 queries == nullptr ? 0 : queries->restart_count(), log.suppressed_count(),
                 compaction == nullptr ? CompactionCounts{} : compaction->counts(),
                 retention == nullptr ? RetentionCounts{} : retention->counts()},
                page);
            add_process_metrics(page);
        });
}

int run(const Arguments& arguments) {
    const ServiceManager manager = ServiceManager::from_environment();
    auto opened_log = Log::to_standard_error("perfleet-gateway", arguments.log_level, arguments.log_format);
    if (!opened_log) {
        std::fprintf(stderr, "perfleet-gateway: %s\n", opened_log.error().message.c_str());
        return kExitUsage;
    }
    const std::unique_ptr<Log> log = std::move(*opened_log);
    const LogSink sink = [&log](const LogEvent& event) { log->write(event); };
    raise_descriptor_limit();  // each collector needs one
    std::signal(SIGPIPE, SIG_IGN);
    // First, so that all later objects are destroyed before it.
    auto stop = StopSignal::catch_signals([&log] { end_by_force(*log); }, nanoseconds(arguments.stop_within_s));
    if (!stop) {
        return fail(*log, stop.error());
    }
    if (const auto checked = check(arguments); !checked) {
        return fail(*log, checked.error());
    }
    const auto rules = retention_rules(arguments);
    if (!rules) {
        return fail(*log, rules.error());
    }
    const MemoryPlan memory{arguments.memory_bytes};
    StoreOptions store_options{memory.store_bytes(), arguments.compact_batches};
    store_options.reserve_size_bytes = rules->keeps_everything() ? 0 : disk_reserve_size_bytes(memory.store_bytes());
    store_options.summaries.emplace();
    if (!arguments.is_without_dictionaries) {
        store_options.dictionaries.emplace();
    }
    store_options.is_shared = true;
    store_options.is_stopping = &(*stop)->flag();
    if (arguments.is_shards_given) {
        store_options.shards = ShardCount{arguments.shards};
    }
    auto store = open_gateway_store(arguments.data, store_options);
    if (!store) {
        return fail(*log, store.error());
    }
    GatewayOptions options{arguments.listen, sink, memory};
    if (!arguments.key.empty()) {
        options.keys = {arguments.key, arguments.collectors};
    }
    options.connections_max = arguments.connections_max;
    options.asks_for_symbols = arguments.asks_for_symbols;
    options.target_sessions_max = arguments.target_sessions_max;
    options.clock_timeout_ns = nanoseconds(arguments.clock_timeout_s);
    options.retention_class_of = [&rules](const SessionRecord& session) { return rules->class_of(session); };
    options.data = arguments.data;
    options.folder = is_folder(arguments.data) ? arguments.data : "";
    const auto socket_folder = make_socket_folder(arguments);
    if (!socket_folder) {
        return fail(*log, socket_folder.error());
    }
    options.socket_folder = *socket_folder == nullptr ? "" : (*socket_folder)->path();
    auto gateway = Gateway::open(options, **store);
    if (!gateway) {
        return fail(*log, gateway.error());
    }
    if (auto joined = share_store(arguments, **gateway, **store); !joined) {
        return fail(*log, joined.error());
    }
    const auto queries = start_queries(arguments, options.socket_folder, sink);
    if (!queries) {
        return fail(*log, queries.error());
    }
    const auto symbol_fetch = start_symbol_fetch(arguments, sink);
    if (!symbol_fetch) {
        return fail(*log, symbol_fetch.error());
    }
    const std::string query = *queries == nullptr ? std::string{kNoQueries} : (*queries)->endpoint();
    const std::string http = *queries == nullptr ? std::string{} : (*queries)->http_address();
    const std::unique_ptr<StoreCompaction> compaction =
        arguments.is_without_compaction ? nullptr : StoreCompaction::start(**store, sink);
    const std::unique_ptr<StoreRetention> retention =
        rules->keeps_everything() && (*store)->leases() == nullptr
            ? nullptr
            : StoreRetention::start(**store, *rules, sink, [debounced = DebouncedClock{sink}]() mutable {
                  return debounced.now(utc_now(), monotonic_now_ns());
              });
    const auto metrics =
        start_metrics(arguments, **gateway, **store, queries->get(), compaction.get(), retention.get(), *log);
    if (!metrics) {
        return fail(*log, metrics.error());
    }
    const std::string listen = comma_separated((*gateway)->endpoints());
    std::string ready = "ready listen=" + listen + " query=" + query;
    ready += http.empty() ? "" : " http=" + http;
    ready += *metrics == nullptr ? "" : " metrics=" + (*metrics)->address();
    std::printf("%s\n", ready.c_str());
    std::fflush(stdout);
    manager.say_ready();
    sink({LogLevel::kInfo, "start", "serving", {{"data", arguments.data}, {"listen", listen}, {"query", query}}});
    const auto served = (*gateway)->serve((*stop)->flag(), (*stop)->fd());
    manager.say_stopping();
    (void)(*store)->write_out_log();  // else the next start and queries replay it; a failure loses nothing
    sink({LogLevel::kInfo, "end", "stopped"});
    return served ? 0
                  : fail(*log, Error{served.error().code,
                                     served.error().message + "; its collectors still have what isn't acknowledged"});
}

}  // namespace

int main(int argc, char** argv) {
    if (!start_program("perfleet-gateway", kLibraryThreads)) {
        return kExitFailure;
    }
    keep_little_freed_memory();
    Arguments arguments;
    CLI::App app{
        "Receives data from perfleet collectors and stores it in a folder. Prints one line `ready listen=... "
        "query=...` (and `metrics=...` when asked for) when it serves; stops on SIGTERM or Ctrl-C.",
        "perfleet-gateway"};
    app.set_version_flag("--version", version_line("perfleet-gateway"));
    // Whether an endpoint needs keys depends on other options, too: see check().
    const auto is_endpoint_of = [](const char* option) {
        return passes([option](const std::string& text) {
            return text == kNoQueries && option == std::string_view{"--query"}
                       ? Result<Done>{Done{}}
                       : check_program_endpoint(option, text, true);
        });
    };
    add_options(
        app,
        {
            {"--data DIR", arguments.data,
             "Folder of the store, created when missing; or rados:[USER@]POOL[/NAMESPACE], a store in a pool of Ceph",
             is_not_empty, is_required},
            ceph_conf_row(),
            {"--shards N", arguments.shards,
             "Shards of a store that is created: as many gateways at most share it, and each hour has as many "
             "partitions. It is never changed; perfleet copy makes a store with another number",
             is_between(std::uint16_t{1}, limits::kShardsMax), shows_default},
            {"--listen ENDPOINT", arguments.listen,
             "Endpoint for collectors: tcp://127.0.0.1:PORT (* takes a free port), tcp://[::1]:PORT, ipc://PATH; "
             "several times for several",
             is_not_empty, is_endpoint_of("--listen"), shows_default},
            {"--advertise ENDPOINT", arguments.advertise,
             "Endpoint at which collectors reach this gateway; other gateways on the same store redirect collectors to "
             "it. Default: the first --listen",
             is_not_empty, passes([](const std::string& text) { return check_peer_endpoint("--advertise", text); })},
            {"--query ENDPOINT", arguments.query, "Endpoint for queries; none: no query process", is_not_empty,
             is_endpoint_of("--query"), shows_default},
            {"--query-config FILE", arguments.query_config,
             "Config file of the query process (perfleet-query). Default: that of the user who starts it",
             is_not_empty},
            {"--stop-within S", arguments.stop_within_s,
             "Seconds that a clean stop may take; then the process is killed, without data loss",
             is_between(0.1, 3600.0), is_not_nan, shows_default},
            memory_row(arguments.memory_bytes,
                       "Memory limit of this process, whatever collectors send: bytes, or with k, m, g. On top of it "
                       "come up to 64 MiB for the program, and the query process with a limit of its own (1g)",
                       is_between(std::uint64_t{MemoryPlan::kSizeBytesMin}, std::uint64_t{1} << 44,
                                  "at least " + std::to_string(MemoryPlan::kSizeBytesMin >> 20) + "m")),
            metrics_row(arguments.metrics, "9411"),
            log_level_row(arguments.log_level),
            log_format_row(arguments.log_format),
            {"--key FILE", arguments.key,
             "The gateway's secret key (perfleet keygen); peers then need keys, too, and it may listen on every "
             "address",
             is_not_empty, needs("--collectors")},
            {"--collectors DIR", arguments.collectors,
             "Folder of the public keys (NAME.pub) of the collectors that may connect; read again when it changes, "
             "removed ones are disconnected",
             is_not_empty, needs("--key")},
            {"--query-key FILE", arguments.query_key, "The query endpoint's own secret key", is_not_empty,
             needs("--query-clients")},
            {"--query-clients DIR", arguments.clients,
             "Folder of the public keys of query clients; they have read-only access", is_not_empty,
             needs("--query-key")},
            {"--connections N", arguments.connections_max,
             "Connections of collectors at once. Default: three quarters of the limit of open files, or as many as "
             "--memory allows",
             is_between(std::size_t{1}, kConnectionsSettableMax, "1 to " + std::to_string(kConnectionsSettableMax))},
            {"--debuginfod URLS", arguments.debuginfod,
             "Servers from which symbols that the store lacks are fetched once a minute, by `perfleet symbols fetch` "
             "beside this process: URLs with blanks between them, as in DEBUGINFOD_URLS. Default: none",
             is_not_empty},
            {"--symbols ask|off", arguments.asks_for_symbols,
             "ask: fetch the symbols of images that the store doesn't have from a collector that has the file, each "
             "build once; off: don't",
             is_made_by(CLI::CheckedTransformer(std::map<std::string, bool>{{"ask", true}, {"off", false}})),
             shows_default_of("ask")},
            {"--target-sessions N", arguments.target_sessions_max,
             "New sessions of one target in an hour (each recording is one); further ones are deferred",
             is_between(1U, kTargetSessionsMost), shows_default},
            {"--clock-timeout S", arguments.clock_timeout_s,
             "Seconds for which batches hours ahead of this machine's clock are deferred, until one of the two clocks "
             "is set; then they are refused",
             is_between(0.0, kClockTimeoutMostS), is_not_nan, shows_default},
            {"--no-compaction", arguments.is_without_compaction,
             "Don't compact small batches into large blocks when their hour is over: they take more space, and queries "
             "longer"},
            {"--compact-batches N", arguments.compact_batches,
             "Compact a session's batches within their hour, too, whenever it has this many",
             is_between(2U, limits::kCompactedBatchesMax), shows_default, excludes({"--no-compaction"})},
            {"--no-dictionaries", arguments.is_without_dictionaries,
             "Don't write dictionaries of the call chains that sessions of an hour share: profiles of many targets "
             "take longer"},
            {"--retain AGE", arguments.retained.age_s,
             "Drop data older than this, whole hours at a time: 12h, 30d or 8w. Default: keep everything",
             is_made_by(CLI::AsNumberWithUnit{kAgeUnits, CLI::AsNumberWithUnit::UNIT_REQUIRED, "AGE"}),
             is_between(kBucketDurationS, RetentionPolicy::kAgeMaxS, "at least 1h")},
            {"--retain-bytes BYTES", arguments.retained.size_bytes,
             "Drop the oldest hours when the store takes more than this: bytes, or with k, m, g, t; checked once a "
             "minute, and the current hour stays. Default: no limit",
             is_size, is_between(std::uint64_t{1}, std::uint64_t{1} << 60, "at least 1 byte")},
            {"--retention FILE", arguments.retention,
             "File of retention classes, for sessions that are kept longer or shorter than the rest. Lines like `class "
             "dev 1 {env=\"dev\"} keep 3d`, `class boards 2 {arch=\"aarch64\"} with tracepoint keep 90d 50g`, `default "
             "keep 30d 200g`; the first class that matches applies. Read at the start",
             is_not_empty, excludes({"--retain", "--retain-bytes"})},
        });
    add_options(app, http_rows(arguments.http), "HTTP");
    if (const std::optional<int> status = parse_arguments(app, argc, argv)) {
        return *status;
    }
    arguments.is_shards_given = app.get_option("--shards")->count() != 0;
    return run(arguments);
}
