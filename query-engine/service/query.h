// A query is a value: a command with its typed options in; a table or a file's bytes, and at the end ledger and
// warnings out. Whoever asks gives a QueryReply: the query port, or the command line for a store of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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
    // Of query_commands(), an ExportFormat that is a command, or "export" with the option "format".
    std::string command;
    OptionValues values;  // untrusted
};

// What stands at the end of an answer.
struct QueryEnd {
    std::optional<UtcNs> modified;  // of a file: what its modification time should be
    std::string summary;            // of a file: what is in it: "1611 samples"
    Ledger ledger;
    std::vector<std::string> warnings;
    std::vector<std::pair<std::string, Ledger>> parts{};  // of a table: those of Answer
};

class ExportSink {
public:
    virtual ~ExportSink() = default;
    // Bytes come in order; formats that aren't sequential write their header last, at offset 0.
    [[nodiscard]] virtual Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

// Where an answer goes, and what ends it early. Used by the thread that runs the query.
class QueryReply : public ExportSink {
public:
    // The table, once, with what stands in QueryEnd as well. Errors: kCancelled.
    [[nodiscard]] virtual Result<Done> send_table(Answer answer) = 0;
    // Set when nobody waits for the answer any more; long work looks at it.
    [[nodiscard]] virtual const std::atomic<bool>& cancelled() const = 0;
    // How many rows of how many have been read. Borrows the reply.
    [[nodiscard]] virtual ProgressReport progress() = 0;
};

}  // namespace perfleet
