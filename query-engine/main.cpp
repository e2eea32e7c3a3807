// perfleet-query: answers queries about a store over ZeroMQ and HTTP, beside the gateway that writes it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "daemon/command-line/arguments.h"
#include "daemon/command-line/version.h"
#include "daemon/listen/http_option.h"
#include "daemon/log/log.h"
#include "daemon/metrics/metrics_server.h"
#include "daemon/metrics/process_metrics.h"
#include "daemon/option/program_options.h"
#include "daemon/start/program_start.h"
#include "daemon/start/stop_signal.h"
#include "exporters/format/export_format.h"
#include "exporters/page/page_files.h"
#include "exporters/report/report.h"
#include "query-engine/http/api/http_api.h"
#include "query-engine/http/http_server.h"
#include "query-engine/http/push/push_api.h"
#include "query-engine/http/push/push_process.h"
#include "query-engine/limits/query_limits.h"
#include "query-engine/service/query_service.h"
#include "query-engine/statistic/session/pushed_parts.h"
#include "query-engine/wire/query_server.h"
#include "schemas/gzip/gzip.h"
#include "schemas/host/descriptor_limit.h"
#include "schemas/host/endpoint.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/local_socket.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/pprof/pprof_profile.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"
#include "target-collector/intake/pprof/pprof_import.h"
#include "target-collector/upload/gateway_destination.h"
#include "target-collector/upload/push_receiver.h"

