// mcp: queries for assistants, by the Model Context Protocol on standard input and output.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/report/report.h"
#include "query-engine/statistic/command.h"
#include "tools/perfleet/mcp/mcp_server.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/invocation.h"

namespace perfleet {
namespace {

constexpr std::array<std::string_view, 11> kTools{"targets", "sessions", "events",   "labels",  "top",   "tree",
                                                  "series",  "diff",     "annotate", "latency", "losses"};
constexpr std::size_t kAnswerSizeBytesMax = 64U << 10;
constexpr std::size_t kRowsMax = 200;

constexpr const char* kInstructions =
    "Profiles and latencies that perfleet recorded. Begin with `sessions` or `targets` (what there is) and `events` "
    "(what "
    "was measured); `top` and `tree` show where time went, `series` when, `diff` what changed and whether that is more "
    "than "
    "noise, `latency` how long operations took, `losses` what is missing. Widths are amounts in the unit of their "
    "column "
    "(`measure` names it). Read the ledger and the warnings of each answer: rows that were lost, and verdicts that the "
    "data "
    "can't give, are named there. Times: RFC 3339, or an offset such as -15m.";

// The answer as JSON; rows beyond what an assistant can read are left out, which a warning says.
std::string bounded_report(Answer answer) {
    const std::size_t all = answer.rows.size();
    std::size_t count = std::min(all, kRowsMax);
    const std::size_t warnings = answer.warnings.size();
    for (;;) {
        answer.rows.resize(count);
        answer.warnings.resize(warnings);
        if (count < all) {
            answer.warnings.push_back("only the first " + std::to_string(count) + " of " + std::to_string(all) +
                                      " rows are here: select less, or take `limit` and other options");
        }
        std::string text = format_report(answer, ReportFormat::kJson);
        if (text.size() <= kAnswerSizeBytesMax || count == 0) {
            return text;
        }
        count /= 2;
    }
}

Result<std::string> call(const QueryOptions& source, const QueryCommand& command, OptionValues values) {
    QueryOptions query = source;
    query.values = std::move(values);
    return bounded_report(PERFLEET_TRY(ask_table(query, command)));
}

// False: the input has ended. Longer lines are cut, and aren't JSON then.
bool read_line(std::string& line) {
    line.clear();
    int byte = std::getchar();
    for (; byte != EOF && byte != '\n'; byte = std::getchar()) {
        if (line.size() <= McpServer::kMessageSizeBytesMax) {
            line += static_cast<char>(byte);
        }
    }
    return byte != EOF || !line.empty();
}

Result<int> serve(const QueryOptions& source) {
    std::vector<McpTool> tools;
    for (const std::string_view name : kTools) {
        const QueryCommand& command = *PERFLEET_TRY(find_query_command(name));
        std::vector<OptionSpec> options = command.selection();
        options.insert(options.end(), command.options.begin(), command.options.end());
        tools.push_back({command.name, command.summary, std::move(options), [&source, &command](OptionValues values) {
                             return call(source, command, std::move(values));
                         }});
    }
    const McpServer server{std::move(tools), PERFLEET_VERSION, kInstructions};
    for (std::string line; read_line(line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) {
            continue;
        }
        if (const auto answer = server.answer(line)) {
            std::printf("%s\n", answer->c_str());
            std::fflush(stdout);
        }
    }
    return 0;
}

constexpr const char* kMcpFooter =
    "Uses JSON-RPC, a message a line, until its input ends. It can't change anything. An\n"
    "assistant's configuration names it so:\n\n"
    "  {\"mcpServers\": {\"perfleet\": {\"command\": \"perfleet\", \"args\": [\"mcp\"]}}}";

}  // namespace

void add_mcp_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<QueryOptions>(
        app, invocation, "mcp", "Answer an assistant's queries (Model Context Protocol) on standard input and output",
        serve);
    options->add_source_to(*command);
    options->add_input_to(*command);
    command->footer(kMcpFooter);
}

}  // namespace perfleet
