// inspect: what a store's folder holds, and what of it is damaged.
#include <cstdio>
#include <memory>
#include <string>

#include "exporters/report/report.h"
#include "storage/verify/store_check.h"
#include "tools/perfleet/invocation.h"

namespace perfleet {
namespace {

struct InspectOptions {
    std::string data = default_data_folder();
    std::string format = "text";
    bool verify = false;
};

void add_row(Answer& answer, std::string what, std::string name, AnswerValue sessions, AnswerValue batches,
             AnswerValue blocks, AnswerValue rows, std::uint64_t size_bytes) {
    answer.rows.push_back({std::move(what), std::move(name), std::move(sessions), std::move(batches), std::move(blocks),
                           std::move(rows), size_bytes});
}

Answer content_of(const StoreCheck& check) {
    Answer answer;
    answer.columns = {{"what", "", false},   {"name", "", false}, {"sessions", "", false}, {"batches", "", false},
                      {"blocks", "", false}, {"rows", "", false}, {"size", "bytes", false}};
    const AnswerValue none;
    add_row(answer, "store", "format " + std::to_string(check.format_version), check.session_count, none, none, none,
            check.table_file_size_bytes);
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
    answer.columns = {{"place", "", false}, {"damage", "", false}, {"lost", "", false}};
    for (const StoreDamage& damage : check.damage) {
        answer.rows.push_back({damage.place, damage.what, damage.lost});
    }
    return answer;
}

// Every row that is there was produced; what became of the others a check can't know.
Ledger ledger_of(const StoreCheck& check) {
    Ledger ledger;
    for (const PartitionContent& content : check.partitions) {
        ledger.stored += content.row_count;
    }
    std::uint64_t damaged = 0;
    for (const StoreDamage& damage : check.damage) {
        damaged += damage.lost_row_count;
    }
    ledger.expired = check.expired_row_count;
    ledger.produced = ledger.stored + ledger.expired;
    if (damaged != 0) {
        ledger.stored -= damaged;
        ledger.lost["damaged"] = damaged;
    }
    return ledger;
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
    return data + " is sound: " + std::to_string(block_count) + " blocks, in " +
           std::to_string(check.table_file_count) + " table files and the logs, were read and hold";
}

int run(const InspectOptions& options) {
    const Result<StoreCheck> check = check_store(options.data, options.verify);
    if (!check.ok()) {
        return report_error(check.error());
    }
    Answer answer = options.verify ? damage_of(*check) : content_of(*check);
    answer.ledger = ledger_of(*check);
    if (!options.verify) {
        for (const StoreDamage& damage : check->damage) {
            answer.warnings.push_back(damage.place + ": " + damage.what + "; lost: " + damage.lost);
        }
    }
    if (check->has_more_damage) {
        answer.warnings.push_back("more is damaged than is listed here");
    }
    const ReportFormat format = options.format == "json"  ? ReportFormat::kJson
                                : options.format == "csv" ? ReportFormat::kCsv
                                                          : ReportFormat::kText;
    const std::string report = format_report(answer, format);
    if (std::fwrite(report.data(), 1, report.size(), stdout) != report.size() || std::fflush(stdout) != 0) {
        return report_error(error_from_errno(errno, "standard output"));
    }
    if (format != ReportFormat::kJson) {
        for (const std::string& warning : answer.warnings) {
            std::fprintf(stderr, "perfleet: warning: %s\n", printable(warning).c_str());
        }
    }
    if (options.verify) {
        std::fprintf(stderr, "perfleet: %s\n", printable(verdict_of(*check, options.data)).c_str());
    }
    return check->damage.empty() ? 0 : kExitFailure;
}

}  // namespace

void add_inspect_command(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand(
        "inspect", "What a store's folder holds; with --verify, every damaged file, record and block (exit status 1)");
    const auto options = std::make_shared<InspectOptions>();
    command->add_option("--data", options->data, "Folder of the store")->type_name("DIR")->capture_default_str();
    command->add_flag("--verify", options->verify,
                      "read and check everything: table files, logs, records, blocks, dictionaries, seals");
    command->add_option("--format", options->format, "text, json or csv")
        ->check(CLI::IsMember({"text", "json", "csv"}))
        ->type_name("FORMAT");
    command->callback([&invocation, options] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace perfleet
