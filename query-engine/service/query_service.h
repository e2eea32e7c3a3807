// Runs queries over a store. All programs use this one interface, so that the same query gives the same bytes
// everywhere.
//
// Threads: run() may be called by several at once; the store's owner refreshes the store between queries. Borrows the
// store, the formats and the memory. Errors: kUsage names the option; kCancelled; those of store and reply.
#pragma once

#include <span>

#include "query-engine/scan/query_context.h"
#include "query-engine/service/export_format.h"
#include "query-engine/service/query.h"
#include "storage/read/reader.h"

namespace perfleet {

class QueryService {
public:
    // `memory` limits all queries together; null: each query has only its own limit.
    QueryService(const StoreReader& store, SymbolPaths paths, std::span<const ExportFormat> formats,
                 MemoryPool* memory = nullptr)
        : store_{store}, paths_{std::move(paths)}, formats_{formats}, memory_{memory} {}

    [[nodiscard]] Result<QueryEnd> run(Query query, QueryReply& reply) const;

    // Passes `take` the debug file (symbol/kept_symbols.h) made from the parts of a build that collectors sent, and
    // charges its memory until `take` returns. Errors: also kNotFound, and those of `take`.
    [[nodiscard]] Result<Done> debug_file(std::string_view build_id,
                                          const std::function<Result<Done>(std::string)>& take) const;

private:
    [[nodiscard]] Result<const ExportFormat*> format_of(Query& query) const;
    [[nodiscard]] Result<QueryEnd> run_table(const Query& query, QueryContext& context, QueryReply& reply) const;
    [[nodiscard]] Result<QueryEnd> run_export(const ExportFormat& format, const Query& query, QueryContext& context,
                                              QueryReply& reply) const;

    const StoreReader& store_;
    SymbolPaths paths_;
    std::span<const ExportFormat> formats_;
    MemoryPool* memory_;
};

}  // namespace perfleet
