// A query as a value: a command with its typed options in; a table or a file's bytes, then ledger and warnings out. The
// caller passes a QueryReply: the query port, or the command line with a local store.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/statistic/answer/answer.h"
#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

struct Query {
    // The name of a query command, of an ExportFormat that is a command, or "export" with the option "format".
    std::string command;
    OptionValues values;  // untrusted
};

// The end of an answer.
struct QueryEnd {
    std::optional<UtcNs> modified;  // of a file: the modification time that it should get
    std::string summary;            // of a file: its content, such as "1611 samples"
    Ledger ledger;
    std::vector<std::string> warnings;
    std::vector<std::pair<std::string, Ledger>> parts{};  // of a table: Answer::parts
    std::optional<AnswerMeasure> measure = std::nullopt;  // of a table: Answer::measure
};

class ExportSink {
public:
    virtual ~ExportSink() = default;
    // Bytes come in order, except that formats that aren't sequential write their header last, at offset 0.
    [[nodiscard]] virtual Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

// The receiver of an answer, which can also cancel the query. Used by the thread that runs the query.
class QueryReply : public ExportSink {
public:
    // Called once with the table, which also holds the content of QueryEnd. Errors: kCancelled.
    [[nodiscard]] virtual Result<Done> send_table(Answer answer) = 0;
    // Set when the client no longer waits for the answer; long work checks it.
    [[nodiscard]] virtual const std::atomic<bool>& cancelled() const = 0;
    // Receives the number of rows read and the total. Borrows the reply.
    [[nodiscard]] virtual ProgressReport progress() = 0;
};

// Runs a query and answers by the reply; called on several threads at once.
using QueryHandler = std::function<Result<QueryEnd>(Query, QueryReply&)>;

}  // namespace perfleet
