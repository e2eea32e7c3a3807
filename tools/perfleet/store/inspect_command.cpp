// inspect: what a store's folder contains, and which parts are damaged.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "daemon/command-line/arguments.h"
#include "daemon/option/program_options.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/session/inventory.h"
#include "schemas/text/layout.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"
#include "storage/verify/store_check.h"
#include "storage/verify/store_sizes.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

struct InspectOptions {
    std::string data = default_data_folder();
    OutputOptions output;
    bool verify = false;
    bool sizes = false;
};

void add_row(Answer& answer, std::string what, std::string name, AnswerValue sessions, AnswerValue batches,
             AnswerValue blocks, AnswerValue rows, std::uint64_t size_bytes) {
    answer.rows.push_back({std::move(what), std::move(name), std::move(sessions), std::move(batches), std::move(blocks),
                           std::move(rows), size_bytes});
}

Answer content_of(const StoreCheck& check) {
    Answer answer;
    answer.columns = {{"what", ""},   {"name", ""}, {"sessions", ""}, {"batches", ""},
                      {"blocks", ""}, {"rows", ""}, {"size", "bytes"}};
    const AnswerValue none;
    add_row(answer, "store",
            "format " + std::to_string(check.format_version) + ", " + counted_noun(check.shard_count, "shard"),
            check.session_count, none, none, none, check.table_file_size_bytes);
    for (const PartitionContent& content : check.partitions) {
        const Partition& partition = content.partition;
        add_row(answer, "partition",
                std::to_string(partition.bucket.value) + "/" + std::to_string(partition.retention_class) + "/" +
                    std::to_string(partition.shard),
                content.session_count, content.batch_count, content.block_count, content.row_count, content.size_bytes);
    }
    add_row(answer, "images", std::to_string(check.image_count), none, none, none, none, check.image_size_bytes);
    add_row(answer, "table files", std::to_string(check.table_file_count), none, none, none, none,
            check.table_file_size_bytes);
    add_row(answer, "dropped partitions", std::to_string(check.dropped_partition_count), none, none, none,
            check.expired_row_count, 0);
    return answer;
}

Answer damage_of(const StoreCheck& check) {
    Answer answer;
    answer.columns = {{"place", ""}, {"damage", ""}, {"lost", ""}};
    for (const StoreDamage& damage : check.damage) {
        answer.rows.push_back({damage.place, damage.what, damage.lost});
    }
    return answer;
}

// The same ledger as `losses` of all sessions.
Result<Ledger> ledger_of(const std::string& data, bool is_damaged) {
    const auto reader = PERFLEET_TRY(open_store_reader(data));
    const auto scan = PERFLEET_TRY(Scan::open(*reader, Selection{}));
    auto losses = make_losses(scan, is_damaged);
    return losses.ok() ? Result<Ledger>{std::move(losses->ledger)} : losses.error();
}

std::string verdict_of(const StoreCheck& check, const std::string& data) {
    if (!check.damage.empty()) {
        return std::to_string(check.damage.size()) + (check.has_more_damage ? " or more" : "") +
               (check.damage.size() == 1 ? " damage in " : " damages in ") + data;
    }
    std::uint64_t block_count = 0;
    for (const PartitionContent& content : check.partitions) {
        block_count += content.block_count;
    }
    return data + " is sound: " + counted_noun(block_count, "block") +
           (is_folder(data) ? ", in " + counted_noun(check.table_file_count, "table file") + " and the logs," : "") +
           (block_count == 1 ? " was read and holds" : " were read and hold");
}

AnswerValue per_row(std::uint64_t size_bytes, std::uint64_t row_count) {
    return row_count == 0 ? AnswerValue{} : static_cast<double>(size_bytes) / static_cast<double>(row_count);
}

