// perfleet-query: answers queries about a store over ZeroMQ, beside the gateway that writes it.
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "daemon/command-line/arguments.h"
#include "daemon/log/log.h"
#include "daemon/option/program_options.h"
#include "daemon/start/program_start.h"
#include "exporters/format/export_format.h"
#include "query-engine/query_limits.h"
#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/command.h"
#include "query-engine/statistic/session/event_choice.h"
#include "query-engine/statistic/stack/frame_filter.h"
#include "query-engine/wire/query_server.h"
#include "schemas/host/endpoint.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/transport_counts.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"

namespace {

using namespace perfleet;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr unsigned kLibraryThreads = 0;

int fail(Log& log, const Error& error) {
    log.write({LogLevel::kError, "end", error.message});
    return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailure;
}

class ReplySink : public ExportSink {
public:
    explicit ReplySink(QueryReply& reply) : reply_{reply} {}
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        return reply_.write_at(offset, bytes);
    }

private:
    QueryReply& reply_;
};

// A query takes no more threads than there are cores, whatever its client would like.
void bound_threads(OptionValues& options) {
    if (const auto threads = options.find("threads"); threads != options.end()) {
        if (auto* const count = std::get_if<std::uint64_t>(&threads->second)) {
            *count = std::min(*count, std::uint64_t{std::max(1U, std::thread::hardware_concurrency())});
        }
    }
}

// What all handlers share. The reader is brought up to date before each query.
struct Source {
    std::unique_ptr<StoreReader> store;
    SymbolPaths paths;
    MemoryPool memory{limits::kQueriesMemorySizeBytes};
};

std::size_t size_bytes_of(const Answer& answer) {
    std::size_t size_bytes = 0;
    for (const std::vector<AnswerValue>& row : answer.rows) {
        size_bytes += sizeof row + row.capacity() * sizeof(AnswerValue);
        for (const AnswerValue& value : row) {
            const auto* const text = std::get_if<std::string>(&value);
            size_bytes += text == nullptr ? 0 : text->capacity();
        }
    }
    return size_bytes;
}

Result<QueryEnd> answer_table(Source& source, const std::string& command, OptionValues options, QueryReply& reply) {
    bound_threads(options);
    PERFLEET_TRY(source.store->refresh());
    QueryContext context{source.memory, reply.cancelled(), reply.progress()};
    auto answer = PERFLEET_TRY(run_query(command, options, *source.store, source.paths, utc_now(), &context));
    // Until its client has taken it.
    QueryMemory memory{source.memory.size_bytes_max(), &source.memory};
    MemoryShare share{memory};
    share.set(size_bytes_of(answer));
    if (memory.is_exceeded()) {
        return memory.exceeded();
    }
    PERFLEET_TRY(reply.send_table(answer));
    return QueryEnd{std::move(answer.ledger), std::move(answer.warnings), std::nullopt, {}, std::move(answer.parts)};
}

std::string take_format(OptionValues& options) {
    const auto found = options.extract("format");
    const auto* const format = found.empty() ? nullptr : std::get_if<std::string>(&found.mapped());
    return format == nullptr ? "" : *format;
}

Result<QueryEnd> answer_export(Source& source, const ExportFormat& format, OptionValues options, QueryReply& reply) {
    for (const auto& [name, value] : options) {
        if (find_option(format.options, name) == nullptr && find_option(selection_options(), name) == nullptr) {
            return Error{ErrorCode::kUsage, format.name + " has no option --" + name.substr(0, 64)};
        }
    }
    bound_threads(options);
    PERFLEET_TRY(source.store->refresh());
    const UtcNs now = utc_now();
    const auto selection = PERFLEET_TRY(read_selection(options, now));
    QueryContext context{source.memory, reply.cancelled(), reply.progress()};
    auto scan = PERFLEET_TRY(Scan::open(*source.store, selection, &context));
    PERFLEET_TRY(check_event(scan));
    filter_frames(scan, source.paths);
    ReplySink sink{reply};
    auto outcome = PERFLEET_TRY(format.write({scan, source.paths, options, now, &context}, sink));
    return QueryEnd{
        std::move(outcome.ledger), std::move(outcome.warnings), outcome.modified, std::move(outcome.summary), {}};
}

QueryServer::Handlers make_handlers(Source& source) {
    QueryServer::Handlers handlers;
    for (const QueryCommand& command : query_commands()) {
        handlers.emplace(command.name, [&source, name = command.name](const OptionValues& options, QueryReply& reply) {
            return answer_table(source, name, options, reply);
        });
    }
    handlers.emplace("export", [&source](OptionValues options, QueryReply& reply) -> Result<QueryEnd> {
        const std::string name = take_format(options);
        const ExportFormat* const format = find_export_format(name);
        if (format == nullptr || format->is_command) {
            return Error{ErrorCode::kUsage, "this gateway doesn't export \"" + name.substr(0, 64) + "\""};
        }
        return answer_export(source, *format, std::move(options), reply);
    });
    for (const ExportFormat& format : export_formats()) {
        if (format.is_command) {
            handlers.emplace(format.name, [&source, &format](const OptionValues& options, QueryReply& reply) {
                return answer_export(source, format, options, reply);
            });
        }
    }
    return handlers;
}

