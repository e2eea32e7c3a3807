#include "tools/perfleet/query/query_source.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "daemon/command-line/arguments.h"
#include "daemon/option/program_options.h"
#include "exporters/format/export_format.h"
#include "query-engine/scan/session_choice.h"
#include "query-engine/service/query_service.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/key_file.h"
#include "schemas/session/command_text.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "storage/store/memory_store.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"
#include "tools/perfleet/import/program_files.h"
#include "tools/perfleet/import/recording_file.h"
#include "tools/perfleet/import/session/stored_session_writer.h"
#include "tools/perfleet/query/table_text.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {

void QueryOptions::add_to(CLI::App& command, std::span<const OptionSpec> options, SessionUse use) {
    add_options(command, options, values, "Selection");
    const bool is_of_last = use != SessionUse::kAny && use != SessionUse::kLikeTheLast;
    add_options(command,
                {{"--all", takes_all,
                  is_of_last ? "of a data folder: every session; without a selection it is the last"
                             : "every session, as without it"}},
                "Selection");
    add_source_to(command);
}

void QueryOptions::add_source_to(CLI::App& command) {
    add_options(
        command,
        {{"--data DIR", data, "data folder (default: where `perfleet record` writes), or rados:POOL", is_not_empty},
         ceph_conf_row(),
         {"--gateway ENDPOINT", gateway, "query endpoint of a gateway, such as tcp://127.0.0.1:7412", is_not_empty,
          excludes({"--data"})},
         {"--key FILE", key, "your secret key (perfleet keygen), for a gateway that requires one", is_not_empty,
          needs("--gateway"), needs("--gateway-key")},
         {"--gateway-key KEY", gateway_key, "public key of its query endpoint: a file, or the 40 characters",
          is_not_empty, needs("--key")},
         {"--symfs DIR", symfs, "look for images below this folder (with --data: a gateway has its own)", is_not_empty,
          is_checked_by(CLI::ExistingDirectory), excludes({"--gateway"})}},
        "Source");
}

void QueryOptions::add_input_to(CLI::App& command) {
    add_options(
        command,
        {{"-i,--input FILE", input, "a perf.data file or a profile of pprof in place of a store; - for standard input",
          is_not_empty, excludes({"--data", "--gateway"})}},
        "Source");
}

Result<std::unique_ptr<QueryClient>> QueryOptions::connect() const {
    const auto keys = PERFLEET_TRY(load_connect_keys(key, gateway_key));
    return QueryClient::connect(gateway, keys.has_value() ? &*keys : nullptr);
}

namespace {

// A label distinguishes the sides of a comparison.
Result<std::unique_ptr<StoreReader>> open_input(const QueryOptions& options) {
    auto store = make_memory_store({}, QueryOptions::kInputSizeBytesMax);
    StoreDestination destination{*store};
    for (const auto& [path, side] : {std::pair{options.input_before, "before"}, std::pair{options.input, "after"}}) {
        if (path.empty()) {
            continue;
        }
        auto file = PERFLEET_TRY(open_recording_file(path, ""));
        RecordingImport import;
        import.files = program_files(options.symbol_paths());
        import.now = utc_now();
        if (!options.input_before.empty()) {
            import.labels = {{ "side", side }};
        }
        PERFLEET_TRY(import_recording_file(std::move(file), import, destination));
    }
    return std::unique_ptr<StoreReader>{std::move(store)};
}

}  // namespace

bool is_recording(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error) && open_recording_file(path, "").ok();
}

void take_file(std::vector<std::string>& words, QueryOptions& query) {
    if (!words.empty() && query.input.empty() && is_recording(words.front())) {
        query.input = words.front();
        words.erase(words.begin());
    }
}

Result<Done> take_file_and_command(std::vector<std::string> words, const std::vector<std::string>& arguments,
                                   QueryOptions& query, std::vector<std::string>& command) {
    const auto dashes = std::ranges::find(arguments, "--");
    const auto behind = dashes == arguments.end() ? 0 : arguments.end() - dashes - 1;
    const auto first = words.end() - std::min<std::ptrdiff_t>(behind, std::ssize(words));
    command.assign(first, words.end());
    words.erase(first, words.end());
    take_file(words, query);
    return words.empty() ? Result<Done>{Done{}}
                         : Error{ErrorCode::kUsage,
                                 "unexpected argument '" + words.front() +
                                     "': no perf.data file or profile of pprof of that name; a command to record "
                                     "stands after --"};
}

Result<std::unique_ptr<StoreReader>> open_data(const QueryOptions& options) {
    if (!options.input.empty()) {
        return open_input(options);
    }
    const auto named = PERFLEET_TRY(data_folder_of(options.data));
    const std::string& folder = named;
    Result<std::unique_ptr<StoreReader>> store = open_store_reader(folder);
    if (!store.ok() && store.error().code == ErrorCode::kNotFound && is_folder(folder)) {
        return Error{
            ErrorCode::kNotFound,
            "no perfleet store at " + folder +
                (options.data.empty()
                     ? ": record something first (perfleet record -- COMMAND), or name a folder with --data or "
                       "a gateway with --gateway"
                     : ": --data takes the folder that perfleet-gateway or perfleet record writes to")};
    }
    return store;
}

