#include "storage/compact/dictionary_maker.h"

#include <array>

#include "storage/compact/epoch_rows.h"
#include "storage/engine/damaged_reads.h"

namespace perfleet {
namespace {

// Size of the maps in one write: bounds how long the writer waits for it.
constexpr std::size_t kMapsSizeBytes = 256U << 10;

}  // namespace

Result<PartitionMaker::Outcome> DictionaryMaker::make_dictionary() {
    const auto added =
        PERFLEET_TRY(for_each_session([this](const SessionName& session) { return add_session(session); }));
    if (added != Outcome::kDone) {
        return added;
    }
    const std::uint64_t epoch_node_count = nodes_.epoch_node_count();
    PartitionNodes::Made made = std::move(nodes_).finish();
    const std::string bytes = encode_dictionary(made.dictionary);
    const bool is_worth_it = made.maps.size() >= policy_.epochs_min &&
                             epoch_node_count >= std::uint64_t{policy_.reuse} * made.dictionary.nodes.size() &&
                             bytes.size() <= limits::kDictionarySizeBytesMax;
    if (!is_worth_it) {
        return steps_.report({.partition = partition_, .epochs_left = made.maps.size()}) ? Outcome::kDone
                                                                                         : steps_.ended();
    }
    made.dictionary = {};
    auto written = write_dictionary(bytes);
    if (written.ok() && *written) {
        written = write_maps(dictionary_checksum(bytes), std::move(made.maps));
    }
    if (!written.ok()) {
        return written.error();
    }
    return *written ? Outcome::kDone : steps_.ended();
}

Result<bool> DictionaryMaker::add_session(const SessionName& session) {
    SessionBatches batches = PERFLEET_TRY(read_session_batches(*reads_, partition_, session));
    CompactionStep step{.partition = partition_};
    for (auto& [epoch, all] : batches.epochs) {
        if (!batches.is_whole || !all.is_final || all.definitions.row_count == 0) {
            continue;
        }
        auto definitions = PERFLEET_TRY(read_definitions(session, all.definitions));
        if (definitions.has_value() && nodes_.add(*definitions)) {
            epochs_.push_back({session, std::move(all.definitions)});
        } else {
            ++step.epochs_left;
        }
    }
    return steps_.report(step);
}

// Replaces the dictionary if it has changed, and deletes its old maps in the same write.
Result<bool> DictionaryMaker::write_dictionary(const std::string& bytes) {
    Changes changes;
    const std::string key = dictionary_key(partition_);
    const auto before = PERFLEET_TRY(reads_->dictionary(partition_));
    if (before == bytes) {
        return true;
    }
    for (ReadableCursor old = undamaged(stack_maps_range(partition_)); PERFLEET_TRY(old.next_item());) {
        changes.deletes.emplace_back(old.key());
    }
    changes.puts.push_back({key, bytes});
    return steps_.write(changes, {.partition = partition_, .dictionaries = 1}, &CompactionStep::map_bytes);
}

Result<bool> DictionaryMaker::write_maps(std::uint32_t checksum, std::vector<std::vector<std::uint32_t>> maps) {
    std::vector<std::pair<std::string, std::string>> made;
    std::size_t size_bytes = 0;
    const auto write_made = [&]() -> Result<bool> {
        Changes changes;
        for (const auto& [key, value] : made) {
            changes.puts.push_back({key, value});
        }
        auto written =
            steps_.write(changes, {.partition = partition_, .stack_maps = made.size()}, &CompactionStep::map_bytes);
        made.clear();
        size_bytes = 0;
        return written;
    };
    for (std::size_t i = 0; i < maps.size(); ++i) {
        const SessionName& session = epochs_[i].session;
        const StackMapKey key{partition_, session.target, session.session, epochs_[i].definitions.epoch};
        std::string value = encode_stack_map({checksum, std::move(epochs_[i].definitions), std::move(maps[i])});
        const auto before = PERFLEET_TRY(reads_->stack_map(key));
        if (before == value) {
            continue;
        }
        made.emplace_back(stack_map_key(key), std::move(value));
        size_bytes += made.back().first.size() + made.back().second.size();
        if (size_bytes >= kMapsSizeBytes) {
            if (auto written = write_made(); !written.ok() || !*written) {
                return written;
            }
        }
    }
    return made.empty() ? Result<bool>{true} : write_made();
}

Result<std::optional<EpochDictionary>> DictionaryMaker::read_definitions(const SessionName& session,
                                                                         const RowCover& cover) const {
    EpochDictionary dictionary;
    const EpochPlace place{session, partition_, cover.epoch, {cover.seqs.front().first, cover.seqs.back().last}};
    auto is_whole = PERFLEET_TRY(read_whole(place, std::array{Kind::kImage, Kind::kStack}, cover.row_count,
                                            [&](const BlockView& block) { return dictionary.add(block).ok(); }));
    return is_whole && dictionary.finish().ok() ? std::optional{std::move(dictionary)} : std::nullopt;
}

}  // namespace perfleet