Answer answer_of(const StoreSizes& sizes) {
    Answer answer;
    answer.columns = {{"series", ""}, {"column", ""}, {"rows", ""}, {"size", "bytes"}, {"a row", "bytes"}};
    const AnswerValue none;
    for (const auto& [name, event] : sizes.events) {
        const std::string series = std::string{kind_name(name.kind)} + (name.event.empty() ? "" : " " + name.event);
        answer.rows.push_back(
            {series, none, event.row_count, event.size_bytes, per_row(event.size_bytes, event.row_count)});
        std::uint64_t others = event.size_bytes;
        for (const auto& [column, size_bytes] : event.column_bytes) {
            answer.rows.push_back({series, std::string{column_name(column)}, event.row_count, size_bytes,
                                   per_row(size_bytes, event.row_count)});
            others -= size_bytes;
        }
        answer.rows.push_back(
            {series, std::string{"(headers)"}, event.row_count, others, per_row(others, event.row_count)});
        answer.ledger.stored += is_definition(name.kind) ? 0 : event.row_count;
    }
    answer.ledger.produced = answer.ledger.stored;
    const auto add = [&](const char* what, const AnswerValue& count, std::uint64_t size_bytes) {
        answer.rows.push_back({std::string{what}, none, count, size_bytes, none});
    };
    add("(batch records)", sizes.batch_count, sizes.record_bytes);
    add("(summaries)", sizes.summary_count, sizes.summary_bytes);
    add("(dictionaries)", sizes.dictionary_node_count, sizes.dictionary_bytes);
    add("(sessions, expired)", none, sizes.session_bytes);
    add("(images)", sizes.image_count, sizes.image_bytes);
    if (sizes.classes.size() > 1 || (sizes.classes.size() == 1 && sizes.classes.begin()->first != 0)) {
        for (const auto& [number, of] : sizes.classes) {
            const std::string name = "(class " + std::to_string(number);
            add((name + ")").c_str(), of.row_count, of.size_bytes);
            if (of.expired_row_count != 0) {
                add((name + ", expired)").c_str(), of.expired_row_count, 0);
            }
        }
    }
    add("(table files)", none, sizes.table_file_bytes);
    add("(logs)", none, sizes.log_bytes);
    if (sizes.unreadable_count != 0) {
        answer.warnings.push_back(counted_noun(sizes.unreadable_count, "block or place", "blocks or places") +
                                  " can't be read; perfleet inspect --verify names them");
    }
    return answer;
}

std::string ratio(std::uint64_t part, std::uint64_t whole) {
    return fmt::format("{:.2f}", static_cast<double>(part) / static_cast<double>(whole));
}

Result<int> run_sizes(const InspectOptions& options) {
    const StoreSizes sizes =
        PERFLEET_TRY(with_progress("inspect", [&](const ProgressReport&) { return measure_store(options.data); }));
    PERFLEET_TRY(print_answer(answer_of(sizes), options.output));
    if (const std::uint64_t content = sizes.content_bytes(); content != 0) {
        print_note(ratio(sizes.table_file_bytes + sizes.log_bytes + sizes.object_bytes, content) +
                   " bytes on disk for each byte that is kept (" +
                   (sizes.object_bytes != 0 ? "objects, in each copy)" : "table files and logs)"));
    }
    if (sizes.dictionary_node_count != 0) {
        print_note(fmt::format("{} stack nodes of {} epochs for each of the {} in the dictionaries of partitions",
                               ratio(sizes.map_node_count, sizes.dictionary_node_count), sizes.map_count,
                               sizes.dictionary_node_count));
    }
    if (const std::uint64_t nodes = sizes.row_count(Kind::kStack); nodes != 0) {
        const std::uint64_t samples = sizes.row_count(Kind::kSample) + sizes.row_count(Kind::kDetailedSample);
        print_note(ratio(samples, nodes) + " samples for each stack node in the dictionaries");
    }
    return 0;
}

Result<int> run_inspect(const InspectOptions& options) {
    PERFLEET_TRY(data_folder_of(options.data));
    if (options.sizes) {
        return run_sizes(options);
    }
    const StoreCheck check = PERFLEET_TRY(with_progress(
        "inspect", [&](const ProgressReport& report) { return check_store(options.data, options.verify, report); }));
    Answer answer = options.verify ? damage_of(check) : content_of(check);
    if (auto ledger = ledger_of(options.data, !check.damage.empty()); ledger.ok()) {
        answer.ledger = std::move(*ledger);
    } else {
        answer.warnings.push_back("the rows produced and lost are unknown: " + ledger.error().message);
    }
    if (!options.verify) {
        for (const StoreDamage& damage : check.damage) {
            answer.warnings.push_back(damage.place + ": " + damage.what + "; lost: " + damage.lost);
        }
    }
    if (check.has_more_damage) {
        answer.warnings.push_back("the list of damage is incomplete");
    }
    PERFLEET_TRY(print_answer(answer, options.output));
    if (options.verify) {
        print_note(verdict_of(check, options.data));
    }
    return check.damage.empty() ? 0 : kExitFailure;
}

}  // namespace

void add_inspect_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<InspectOptions>(
        app, invocation, "inspect",
        "List the content of a store's folder; with --verify, every damaged file, record and block (exit status 1)",
        run_inspect);
    add_options(*command, {{"--data DIR", options->data, "Folder of the store, or rados:POOL[/NAMESPACE]", is_not_empty,
                            shows_default},
                           ceph_conf_row(),
                           {"--verify", options->verify,
                            "read and check everything: table files, logs, records, blocks, dictionaries, seals"},
                           {"--sizes", options->sizes,
                            "how many bytes each kind of rows and each column takes, and the bytes beside them",
                            excludes({"--verify"})}});
    add_options(*command, output_rows(options->output));
}

}  // namespace perfleet
