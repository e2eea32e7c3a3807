// sessions name, rm, gc: changes to the sessions in a data folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "query-engine/scan/session_choice.h"
#include "query-engine/select/selection.h"
#include "schemas/host/host_clock.h"
#include "schemas/session/command_text.h"
#include "schemas/text/amount.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/time.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/folder_size.h"
#include "storage/read/reader.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/session/session_edit.h"
#include "tools/perfleet/session/store_change.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr int kRoundsMax = 3;  // of gc: session sizes are those of rows, not of files

struct SessionsOptions {
    std::string data;
    OutputOptions output;
    std::string session;                // of name
    std::string given_name;             // likewise
    std::vector<std::string> sessions;  // of rm
    std::vector<std::string> keep;      // of gc
    std::uint64_t keep_last = 0;        // likewise; 0: not given
    bool is_dry_run = false;            // of rm and gc
    bool is_forced = false;             // of rm
};

// A session's content in the store, shown before it is removed.
struct SessionContent {
    SessionName name;
    SessionRecord record;
    std::string given_name;
    bool is_ended = false;
    UtcNs last;  // its end, or the end of its last hour with rows; not before its arrival
    std::uint64_t row_count = 0;
    std::uint64_t size_bytes = 0;  // only if needed: counting it reads the whole session
};

std::string short_id(const SessionName& name) {
    constexpr std::size_t kDigits = 8;
    return session_hex(name.session).substr(0, kDigits);
}

std::string count_text(std::size_t count) { return count == 1 ? "1 session" : std::to_string(count) + " sessions"; }

Result<std::unique_ptr<StoreReader>> open_reader(const SessionsOptions& options) {
    QueryOptions query;
    query.data = options.data;
    return open_data(query);
}

// The sessions by time of arrival, without removed ones.
Result<std::vector<SessionContent>> contents_of(const StoreReader& store, const NotedSessions& sessions) {
    std::map<SessionName, std::pair<std::uint64_t, BucketNumber>> rows;
    const auto partitions = PERFLEET_TRY(store.partitions());
    for (const Partition& partition : partitions) {
        const auto here = PERFLEET_TRY(store.session_names(partition));
        for (const SessionName& name : here) {
            if (!sessions.contains(name)) {
                continue;
            }
            auto& [row_count, last] = rows[name];
            last = std::max(last, partition.bucket);
            // Damaged batches aren't counted.
            (void)store.visit_batches(partition, name.target, name.session, [&](const BatchRecord& batch) {
                for (const BatchRecord::Rows& series : batch.rows) {
                    row_count += is_definition(series.series.kind) ? 0 : series.row_count;
                }
                return Visit::kContinue;
            });
        }
    }
    std::vector<SessionContent> contents;
    for (const auto& [name, session] : sessions) {
        if (session.note.is_removed) {
            continue;
        }
        SessionContent content{name, session.record, session.note.given_name, false, {}, 0, 0};
        const auto found = rows.find(name);
        const auto end = PERFLEET_TRY(store.session_end(name.target, name.session));
        content.last = session.record.start_point.utc_ns;
        if (found != rows.end()) {
            content.row_count = found->second.first;
            content.last.value = (std::int64_t{found->second.second.value} + 1) * kBucketDurationS * kNsPerSecond;
        }
        if (end.has_value()) {
            content.is_ended = true;
            content.last = end->end_point.utc_ns;
        }
        content.last = std::max(content.last, session.record.came());  // an import of today counts as of today
        contents.push_back(std::move(content));
    }
    std::ranges::sort(contents, {}, [](const SessionContent& content) {
        return std::tuple{content.record.came(), content.record.start_point.utc_ns, content.name};
    });
    return contents;
}

Answer table_of(const std::vector<SessionContent>& contents, bool is_dry_run) {
    Answer answer;
    answer.columns = {{"session", ""}, {"name", "", true}, {"target", ""},    {"start", ""},
                      {"age", ""},     {"rows", ""},       {"size", "bytes"}, {"command", "", true}};
    const UtcNs now = utc_now();
    for (const SessionContent& content : contents) {
        answer.rows.push_back({session_hex(content.name.session),
                               content.given_name.empty() ? AnswerValue{} : AnswerValue{content.given_name},
                               content.record.target_name, format_time(content.record.start_point.utc_ns),
                               rough_text(std::chrono::seconds{
                                   std::max<std::int64_t>(now.value - content.record.came().value, 0) / kNsPerSecond}),
                               content.row_count, content.size_bytes, command_text(content.record.host)});
        answer.ledger.produced += content.row_count;
        (is_dry_run ? answer.ledger.stored : answer.ledger.expired) += content.row_count;
    }
    return answer;
}

