#include "query-engine/service/query_service.h"

#include <algorithm>
#include <string_view>
#include <thread>

#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/answer/answer_size.h"
#include "query-engine/statistic/command.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_filter.h"
#include "query-engine/symbol/kept_symbols.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/hex.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

constexpr const char* kExport = "export";

// A query uses at most as many threads as there are cores, whatever its client asks for.
void bound_threads(OptionValues& options) {
    const auto threads = options.find("threads");
    if (auto* const count = threads == options.end() ? nullptr : std::get_if<std::uint64_t>(&threads->second)) {
        *count = std::min(*count, std::uint64_t{std::max(1U, std::thread::hardware_concurrency())});
    }
}

std::size_t size_bytes_of(const Answer& answer) {
    std::size_t size_bytes = 0;
    for (const std::vector<AnswerValue>& row : answer.rows) {
        size_bytes += answer_row_size_bytes(row.capacity()) + answer_text_size_bytes(row);
    }
    return size_bytes;
}

}  // namespace

Result<Done> QueryService::debug_file(std::string_view build_id,
                                      const std::function<Result<Done>(std::string)>& take) const {
    const auto content = PERFLEET_TRY(store_.image(build_id));
    if (!content || content->type != static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols)) {
        return Error{ErrorCode::kNotFound, "no symbols of an ELF file are kept for build-id " + hex_of(build_id)};
    }
    QueryMemory memory{memory_ == nullptr ? SIZE_MAX : memory_->size_bytes_max(), memory_};
    MemoryShare share{memory};
    share.set(2 * unpacked_size_bytes(content->bytes));  // the parts, and the file that is made of them
    PERFLEET_TRY(memory.check());
    auto file = PERFLEET_TRY(debug_file_of(content->bytes, build_id, hex_of(build_id)));
    return take(std::move(file));
}

Result<QueryEnd> QueryService::run(Query query, QueryReply& reply) const {
    bound_threads(query.values);
    const ExportFormat* const format = PERFLEET_TRY(format_of(query));
    QueryContext context{memory_, reply.cancelled(), reply.progress()};
    return format == nullptr ? run_table(query, context, reply) : run_export(*format, query, context, reply);
}

// Null: the command answers with a table.
Result<const ExportFormat*> QueryService::format_of(Query& query) const {
    const bool is_export = query.command == kExport;
    std::string name = query.command;
    if (is_export) {
        const auto named = query.values.extract("format");
        const auto* const text = named.empty() ? nullptr : std::get_if<std::string>(&named.mapped());
        name = text == nullptr ? "" : *text;
    }
    for (const ExportFormat& format : formats_) {
        if (format.name == name && format.is_command != is_export) {
            return &format;
        }
    }
    if (is_export || !find_query_command(name).ok()) {
        return Error{ErrorCode::kUsage,
                     (is_export ? "this gateway doesn't export \"" : "this gateway has no command \"") +
                         name.substr(0, 64) + "\""};
    }
    return static_cast<const ExportFormat*>(nullptr);
}

Result<QueryEnd> QueryService::run_table(const Query& query, QueryContext& context, QueryReply& reply) const {
    auto answer = PERFLEET_TRY(run_query(query.command, query.values, store_, paths_, utc_now(), &context));
    QueryEnd end{std::nullopt, {}, answer.ledger, answer.warnings, answer.parts, answer.measure};
    // Charges the answer's memory until its client has taken it.
    QueryMemory memory{memory_ == nullptr ? SIZE_MAX : memory_->size_bytes_max(), memory_};
    MemoryShare share{memory};
    share.set(size_bytes_of(answer));
    PERFLEET_TRY(memory.check());
    PERFLEET_TRY(reply.send_table(std::move(answer)));
    return end;
}

Result<QueryEnd> QueryService::run_export(const ExportFormat& format, const Query& query, QueryContext& context,
                                          QueryReply& reply) const {
    for (const auto& [name, value] : query.values) {
        if (find_option(format.options, name) == nullptr && find_option(selection_options(), name) == nullptr) {
            return Error{ErrorCode::kUsage, format.name + " has no option --" + name.substr(0, 64)};
        }
    }
    const UtcNs now = utc_now();
    auto selection = PERFLEET_TRY(read_selection(query.values, now));
    selection.use = SessionUse::kProfile;
    auto scan = PERFLEET_TRY(Scan::open(store_, selection, &context));
    PERFLEET_TRY(check_event(scan));
    filter_frames(scan, paths_);
    auto end = format.write({scan, paths_, query.values, now, &context}, reply);
    if (const std::string filters = filters_text(query.values); !filters.empty()) {
        if (!end.ok() && end.error().code == ErrorCode::kNotFound) {
            return Error{ErrorCode::kNotFound, end.error().message + "; the filters are " + filters};
        }
        constexpr std::string_view kOwnWords = "the filters";  // of a page
        if (end.ok() && std::ranges::none_of(end->warnings, [&](const std::string& warning) {
                return warning.find(kOwnWords) != std::string::npos;
            })) {
            end->warnings.push_back("only rows that pass " + filters + "; the ledger is of all of the selection");
        }
    }
    return end;
}

}  // namespace perfleet
