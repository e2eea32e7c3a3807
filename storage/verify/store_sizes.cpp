#include "storage/verify/store_sizes.h"

#include <set>
#include <tuple>
#include <utility>

#include "storage/block/block.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/open_engine.h"

namespace perfleet {
namespace {

class Measure {
public:
    explicit Measure(const Engine& engine) : engine_{engine}, reads_{engine} {}

    [[nodiscard]] Result<StoreSizes> run() {
        PERFLEET_TRY(reads_.visit_sessions([&](SessionRecord&& session) {
            std::vector<std::string>& names = events_[{session.target, session.session}];
            for (EventRecord& event : session.events) {
                names.push_back(std::move(event.name));
            }
            return Visit::kContinue;
        }));
        PERFLEET_TRY(visit_readable(
            engine_, everything(),
            [&](std::string_view key, std::string_view value) {
                add(key, value);
                return Visit::kContinue;
            },
            [&](const DamagedRange&) { ++sizes_.unreadable_count; }));
        return std::move(sizes_);
    }

private:
    void add(std::string_view key, std::string_view value) {
        const std::uint64_t size_bytes = key.size() + value.size();
        add_to_class(key, value, size_bytes);
        if (const auto block = decode_block_key(key); block.ok()) {
            add_block(*block, value, size_bytes);
        } else if (const auto batch = decode_partition_batch_key(key); batch.ok()) {
            const auto records = decode_batches_untrusted(value, batch->key.seq, batch->partition.bucket);
            sizes_.batch_count += records.ok() ? records->size() : 0;
            sizes_.record_bytes += size_bytes;
        } else if (decode_summary_key(key).ok()) {
            ++sizes_.summary_count;
            sizes_.summary_bytes += size_bytes;
        } else if (is_of_dictionary(key, value)) {
            sizes_.dictionary_bytes += size_bytes;
        } else if (!key.empty() && key[0] == static_cast<char>(Table::kImage)) {
            ++sizes_.image_count;
            sizes_.image_bytes += size_bytes;
        } else {
            sizes_.session_bytes += size_bytes;
        }
    }

    bool is_of_dictionary(std::string_view key, std::string_view value) {
        if (decode_stack_map_key(key).ok()) {
            const auto map = decode_stack_map_untrusted(value);
            sizes_.unreadable_count += map.ok() ? 0 : 1;
            ++sizes_.map_count;
            for (const std::uint32_t node : map.ok() ? map->nodes : std::vector<std::uint32_t>{}) {
                sizes_.map_node_count += node != 0 ? 1 : 0;
            }
            return true;
        }
        const auto partition = decode_partition(key);
        if (!partition.ok() || key != dictionary_key(*partition)) {
            return false;
        }
        const auto dictionary = decode_dictionary_untrusted(value);
        sizes_.unreadable_count += dictionary.ok() ? 0 : 1;
        ++sizes_.dictionary_count;
        sizes_.dictionary_node_count += dictionary.ok() ? dictionary->nodes.size() : 0;
        return true;
    }

    void add_to_class(std::string_view key, std::string_view value, std::uint64_t size_bytes) {
        if (!key.empty() && key[0] == static_cast<char>(Table::kPartition)) {
            if (const auto partition = decode_partition(key); partition.ok()) {
                sizes_.classes[partition->retention_class].size_bytes += size_bytes;
            }
        } else if (const auto expired = decode_expired_key(key); expired.ok()) {
            const auto row_count = decode_number_untrusted(value);
            sizes_.classes[expired->partition.retention_class].expired_row_count += row_count.ok() ? *row_count : 0;
        }
    }

    void add_block(const BlockKey& key, std::string_view value, std::uint64_t size_bytes) {
        EventSize& event = sizes_.events[name_of(key)];
        if (series_.insert({key.target, key.session, key.series}).second) {
            ++event.series_count;
        }
        ++event.block_count;
        event.size_bytes += size_bytes;
        const auto block = parse_block_untrusted(value);
        if (!block.ok()) {
            ++sizes_.unreadable_count;
            return;
        }
        event.row_count += block->header.row_count;
        sizes_.classes[key.partition.retention_class].row_count += block->header.row_count;
        for (const ColumnView& column : block->columns) {
            event.column_bytes[column.id] += column.bytes.size();
        }
    }

    [[nodiscard]] EventName name_of(const BlockKey& key) const {
        const auto session = events_.find({key.target, key.session});
        const std::size_t event = key.series.event.value;
        const bool is_known = session != events_.end() && event < session->second.size();
        return {key.series.kind, is_known ? session->second[event] : std::string{}};
    }

    const Engine& engine_;
    KeyedReads reads_;
    std::map<SessionName, std::vector<std::string>> events_;
    std::set<std::tuple<TargetId, SessionId, Series>> series_;
    StoreSizes sizes_;
};

}  // namespace

std::uint64_t StoreSizes::content_bytes() const {
    std::uint64_t sum = record_bytes + summary_bytes + dictionary_bytes + session_bytes + image_bytes;
    for (const auto& [name, event] : events) {
        sum += event.size_bytes;
    }
    return sum;
}

std::uint64_t StoreSizes::row_count(Kind kind) const {
    std::uint64_t sum = 0;
    for (const auto& [name, event] : events) {
        sum += name.kind == kind ? event.row_count : 0;
    }
    return sum;
}

Result<StoreSizes> measure_store(const std::string& where) {
    auto engine = PERFLEET_TRY(open_reader_engine(where));
    PERFLEET_TRY(check_format(*engine, where));
    auto sizes = Measure{*engine}.run();
    if (sizes.ok() && is_folder(where)) {
        sizes->table_file_bytes = size_of_files(where, ".sst");
        sizes->log_bytes = size_of_files(where, ".log");
    } else if (sizes.ok()) {
        sizes->object_bytes = PERFLEET_TRY(engine->size_bytes(everything()));
    }
    return sizes;
}

}  // namespace perfleet
