// A store's data of its sessions, counted from its batch records: the ledger by the rules of schemas/wire/README.md,
// made without the query engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/store/open_store.h"

namespace perfleet::end_to_end {

struct StoredLedger {
    struct Counts {
        std::uint64_t produced = 0;
        std::uint64_t stored = 0;
        std::uint64_t lost = 0;  // rows of dropped batches that are stored all the same are subtracted
    };

    SessionRecord session;
    std::optional<SessionEnd> end;
    Seq watermark;
    std::map<Series, Counts> series;
    std::map<std::uint64_t, int> seqs;  // how often each is stored
    std::map<CountName, std::uint64_t> lost;

    // Produced = stored + lost for every series, every batch stored once, and a clean end.
    void expect_exact() const {
        EXPECT_TRUE(end.has_value()) << "no Bye";
        for (const auto& [one, counts] : series) {
            EXPECT_EQ(counts.produced, counts.stored + counts.lost)
                << kind_name(one.kind) << '/' << one.event.value << ": stored " << counts.stored << ", lost "
                << counts.lost;
        }
        for (const auto& [seq, count] : seqs) {
            EXPECT_EQ(count, 1) << "seq " << seq;
        }
    }
};

inline StoredLedger ledger_of(const StoreReader& store, const SessionRecord& session) {
    StoredLedger ledger;
    ledger.session = session;
    ledger.end = store.session_end(session.target, session.session).value();
    ledger.watermark = store.watermark(session.target, session.session).value();
    std::vector<BatchRecord> records;
    const auto partitions = store.partitions();
    EXPECT_TRUE(partitions.ok()) << partitions.error().message;
    for (const Partition& partition : *partitions) {
        const auto visited =
            store.visit_batches(partition, session.target, session.session, [&](const BatchRecord& record) {
                records.push_back(record);
                return Visit::kContinue;
            });
        EXPECT_TRUE(visited.ok()) << visited.error().message;
    }
    const SessionEnd end = ledger.end.value_or(SessionEnd{});
    // Every range that was ever named: the Bye names only those that no acknowledged batch has named before.
    std::vector<SeqRange> dropped = end.dropped;
    for (const BatchRecord& record : records) {
        dropped.insert(dropped.end(), record.dropped.begin(), record.dropped.end());
    }
    std::map<Series, std::uint64_t> held_though_dropped;
    for (const BatchRecord& record : records) {
        const bool is_dropped = std::any_of(dropped.begin(), dropped.end(), [&](const SeqRange& range) {
            return record.seq >= range.first && record.seq <= range.last;
        });
        ++ledger.seqs[record.seq.value];
        for (const BatchRecord::Rows& rows : record.rows) {
            ledger.series[rows.series].stored += rows.row_count;
            held_though_dropped[rows.series] += is_dropped ? rows.row_count : 0;
        }
    }
    for (const CountEntry& entry : end.counts) {
        if (entry.name == CountName::kProduced) {
            ledger.series[entry.series].produced += entry.value;
        } else if (is_loss(entry.name)) {
            ledger.series[entry.series].lost += entry.value;
            ledger.lost[entry.name] += entry.value;
        }
    }
    for (const auto& [series, row_count] : held_though_dropped) {
        ledger.series[series].lost -= row_count;
    }
    return ledger;
}

// Of every session in the folder; a live gateway may have it open.
inline std::vector<StoredLedger> ledgers_of(const std::string& data) {
    const auto reader = open_store_reader(data);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    std::vector<StoredLedger> ledgers;
    const auto sessions = (*reader)->all_sessions();
    EXPECT_TRUE(sessions.ok()) << sessions.error().message;
    for (const SessionRecord& session : *sessions) {
        ledgers.push_back(ledger_of(**reader, session));
    }
    return ledgers;
}

}  // namespace perfleet::end_to_end