// Leaves sessions that may still be recorded, unless `is_forced`.
Result<Done> remove_all(const std::string& folder, const std::vector<SessionContent>& contents, bool is_forced) {
    const bool has_other_writer = has_writer(folder);
    std::vector<SessionRecord> sessions;
    for (const SessionContent& content : contents) {
        if (has_other_writer && !content.is_ended && !is_forced) {
            return Error{ErrorCode::kBusy, "session " + short_id(content.name) + " of " + content.record.target_name +
                                               " has no end and may still be recorded: end it first, or remove it all "
                                               "the same with --force"};
        }
        sessions.push_back(content.record);
    }
    return remove_sessions(folder, sessions);
}

// -- name -------------------------------------------------------------------------------------------------------------

Result<Done> name_chosen(const SessionsOptions& options, const std::string& folder) {
    NotedSessions sessions;
    {
        const auto reader = PERFLEET_TRY(open_reader(options));
        sessions = PERFLEET_TRY(noted_sessions(*reader));
        PERFLEET_TRY(choose_session(options.session, sessions));
    }
    const SessionName& name = sessions.begin()->first;
    if (auto checked = options.given_name.empty() ? Done{} : check_given_name(options.given_name); !checked.ok()) {
        return Error{ErrorCode::kUsage, checked.error().message};
    }
    auto named = name_session(folder, sessions.begin()->second.record, options.given_name);
    if (named.ok()) {
        print_note("session " + short_id(name) + " of " + sessions.begin()->second.record.target_name +
                   (options.given_name.empty() ? " has no name now" : " is named " + options.given_name));
    }
    return named;
}

// -- rm ---------------------------------------------------------------------------------------------------------------

Result<Done> remove_named(const SessionsOptions& options, const std::string& folder) {
    std::vector<SessionContent> contents;
    {
        const auto reader = PERFLEET_TRY(open_reader(options));
        const auto all = PERFLEET_TRY(noted_sessions(*reader));
        NotedSessions chosen;
        for (const std::string& wanted : options.sessions) {
            NotedSessions sessions = all;
            PERFLEET_TRY(choose_session(wanted, sessions));  // where one isn't found, none is removed
            chosen.merge(sessions);
        }
        contents = PERFLEET_TRY(contents_of(*reader, chosen));
        for (SessionContent& content : contents) {
            content.size_bytes = PERFLEET_TRY(reader->session_size_bytes(content.name));
        }
    }
    if (!options.is_dry_run) {
        PERFLEET_TRY(remove_all(folder, contents, options.is_forced));
    }
    auto printed = print_answer(table_of(contents, options.is_dry_run), options.output);
    print_note(count_text(contents.size()) + (options.is_dry_run ? " would be removed" : " removed"));
    return printed;
}

// -- gc ---------------------------------------------------------------------------------------------------------------

// What to keep: each rule alone removes sessions.
struct KeepRules {
    std::optional<std::uint64_t> size_bytes;
    std::optional<std::int64_t> age_ns;
    std::optional<std::uint64_t> count;
};

// A size (500m, 10g, as multiples of 1024), or an age (12h, 30d, 8w).
Result<Done> add_rule(const std::string& text, KeepRules& rules) {
    constexpr std::uint64_t kSizeBytesMax = 1ULL << 62;
    constexpr std::uint64_t kAgeSMax = 100ULL * 365 * 24 * 3'600;
    if (const auto size_bytes = amount_of(text, kSizeUnits, kSizeBytesMax)) {
        rules.size_bytes = size_bytes;
        return Done{};
    }
    if (const auto age_s = amount_of(text, kAgeUnits, kAgeSMax)) {
        rules.age_ns = static_cast<std::int64_t>(*age_s) * kNsPerSecond;
        return Done{};
    }
    return Error{ErrorCode::kUsage, "--keep " + text + ": takes a size (500m, 10g) or an age (12h, 30d, 8w)"};
}

Result<std::uint64_t> size_of_store(const std::string& folder) {
    const auto size = size_of_folder(folder);
    return size ? Result<std::uint64_t>{size->used_bytes} : Error{ErrorCode::kIo, folder + ": its size can't be read"};
}

// Never chooses the last session, nor one to which a running gateway may still write.
Result<std::vector<SessionContent>> choose_oldest(const SessionsOptions& options, const std::string& folder,
                                                  const KeepRules& rules, std::uint64_t store_size_bytes) {
    const auto reader = PERFLEET_TRY(open_reader(options));
    const auto all = PERFLEET_TRY(noted_sessions(*reader));
    auto contents = PERFLEET_TRY(contents_of(*reader, all));
    const bool has_other_writer = has_writer(folder);
    const std::int64_t now_ns = utc_now().value;
    std::vector<SessionContent> chosen;
    std::uint64_t left_size_bytes = store_size_bytes;
    for (std::size_t i = 0; i + 1 < contents.size(); ++i) {
        SessionContent& content = contents[i];
        const bool is_too_large = rules.size_bytes && left_size_bytes > *rules.size_bytes;
        const bool is_too_old = rules.age_ns && content.last.value < now_ns - *rules.age_ns;
        const bool is_too_many = rules.count && contents.size() - i > *rules.count;
        if ((is_too_large || is_too_old || is_too_many) && (content.is_ended || !has_other_writer)) {
            content.size_bytes = PERFLEET_TRY(reader->session_size_bytes(content.name));
            left_size_bytes -= std::min(left_size_bytes, content.size_bytes);
            chosen.push_back(std::move(content));
        }
    }
    return chosen;
}

