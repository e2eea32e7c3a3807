// copy: copies a store's content into another store, and compares them at the end.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "daemon/command-line/arguments.h"
#include "daemon/option/program_options.h"
#include "schemas/text/layout.h"
#include "storage/copy/store_copy.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

struct CopyOptions {
    std::string data = default_data_folder();
    std::string to;
    std::uint16_t shards = 0;  // 0: not given
    OutputOptions output;
};

Answer answer_of(const CopyReport& report) {
    Answer answer;
    answer.columns = {{"what", ""}, {"in source", ""}, {"copied", ""}};
    const auto add = [&](const char* what, const CopyCount& count) {
        answer.rows.push_back({std::string{what}, count.in_source, count.copied});
    };
    add("sessions", report.sessions);
    add("images", report.images);
    add("batches", report.batches);
    add("rows", report.rows);
    answer.rows.push_back({std::string{"bytes of rows"}, AnswerValue{}, report.size_bytes});
    answer.rows.push_back({std::string{"rows left out"}, report.row_count_left_out, AnswerValue{}});
    answer.rows.push_back({std::string{"rows dropped in target"}, report.row_count_expired, AnswerValue{}});
    answer.rows.push_back({std::string{"rows dropped in source"}, report.row_count_dropped, AnswerValue{}});
    answer.ledger.stored = report.rows.in_source - report.row_count_left_out;
    answer.ledger.expired = report.row_count_expired + report.row_count_dropped;
    answer.ledger.produced = report.rows.in_source + answer.ledger.expired;
    if (report.row_count_left_out != 0) {
        answer.ledger.lost["damaged"] = report.row_count_left_out;
        answer.warnings.push_back("left out of their batches, because blocks can't be read: " +
                                  counted_noun(report.row_count_left_out, "row") +
                                  "; ledgers of the copy say lost (missing)");
    }
    for (const std::string& refused : report.refused) {
        answer.warnings.push_back("not copied: " + refused);
    }
    if (report.refused_count > report.refused.size()) {
        answer.warnings.push_back("and " + std::to_string(report.refused_count - report.refused.size()) + " more");
    }
    for (const std::string& damage : report.damage) {
        answer.warnings.push_back("not readable in the source: " + damage);
    }
    return answer;
}

Result<int> run_copy(const CopyOptions& options) {
    PERFLEET_TRY(data_folder_of(options.data));
    const CopyReport report = PERFLEET_TRY(with_progress("copy", [&](const ProgressReport& progress) {
        return copy_store(options.data, options.to, progress,
                          options.shards != 0 ? std::optional{ShardCount{options.shards}} : std::nullopt);
    }));
    PERFLEET_TRY(print_answer(answer_of(report), options.output));
    const bool agrees = report.checksum_in_source == report.checksum_in_target;
    print_note(agrees ? fmt::format("{} holds what was copied of {}: checksum {:08x} on both sides", options.to,
                                    options.data, report.checksum_in_source)
                      : fmt::format("{} differs from {}: checksum {:08x} instead of {:08x}; look with perfleet inspect "
                                    "--verify",
                                    options.to, options.data, report.checksum_in_target, report.checksum_in_source));
    return agrees && report.refused_count == 0 && report.damage.empty() ? 0 : kExitFailure;
}

}  // namespace

void add_copy_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<CopyOptions>(
        app, invocation, "copy", "Copy a store into another one, and compare the two", run_copy);
    command->footer(
        "A gateway may write to the store that is copied, not to the other one, which is\n"
        "new, or holds an earlier copy or other sessions. Data already there stay as they\n"
        "are. An interrupted copy continues when it is started again; repeated, it\n"
        "adds later data.\n\n"
        "Exit status: 1 also if something wasn't copied, or differs.");
    add_options(*command,
                {{"--data DIR", options->data, "Store to copy: its folder, or rados:POOL[/NAMESPACE]", is_not_empty,
                  shows_default},
                 {"--to DIR", options->to,
                  "The other store: a folder, which is created when missing, or rados:POOL[/NAMESPACE]", is_not_empty,
                  is_required},
                 {"--shards N", options->shards,
                  "Shards of a store that is created; it may have another number than the copied one. Default: " +
                      std::to_string(limits::kShardsDefault),
                  is_between(std::uint16_t{1}, limits::kShardsMax)},
                 ceph_conf_row()});
    add_options(*command, output_rows(options->output));
}

}  // namespace perfleet