namespace {

// "session 1a2b3c4d, 5 min ago: ls -l (of 7 sessions; --all: every one)": which one `last` means.
std::string line_of(const NotedSession& session, std::size_t count, std::size_t passed_over) {
    constexpr std::size_t kIdDigits = 8;
    constexpr std::size_t kCommandColumnsMax = 40;
    const std::string command = command_text(session.record.host);
    const std::int64_t age_s = std::max<std::int64_t>(0, utc_now().value - session.record.came().value) / kNsPerSecond;
    return "session " + session_hex(session.record.session).substr(0, kIdDigits) +
           (session.note.given_name.empty() ? "" : " (" + session.note.given_name + ")") + ", " +
           rough_text(std::chrono::seconds{age_s}) + " ago" +
           (command.empty() ? "" : ": " + shortened(printable(command), kCommandColumnsMax)) +
           (passed_over == 0 ? "" : "; passes over " + std::to_string(passed_over) + " newer of other kinds") +
           (count == 1 ? "" : " (of " + std::to_string(count) + " sessions; --all: every one)");
}

// Without a selection, a query of a store uses the last session of its use, like perf's one file: names it in `values`
// and on standard error.
Result<Done> choose_last_session(const StoreReader& store, SessionUse use, QueryOptions& options) {
    OptionValues& values = options.values;
    const bool has_range = values.contains("from") || values.contains("until");
    const std::string wanted = values.contains("session") ? text_option(values, "session") : has_range ? "" : "last";
    if (options.takes_all || !options.input.empty() || values.contains("select") || !is_from_last(wanted)) {
        return Done{};
    }
    auto sessions = PERFLEET_TRY(noted_sessions(store));
    std::erase_if(sessions, [](const auto& entry) { return entry.second.note.is_removed; });
    if (sessions.empty()) {
        return Done{};
    }
    const std::size_t count = sessions.size();
    const Result<std::size_t> passed_over = choose_session(wanted, sessions, use);
    if (!passed_over.ok()) {  // without such a session, the answer about all of them contains the advice
        return values.contains("session") ? Result<Done>{Error{passed_over.error()}} : Done{};
    }
    values["session"] = wanted;
    if (const SessionId id = sessions.begin()->first.session; options.shown_session != id) {
        options.shown_session = id;
        print_note(line_of(sessions.begin()->second, count, *passed_over));
    }
    return Done{};
}

// Receives the answer of a query in this process: keeps its table, passes its file to the sink.
class OwnReply : public QueryReply {
public:
    OwnReply(std::string what, ExportSink* sink) : sink_{sink}, line_{std::move(what)} {}
    Result<Done> send_table(Answer answer) override {
        table = std::move(answer);
        return Done{};
    }
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        return sink_->write_at(offset, bytes);
    }
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return never_; }
    [[nodiscard]] ProgressReport progress() override { return line_.report(); }

    Answer table;

private:
    ExportSink* sink_;
    ProgressLine line_;
    std::atomic<bool> never_ = false;
};

Result<QueryEnd> ask_store(QueryOptions& options, Query query, SessionUse use, QueryReply& reply) {
    const auto store = PERFLEET_TRY(open_data(options));
    if (use != SessionUse::kAny && use != SessionUse::kLikeTheLast) {
        PERFLEET_TRY(choose_last_session(*store, use, options));
        query.values.insert(options.values.begin(), options.values.end());
    }
    return QueryService{*store, options.symbol_paths(), export_formats()}.run(std::move(query), reply);
}

// Times of this machine's zone, as any process reads them.
Result<Done> resolve_times(OptionValues& values) {
    for (const char* name : {"from", "until"}) {
        if (const std::string text = text_option(values, name); text.find(':') == 2 || text.ends_with("day")) {
            values[name] = format_time(PERFLEET_TRY(parse_time(text, utc_now())));
        }
    }
    return Done{};
}

}  // namespace

Result<Answer> ask_table(QueryOptions& options, const QueryCommand& command) {
    PERFLEET_TRY(resolve_times(options.values));
    PERFLEET_TRY(check_query(command.name, options.values, utc_now()));
    if (!options.gateway.empty()) {
        const auto client = PERFLEET_TRY(options.connect());
        ProgressLine progress{command.name + " at " + options.gateway};
        client->report_to(progress.report());
        return client->ask_table(command.name, options.values);
    }
    OwnReply reply{command.name, nullptr};
    const bool is_of_two = command.use == SessionUse::kLikeTheLast;
    const SessionUse use = is_of_two ? command.use : command.use_with(options.values);
    PERFLEET_TRY(ask_store(options, {command.name, options.values}, use, reply));
    return std::move(reply.table);
}

Result<QueryEnd> ask_file(QueryOptions& options, Query query, ExportSink& sink) {
    PERFLEET_TRY(resolve_times(query.values));
    if (!options.gateway.empty()) {
        const auto client = PERFLEET_TRY(options.connect());
        ProgressLine progress{"export from " + options.gateway};
        client->report_to(progress.report());
        return client->ask_file(
            query.command, query.values,
            [&](std::uint64_t offset, std::span<const std::byte> bytes) { return sink.write_at(offset, bytes); });
    }
    OwnReply reply{"export", &sink};
    return ask_store(options, std::move(query), SessionUse::kProfile, reply);
}

}  // namespace perfleet