namespace {

using namespace perfleet;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr unsigned kLibraryThreads = 0;

int fail(Log& log, const Error& error) {
    log.write({LogLevel::kError, "end", error.message});
    return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailure;
}

// Prints counts for the program that started this one. They are absolute: the next line makes up for one that is lost.
void print_counts(const TransportCounts& counts) {
    const std::string line = format_counts(counts) + "\n";
    (void)!write(STDOUT_FILENO, line.data(), line.size());
}

struct Arguments {
    std::string data;
    std::string writer;  // a folder; empty: that of the store
    std::string listen = "tcp://127.0.0.1:7412";
    HttpOptions http;
    SymbolPaths paths;
    QueryServerKeys keys;
    std::string log_level = "notice";
    std::string log_format = "text";
    bool reports_counts = false;
    std::size_t memory_size_bytes = limits::kQueriesMemorySizeBytes;
};

std::string http_metrics(const HttpServer& server, const PushProcess* pushes) {
    const HttpCounts counts = server.counts();
    MetricPage page;
    page.counter("perfleet_http_requests_total", "Requests that were read whole.", counts.requests);
    page.counter("perfleet_http_refused_total",
                 "Requests refused before they were looked at: malformed, too large, another host.", counts.refused);
    page.counter("perfleet_http_denied_total",
                 "Requests answered 401, 403 or 429: without credentials, with an unknown token, or without the role.",
                 counts.denied);
    page.counter("perfleet_http_unknown_tokens_total", "Requests with a token that isn't known.",
                 counts.unknown_tokens);
    page.counter("perfleet_http_busy_total", "Requests answered 503, as too many waited.", counts.busy);
    page.counter("perfleet_http_connections_total", "Connections accepted.", counts.connections);
    page.counter("perfleet_http_connections_dropped_total",
                 "Connections closed: too slow, without TLS, or for another one.", counts.dropped);
    if (pushes != nullptr) {
        const PushCounts pushed = pushes->counts();
        page.counter("perfleet_http_pushes_total", "Requests of agents that push profiles.", pushed.requests);
        page.counter("perfleet_http_pushes_refused_total", "Those that were refused whole.", pushed.refused);
        page.counter("perfleet_http_pushed_rows_total", "Rows that pushes stored.", pushed.rows);
        page.counter("perfleet_http_pushed_profiles_rejected_total", "Single profiles that were rejected.",
                     pushed.profiles_rejected);
        page.counter("perfleet_http_push_restarts_total", "Times that the process that reads pushes ended early.",
                     pushes->restart_count());
    }
    add_process_metrics(page);
    return metrics_text(page);
}

// A descriptor of these bytes.
Result<FileDescriptor> file_of(std::string_view bytes) {
    FileDescriptor file{::memfd_create("profile", MFD_CLOEXEC)};
    while (file && !bytes.empty()) {
        const ssize_t size = ::write(file.get(), bytes.data(), bytes.size());
        if (size < 0) {
            return error_from_errno(errno, "keeping a profile in memory");
        }
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return file ? Result<FileDescriptor>{std::move(file)} : error_from_errno(errno, "keeping a profile in memory");
}

// Sends a posted profile to the process that writes to the store, as `perfleet import` does.
Result<std::string> import_posted(const std::string& writer, const PostedProfile& profile, const LogSink& log) {
    std::string unpacked;
    std::string_view bytes = profile.bytes;
    if (bytes.starts_with("\x1f\x8b")) {
        unpacked = PERFLEET_TRY(gunzip(bytes, HttpServer::kUploadSizeBytesMax));
        bytes = unpacked;
    }
    if (is_legacy_profile(bytes) || !may_be_profile(bytes)) {
        return Error{ErrorCode::kInvalid, "the body is no profile of pprof's protobuf"};
    }
    const auto held = PERFLEET_TRY(file_of(bytes));
    const std::string path = "/proc/self/fd/" + std::to_string(held.get());
    const auto file = PERFLEET_TRY(FileBytes::open(path));
    const auto socket = PERFLEET_TRY(LocalSocket::in(writer, kGatewaySocketName));
    const auto destination = PERFLEET_TRY(GatewayDestination::connect({{socket.endpoint()}, "the gateway", {}}, log));
    RecordingImport options;
    options.target_name = profile.target;
    options.labels = profile.labels;
    options.now = utc_now();
    const auto imported = import_pprof(file, options, *destination);
    if (!imported.ok()) {
        Error error = imported.error();
        error.code = error.code == ErrorCode::kCorrupt ? ErrorCode::kInvalid : error.code;  // it is the client's
        if (error.message.starts_with(path)) {
            error.message.replace(0, path.size(), "the body");
        }
        return error;
    }
    Answer answer;
    answer.columns = {{"session", ""}, {"target", ""}, {"rows", ""}, {"was_there", ""}};
    answer.rows.push_back({session_hex(imported->session), imported->target_name, imported->row_count,
                           std::string{imported->was_there() ? "yes" : "no"}});
    answer.warnings = imported->warnings;
    return format_report(answer, ReportFormat::kJson);
}

// The folder with the gateway's socket; empty: no gateway writes to the store.
std::string writer_of(const Arguments& arguments) {
    return arguments.writer.empty() && is_folder(arguments.data) ? arguments.data : arguments.writer;
}

// The process that reads what clients push.
int serve_pushes(const Arguments& arguments, Log& log) {
    const LogSink sink = [&log](const LogEvent& event) { log.write(event); };
    const std::string writer = writer_of(arguments);
    const auto receiver = PushReceiver::make(writer, sink);
    if (!receiver.ok()) {
        return fail(log, receiver.error());
    }
    perfleet::serve_pushes(
        arguments.http.push_memory_size_bytes,
        [&](const HttpRequest& request, const LoadParts& load) {
            const auto load_hashes = [&](UtcNs since) -> Result<PushedSessions::Hashes> {
                PushedSessions::Hashes hashes;
                for (const auto& [hash, time] : PERFLEET_TRY(load(since))) {
                    hashes.emplace_hint(hashes.end(), PushHash{hash.first, hash.second}, time);
                }
                return hashes;
            };
            return answer_push(
                {.import = [&](const PostedProfile& profile) { return import_posted(writer, profile, sink); },
                 .push = [&](PushedBody body) -> Result<PushAnswer> {
                     const auto outcome = PERFLEET_TRY((*receiver)->take(std::move(body), load_hashes));
                     return PushAnswer{outcome.rejected_count, outcome.rejected_why};
                 }},
                request);
        },
        [&] { return (*receiver)->counts(); });
}

// Where counts of clients' quotas outlive the process: the store's folder, else that of the service manager. Empty:
// there is none.
std::string quota_file(const std::string& data) {
    const char* const of_service = std::getenv("STATE_DIRECTORY");  // NOLINT(concurrency-mt-unsafe): nothing sets it
    const std::string folder = is_folder(data) ? data : of_service == nullptr ? "" : of_service;
    return folder.empty() ? "" : folder + "/http.quotas";
}

// HTTP beside ZeroMQ: the same queries, until it is destroyed.
class HttpService : NonCopyable {
public:
    // `words`: of the command line, for the process that reads pushes.
    Result<Done> start(const Arguments& arguments, std::vector<std::string> words, StoreReader& store,
                       HttpBackend backend, const LogSink& log) {
        const HttpOptions& options = arguments.http;
        const ListenAddress address = PERFLEET_TRY(parse_http_address(options));
        std::function<HttpResponse(const HttpRequest&)> pushes;
        if (const std::string writer = writer_of(arguments); options.takes_profiles && writer.empty()) {
            pushes = [&arguments](const HttpRequest&) {
                return error_answer({ErrorCode::kUnavailable,
                                     "profiles are stored by a gateway, and this process has none: send them to the "
                                     "--http of a perfleet-gateway --data " +
                                         arguments.data + " --http-import"});
            };
        } else if (options.takes_profiles) {
            PERFLEET_TRY(LocalSocket::in(writer, kGatewaySocketName));
            pushes_ = std::make_unique<PushProcess>(PushProcess::Options{std::move(words),
                                                                         [&store](UtcNs since) -> Result<StoredParts> {
                                                                             PERFLEET_TRY(store.refresh());
                                                                             return pushed_parts(store, since);
                                                                         },
                                                                         log});
            pushes = [this](const HttpRequest& request) { return pushes_->answer(request); };
        }
        api_ = std::make_unique<HttpApi>(
            HttpApiOptions{.backend = std::move(backend),
                           .service_key = options.service_key,
                           .metrics = [this] { return http_metrics(*server_, pushes_.get()); },
                           .page = page_files(),
                           .debuginfod_upstream = options.debuginfod_upstream,
                           .pushes = std::move(pushes)});
        auto listening = PERFLEET_TRY(listen_at(address));
        socket_path_ = address.path;
        address_ = bound_address(address, listening.get());
        server_ = PERFLEET_TRY(HttpServer::make(
            std::move(listening),
            {.handler = [this](const HttpRequest& request, HttpReply& reply) { api_->answer(request, reply); },
             .role_of = [this](std::string_view path) { return api_->role_of(path); },
             .answer_at_once = [this](const HttpRequest& request,
                                      HttpReply& reply) { return api_->answer_at_once(request, reply); },
             .host = address.is_loopback() ? address.host : "",
             .access = {options.tokens, {options.certificate, options.key, options.client_ca}},
             .log = log,
             .quota_file = quota_file(arguments.data)}));
        server_->start();
        return Done{};
    }
    ~HttpService() {
        if (!socket_path_.empty()) {
            ::unlink(socket_path_.c_str());
        }
    }
    // Empty: there is none.
    [[nodiscard]] const std::string& address() const { return address_; }

private:
    std::string address_;
    std::string socket_path_;  // empty: none
    std::unique_ptr<PushProcess> pushes_;
    std::unique_ptr<HttpApi> api_;
    std::unique_ptr<HttpServer> server_;
};

int serve(const Arguments& arguments, std::vector<std::string> words, const QueryServer::CountsLogSink& log_counts,
          int stop_fd, Log& log) {
    const std::string& data = arguments.data;
    Result<std::unique_ptr<StoreReader>> store = open_store_reader(data);
    if (!store.ok()) {
        return fail(log,
                    store.error().code == ErrorCode::kNotFound && is_folder(data)
                        ? Error{ErrorCode::kNotFound, "no perfleet store at " + data +
                                                          ": --data takes the folder that perfleet-gateway writes to"}
                        : store.error());
    }
    MemoryPool memory{arguments.memory_size_bytes};
    const QueryService service{**store, arguments.paths, export_formats(), &memory};
    const auto run = [&](Query query, QueryReply& reply) -> Result<QueryEnd> {
        PERFLEET_TRY((*store)->refresh());
        return service.run(std::move(query), reply);
    };
    const Result<std::unique_ptr<QueryServer>> server =
        QueryServer::open(arguments.listen, run, arguments.keys.key_file.empty() ? nullptr : &arguments.keys);
    if (!server.ok()) {
        return fail(log, server.error());
    }
    HttpBackend backend{run, [](const Answer& answer) { return format_report(answer, ReportFormat::kJson); },
                        export_formats()};
    backend.debug_file = [&](std::string_view build_id, const DebugFileSink& take) -> Result<Done> {
        PERFLEET_TRY((*store)->refresh());
        return service.debug_file(build_id, take);
    };
    HttpService http;
    if (const Result<Done> started = arguments.http.address.empty()
                                         ? Result<Done>{Done{}}
                                         : http.start(arguments, std::move(words), **store, std::move(backend),
                                                      [&log](const LogEvent& event) { log.write(event); });
        !started.ok()) {
        return fail(log, started.error());
    }
    std::printf("ready query=%s%s\n", (*server)->endpoint().c_str(),
                http.address().empty() ? "" : (" http=" + http.address()).c_str());
    std::fflush(stdout);
    const Result<Done> served = (*server)->serve(stop_fd, log_counts);
    return served.ok() ? 0 : fail(log, served.error());
}

}  // namespace

int main(int argc, char** argv) {
    if (!start_program("perfleet-query", kLibraryThreads)) {
        return kExitFailure;
    }
    raise_descriptor_limit();  // each client needs one
    Arguments arguments;
    CLI::App app{
        "Answers queries about a data folder, beside the gateway that writes it or without one. Prints one line `ready "
        "query=...` when it serves; stops on SIGTERM or Ctrl-C.",
        "perfleet-query"};
    app.set_version_flag("--version", version_line("perfleet-query"));
    add_options(
        app,
        {
            {"--data DIR", arguments.data, "folder of the store, or rados:[USER@]POOL[/NAMESPACE]", is_not_empty,
             is_required},
            ceph_conf_row(),
            {"--listen ENDPOINT", arguments.listen,
             "endpoint for query clients: tcp://127.0.0.1:PORT (* takes a free port), ipc://PATH", is_not_empty,
             shows_default},
            {"--key FILE", arguments.keys.key_file,
             "its secret key (perfleet keygen); query clients then need keys, too, and it may listen on every address",
             is_not_empty, needs("--query-clients")},
            {"--query-clients DIR", arguments.keys.clients_folder,
             "folder of the public keys (NAME.pub) of query clients; read again when it changes", is_not_empty,
             needs("--key")},
            {"--writer DIR", arguments.writer,
             "folder with the socket of the gateway that stores what clients push (--http-import); default: that of "
             "--data",
             is_not_empty},
            {"--symfs DIR", arguments.paths.symfs, "look for images below this folder", is_not_empty,
             is_checked_by(CLI::ExistingDirectory)},
            memory_row(arguments.memory_size_bytes,
                       "memory of all queries together for rows and sums: bytes, or with k, m, g. On "
                       "top of it come up to 64 MiB for the program and its connections, and the store's cache"),
            log_level_row(arguments.log_level),
            log_format_row(arguments.log_format),
            {"--report-counts", arguments.reports_counts,
             "after the ready line, print a line `counts ...` whenever the connection counters change, for the gateway "
             "that started it"},
        });
    add_options(app, http_rows(arguments.http), "HTTP");
    if (const std::optional<int> status = parse_arguments(app, argc, argv)) {
        return *status;
    }
    const bool is_pushes = is_push_process(argv);
    Result<std::unique_ptr<Log>> opened_log = Log::to_standard_error(is_pushes ? "perfleet-push" : "perfleet-query",
                                                                     arguments.log_level, arguments.log_format);
    if (!opened_log.ok()) {
        std::fprintf(stderr, "perfleet-query: %s\n", opened_log.error().message.c_str());
        return kExitUsage;
    }
    Log& log = **opened_log;
    if (is_pushes) {
        return serve_pushes(arguments, log);
    }
    if (const Result<Done> checked =
            check_program_endpoint("--listen", arguments.listen, !arguments.keys.key_file.empty());
        !checked.ok()) {
        return fail(log, checked.error());
    }
    // Only a running query can fail to stop in time, and it has no data to lose.
    const auto stop = StopSignal::catch_signals([] { _exit(kExitFailure); });
    if (!stop.ok()) {
        return fail(log, stop.error());
    }
    if (arguments.reports_counts) {
        // A parent that doesn't read the counts must not block queries.
        (void)fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    }
    arguments.keys.log = [&log](std::string_view text) { log.write({LogLevel::kWarning, "keys", text}); };
    return serve(arguments, {argv + 1, argv + argc},
                 arguments.reports_counts ? print_counts : QueryServer::CountsLogSink{}, (*stop)->fd(), log);
}