Result<Done> collect_garbage(const SessionsOptions& options, const std::string& folder) {
    KeepRules rules;
    if (options.keep_last != 0) {
        rules.count = options.keep_last;
    }
    for (const std::string& text : options.keep) {
        PERFLEET_TRY(add_rule(text, rules));
    }
    if (!rules.size_bytes && !rules.age_ns && !rules.count) {
        return Error{ErrorCode::kUsage,
                     "gc: give the data to keep: --keep 10g, --keep 30d or --keep-last 20 (see --help)"};
    }
    PERFLEET_TRY(open_reader(options));
    const auto size_before = PERFLEET_TRY(size_of_store(folder));
    std::vector<SessionContent> removed;
    std::uint64_t size_bytes = size_before;
    for (int round = 0; round < kRoundsMax; ++round) {
        auto chosen = PERFLEET_TRY(choose_oldest(options, folder, rules, size_bytes));
        const bool is_done = chosen.empty() || options.is_dry_run;
        if (!is_done) {
            PERFLEET_TRY(remove_all(folder, chosen, false));
            size_bytes = PERFLEET_TRY(size_of_store(folder));
        }
        std::move(chosen.begin(), chosen.end(), std::back_inserter(removed));
        if (is_done) {
            break;
        }
    }
    if (!removed.empty() || !options.output.is_text()) {
        PERFLEET_TRY(print_answer(table_of(removed, options.is_dry_run), options.output));
    }
    const std::string count = count_text(removed.size());
    print_note(options.is_dry_run ? fmt::format("{} would be removed; the store takes {} bytes", count, size_bytes)
                                  : fmt::format("{} removed; the store took {} bytes, it takes {} now", count,
                                                size_before, size_bytes));
    if (!options.is_dry_run && rules.size_bytes && size_bytes > *rules.size_bytes) {
        print_warning(
            "that is more than --keep says: what is left is the last session, sessions that aren't ended, "
            "and what sessions share");
    }
    return Done{};
}

}  // namespace

void add_sessions_commands(CLI::App& app, Invocation& invocation) {
    CLI::App* sessions = app.get_subcommand("sessions");
    sessions->require_subcommand(0, 1);
    constexpr InsteadOfStore kRefused{
        .input = "sessions of a store can be changed, not those of a file",
        .gateway = "sessions are changed where the gateway's data folder is: name it with --data"};
    const auto add = [&](const char* name, const char* summary, StoreChange<SessionsOptions> change) {
        return add_store_change(*sessions, invocation, name, summary, kRefused, change);
    };
    const char* const kIdHelp = "its name, first digits of its id, last, or last~1";

    const auto [name, name_options] = add("name", "Give a session a name, by which --session finds it", name_chosen);
    add_options(*name, {{"session ID", name_options->session, kIdHelp, is_required, is_not_empty},
                        {"name NAME", name_options->given_name, "up to 64 bytes; '' removes the name", is_required}});
    name->footer("Of several sessions of one name --session takes the one that began last.");

    const auto [rm, rm_options] = add("rm", "Remove sessions, and free the disk space that they take", remove_named);
    rm->alias("delete")->alias("remove");
    add_options(*rm, {{"session ID", rm_options->sessions, kIdHelp, is_required, is_not_empty}});
    rm->footer(
        "Their rows count as expired: perfleet losses shows them. Rows of them that a\n"
        "collector delivers later count as expired, too.");
    add_options(*rm, {{"--force", rm_options->is_forced,
                       "also sessions without an end, while a gateway or a recorder writes to the folder"},
                      {"-n,--dry-run", rm_options->is_dry_run, "list what would be removed, and remove nothing"}});
    add_options(*rm, output_rows(rm_options->output));

    const auto [gc, gc_options] = add("gc", "Remove the oldest sessions", collect_garbage);
    add_options(*gc, {{"--keep SIZE|AGE", gc_options->keep,
                       "keep so much of the store (500m, 10g), or data up to this age (12h, 30d, 8w); both: twice",
                       is_one_each},
                      {"--keep-last N", gc_options->keep_last, "keep the last N sessions",
                       is_between(std::uint64_t{1}, std::uint64_t{1} << 32U)},
                      {"-n,--dry-run", gc_options->is_dry_run, "list what would be removed, and remove nothing"}});
    gc->footer(
        "Sessions are removed as perfleet sessions rm does it. The last one always stays,\n"
        "and so do those that run while a gateway writes to the folder.");
    add_options(*gc, output_rows(gc_options->output));
}

}  // namespace perfleet