// A line for whoever started this program. Absolute counts: one that finds no room is made good by the next.
void print_counts(const TransportCounts& counts) {
    const std::string line = format_counts(counts) + "\n";
    (void)!write(STDOUT_FILENO, line.data(), line.size());
}

int serve(const std::string& data, const std::string& listen, const QueryServerKeys* keys, const SymbolPaths& paths,
          std::size_t memory_size_bytes, const QueryServer::CountsLogSink& log_counts, int stop_fd, Log& log) {
    Result<std::unique_ptr<StoreReader>> store = open_store_reader(data);
    if (!store.ok()) {
        return fail(log,
                    store.error().code == ErrorCode::kNotFound && is_folder(data)
                        ? Error{ErrorCode::kNotFound, "no perfleet store at " + data +
                                                          ": --data takes the folder that perfleet-gateway writes to"}
                        : store.error());
    }
    Source source{std::move(store).value(), paths, MemoryPool{memory_size_bytes}};
    const Result<std::unique_ptr<QueryServer>> server = QueryServer::open(listen, make_handlers(source), keys);
    if (!server.ok()) {
        return fail(log, server.error());
    }
    std::printf("ready query=%s\n", (*server)->endpoint().c_str());
    std::fflush(stdout);
    const Result<Done> served = (*server)->serve(stop_fd, log_counts);
    return served.ok() ? 0 : fail(log, served.error());
}

// A descriptor that is readable when the program is asked to stop.
Result<int> catch_stop_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (!is_signal_ignored(SIGHUP)) {
        sigaddset(&signals, SIGHUP);
    }
    if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) {
        return error_from_errno(errno, "sigprocmask");
    }
    const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor < 0) {
        return error_from_errno(errno, "signalfd");
    }
    return descriptor;
}

}  // namespace

int main(int argc, char** argv) {
    if (!start_program("perfleet-query", kLibraryThreads)) {
        return kExitFailure;
    }
    std::string data;
    std::string listen = "tcp://127.0.0.1:7412";
    SymbolPaths paths;
    QueryServerKeys keys;
    std::string log_level = "notice";
    std::string log_format = "text";
    bool tells_counts = false;
    std::size_t memory_size_bytes = limits::kQueriesMemorySizeBytes;
    CLI::App app{
        "Answers queries about a data folder, beside the gateway that writes it or without one. Prints one line `ready "
        "query=...` when it serves; stops on SIGTERM or Ctrl-C.",
        "perfleet-query"};
    app.set_version_flag("--version", "perfleet-query " PERFLEET_VERSION);
    add_options(
        app,
        {
            {"--data DIR", data, "folder of the store, or rados:[USER@]POOL[/NAMESPACE]", is_not_empty, is_required},
            ceph_conf_row(),
            {"--listen ENDPOINT", listen,
             "endpoint for query clients: tcp://127.0.0.1:PORT (* takes a free port), ipc://PATH", is_not_empty,
             shows_default},
            {"--key FILE", keys.key_file,
             "its secret key (perfleet keygen); query clients then need keys, too, and it may listen on every address",
             is_not_empty, needs("--query-clients")},
            {"--query-clients DIR", keys.clients_folder,
             "folder of the public keys (NAME.pub) of query clients; read again when it changes", is_not_empty,
             needs("--key")},
            {"--symfs DIR", paths.symfs, "look for images below this folder", is_not_empty,
             is_checked_by(CLI::ExistingDirectory)},
            memory_row(memory_size_bytes,
                       "what all queries together may take for what they read and count: bytes, or with k, m, g. On "
                       "top of it come up to 64 MiB for the program and its connections, and the store's cache"),
            log_level_row(log_level),
            log_format_row(log_format),
            {"--report-counts", tells_counts,
             "after the ready line, print a line `counts ...` whenever the connection counters change, for the gateway "
             "that started it"},
        });
    if (const std::optional<int> status = parse_arguments(app, argc, argv)) {
        return *status;
    }
    Result<std::unique_ptr<Log>> opened_log = Log::to_standard_error("perfleet-query", log_level, log_format);
    if (!opened_log.ok()) {
        std::fprintf(stderr, "perfleet-query: %s\n", opened_log.error().message.c_str());
        return kExitUsage;
    }
    Log& log = **opened_log;
    if (const Result<Done> checked = check_program_endpoint("--listen", listen, !keys.key_file.empty());
        !checked.ok()) {
        return fail(log, checked.error());
    }
    const Result<int> stop_fd = catch_stop_signals();
    if (!stop_fd.ok()) {
        return fail(log, stop_fd.error());
    }
    if (tells_counts) {
        // Whoever should read them and doesn't mustn't hold up queries.
        (void)fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    }
    keys.log = [&log](std::string_view text) { log.write({LogLevel::kWarning, "keys", text}); };
    return serve(data, listen, keys.key_file.empty() ? nullptr : &keys, paths, memory_size_bytes,
                 tells_counts ? print_counts : QueryServer::CountsLogSink{}, *stop_fd, log);
}
