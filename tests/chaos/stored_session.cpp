#include "tests/chaos/stored_session.h"

#include <array>
#include <cstring>
#include <set>

#include "schemas/vocabulary/kinds.h"
#include "storage/block/block.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::chaos {
namespace {

// Of tracepoints of system calls: the first argument of each (…/syscalls/sys_enter_…/format).
constexpr std::size_t kFirstArgumentOffset = 16;

const std::vector<std::uint64_t>& arguments_of(const DecodedRows& rows, std::vector<std::uint64_t>& arguments) {
    arguments.assign(rows.row_count(), 0);
    for (std::size_t row = 0; row < arguments.size(); ++row) {
        const std::string_view raw = rows.bytes(ColumnId::kRawBytes, row);
        if (raw.size() >= kFirstArgumentOffset + sizeof(std::uint64_t)) {
            std::memcpy(&arguments[row], raw.data() + kFirstArgumentOffset, sizeof(std::uint64_t));
        }
    }
    return arguments;
}

Result<Done> scan_blocks(const StoreReader& store, const Partition& partition, Series series, StoredSession& session) {
    std::optional<Error> error;
    DecodedRows rows;
    std::vector<std::uint64_t> arguments;
    const std::array wanted{value_column(series.kind)};
    auto visited = visit_blocks(
        store, partition, session.target, session.session, series, [&](const BlockKey& key, std::string_view bytes) {
            auto block = parse_block_untrusted(bytes);
            if (!block.ok()) {
                error = block.error();
                return Visit::kStop;
            }
            if (auto decoded = rows.decode(*block, wanted); !decoded.ok()) {
                error = decoded.error();
                return Visit::kStop;
            }
            auto values = series.kind == Kind::kTracepoint
                              ? std::span<const std::uint64_t>{arguments_of(rows, arguments)}
                              : rows.integers(wanted[0]);
            if (block->parts.empty()) {
                session.blocks.push_back(
                    {partition, series, key.first_seq, block->header.last_seq, {values.begin(), values.end()}, false});
            }
            for (const BlockPart& part : block->parts) {  // compacted: as if each were alone
                const auto own = values.first(part.row_count);
                session.blocks.push_back({partition, series, part.seq, part.seq, {own.begin(), own.end()}, true});
                values = values.subspan(part.row_count);
            }
            return Visit::kContinue;
        });
    return error.has_value() ? Result<Done>{*error} : std::move(visited);
}

}  // namespace

ColumnId value_column(Kind kind) {
    switch (kind) {
        case Kind::kSample: return ColumnId::kWeight;
        case Kind::kCounter: return ColumnId::kValue;
        case Kind::kTracepoint: return ColumnId::kRawBytes;
        case Kind::kString: return ColumnId::kNumber;
        default: return columns_of(kind).front().id;
    }
}

Result<std::vector<StoredSession>> scan_store(const StoreReader& store) {
    auto records = PERFLEET_TRY(store.all_sessions());
    const auto partitions = PERFLEET_TRY(store.partitions());
    std::vector<StoredSession> sessions;
    for (const SessionRecord& record : records) {
        StoredSession session;
        session.target = record.target;
        session.session = record.session;
        auto end = store.session_end(record.target, record.session);
        auto watermark = store.watermark(record.target, record.session);
        auto expired = store.expired(record.target, record.session);
        if (!end.ok() || !watermark.ok() || !expired.ok()) {
            return !end.ok() ? end.error() : !watermark.ok() ? watermark.error() : expired.error();
        }
        session.end = *end;
        session.watermark = *watermark;
        session.expired = {expired->begin(), expired->end()};
        for (const Partition& partition : partitions) {
            std::set<Series> all_series;
            auto visited = store.visit_batches(partition, record.target, record.session, [&](const BatchRecord& batch) {
                session.batches.push_back(batch);
                for (const BatchRecord::Rows& rows : batch.rows) {
                    all_series.insert(rows.series);
                }
                return Visit::kContinue;
            });
            if (!visited.ok()) {
                return visited.error();
            }
            for (const Series series : all_series) {
                PERFLEET_TRY(scan_blocks(store, partition, series, session));
            }
        }
        sessions.push_back(std::move(session));
    }
    return sessions;
}

}  // namespace perfleet::chaos
