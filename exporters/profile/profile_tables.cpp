#include "exporters/profile/profile_tables.h"

#include <algorithm>
#include <array>
#include <utility>

#include "exporters/profile/sample_labels.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/session/coverage.h"
#include "schemas/columns/record_type.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/off_cpu.h"

namespace perfleet {
namespace {

constexpr std::size_t kCountsBetweenChecks = 1'024;

std::uint64_t pair_of(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32U | low; }

template <class Value>
std::size_t capacity_bytes(const std::vector<Value>& values) {
    return values.capacity() * sizeof(Value);
}

}  // namespace

ProfileTables::ProfileTables(Symbolizer& symbolizer, QueryMemory& memory, unsigned worker_count)
    : symbolizer_{symbolizer}, names_{symbolizer, memory, worker_count}, share_{memory} {}

Result<Done> ProfileTables::choose_values(const Scan& scan) {
    events_ = PERFLEET_TRY(choose_measures(scan));
    if (!events_.empty() && events_.front().parts.size() > 1) {  // a value for each part
        const std::vector<std::string> parts = events_.front().parts;
        events_.clear();
        for (const std::string& part : parts) {
            Measure measure = measure_of(scan, part);
            measure.parts = {part};
            events_.push_back(std::move(measure));
        }
    }
    totals_.resize(events_.size());
    if (events_.empty()) {
        values_.push_back({"", kRowUnit});
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const Measure& event = events_[i];
        if (!event.is_amount || !off_cpu::is_event(event.event)) {
            values_.push_back({event.event, kRowUnit, false, i});
        }
        if (event.is_amount) {
            values_.push_back({event.event, event.unit, true, i});
        }
    }
    return Done{};
}

Result<Done> ProfileTables::count(const Scan& scan) {
    PERFLEET_TRY(choose_values(scan));
    if (events_.empty()) {
        return Done{};
    }
    PERFLEET_TRY(read_labels(scan));
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const StackCountOptions options{.per_thread = !labels_of_threads_.empty()};
        PERFLEET_TRY(
            visit_stack_counts(scan, events_[i], options, [&](const EpochStackCounts& epoch) { add(epoch, i); }));
        if (scan.memory().is_exceeded()) {
            return scan.memory().exceeded();
        }
    }
    return Done{};
}

Result<Done> ProfileTables::read_labels(const Scan& scan) {
    constexpr std::array kColumns{ColumnId::kTid, ColumnId::kRecordType, ColumnId::kRawSize, ColumnId::kRawBytes};
    std::map<std::string, std::uint32_t, std::less<>> numbers;
    for (std::size_t index = 0; index < scan.sessions().size(); ++index) {
        if (scan.sessions()[index].record.collector_version != kPprofCollector) {
            continue;  // other sessions' `record` rows have no labels, and may be many
        }
        RowCursor cursor{scan, index, {Kind::kRecord, EventNumber{0}}, kColumns};
        while (const RowBlock* const block = cursor.next()) {
            for (std::size_t row = 0; row < block->rows.row_count(); ++row) {
                if (static_cast<std::uint32_t>(block->rows.integers(ColumnId::kRecordType)[row]) !=
                    record_types::kSampleLabels) {
                    continue;
                }
                const auto [known, is_new] =
                    numbers.try_emplace(std::string{block->rows.bytes(ColumnId::kRawBytes, row)},
                                        static_cast<std::uint32_t>(labels_.size()));
                if (is_new) {
                    labels_.push_back(known->first);
                }
                const auto tid = static_cast<std::uint32_t>(block->rows.integers(ColumnId::kTid)[row]);
                labels_of_threads_[{index, tid}] = known->second;
            }
            share_.set(size_bytes());
        }
        PERFLEET_TRY(cursor.status());
    }
    return Done{};
}

ProfileNotes ProfileTables::notes(const Scan& scan) const {
    ProfileNotes notes;
    names_.add_hint(FrameNames::HintAt::kNoAddresses, notes.warnings);
    for (std::size_t i = 0; i < events_.size(); ++i) {
        notes.ledgers.emplace_back(events_[i].event, event_ledger(scan, events_[i].event, notes.warnings));
        warn_of_few_samples(events_[i], totals_[i], notes.warnings);
        if (!events_[i].unknown.empty()) {
            notes.warnings.push_back(events_[i].unknown);
        }
    }
    if (events_.empty()) {
        notes.warnings.emplace_back(
            "no samples are in the selection: the profile is empty (perfleet losses lists what there is)");
    } else {
        warn_of_no_samples(events_.front(), !samples_.empty(), notes.warnings);
    }
    warn_of_open_sessions(scan, notes.warnings);
    warn_of_uncovered_time(scan, notes.warnings);
    for (std::string& warning : symbolizer_.warnings()) {
        notes.warnings.push_back(std::move(warning));
    }
    drop_repeated(notes.warnings);
    return notes;
}

std::uint64_t ProfileTables::row_count() const {
    std::uint64_t count = 0;
    for (const RowTotal& total : totals_) {
        count += total.sum.rows;
    }
    return count;
}

void ProfileTables::add(const EpochStackCounts& epoch, std::size_t event) {
    const EpochDictionary& dictionary = *epoch.dictionary;
    totals_[event] += epoch.total;
    names_.name_epoch(dictionary, epoch.counts);
    function_numbers_.resize(names_.name_count());
    epoch_nodes_.assign(dictionary.stack_count(), 0);
    epoch_images_.assign(dictionary.image_count(), 0);
    struct Owner {
        std::uint32_t command = 0;
        std::uint32_t labels = 0;
        std::uint32_t number = 0;
    };
    std::vector<Owner> owners;
    for (const Runner& runner : epoch.runners) {
        const auto [entry, is_new] =
            command_numbers_.try_emplace(runner.command, static_cast<std::uint32_t>(commands_.size()));
        if (is_new) {
            commands_.push_back(runner.command);
        }
        Owner& owner = owners.emplace_back();
        owner.command = entry->second;
        if (const auto labels = labels_of_threads_.find({epoch.session_index, runner.tid});
            labels != labels_of_threads_.end()) {
            owner.labels = labels->second;
        }
        const auto number = static_cast<std::uint32_t>(owner_numbers_.size());
        owner.number = owner_numbers_.try_emplace({owner.command, owner.labels}, number).first->second;
    }
    for (std::size_t i = 0; i < epoch.counts.size(); ++i) {
        if (i % kCountsBetweenChecks == 0) {
            share_.set(size_bytes());
            if (share_.is_exceeded()) {
                return;
            }
        }
        const StackCount& count = epoch.counts[i];
        const Owner& owner = owners[count.runner_index];
        const ProfileSample sample{node_of(dictionary, count.stack), owner.command, owner.labels};
        std::uint32_t& number = sample_numbers_[pair_of(sample.node, owner.number)];
        if (number == 0) {
            samples_.push_back(sample);
            sums_.resize(sums_.size() + events_.size());
            number = static_cast<std::uint32_t>(samples_.size());
        }
        sums_[(number - 1) * events_.size() + event] += count.sum;
    }
    share_.set(size_bytes());
}

std::uint32_t ProfileTables::node_of(const EpochDictionary& dictionary, StackNumber stack) {
    chain_of(dictionary, stack, chain_);
    std::size_t known = 0;  // the innermost frames that are new
    while (known < chain_.size() &&
           (chain_[known].value >= epoch_nodes_.size() || epoch_nodes_[chain_[known].value] == 0)) {
        ++known;
    }
    std::uint32_t node = known < chain_.size() ? epoch_nodes_[chain_[known].value] : 0;
    while (known > 0) {
        const StackNumber inner = chain_[--known];
        const std::uint32_t location = location_of(dictionary, inner);
        std::uint32_t& number = node_numbers_.number_of(node, location);
        if (number == 0) {
            number = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back({node, location});
        }
        node = number;
        if (inner.value >= epoch_nodes_.size()) {
            epoch_nodes_.resize(std::size_t{inner.value} + 1);
        }
        epoch_nodes_[inner.value] = node;
    }
    return node;
}

std::uint32_t ProfileTables::location_of(const EpochDictionary& dictionary, StackNumber stack) {
    const Frame frame = dictionary.stack(stack).frame;
    const std::uint32_t image = image_of(dictionary, stack);
    std::uint32_t& number = location_numbers_[image][frame.offset];
    if (number == 0) {
        std::uint32_t& function = function_numbers_[names_.number_of(stack)];
        if (function == 0) {
            functions_.push_back({names_.symbols().text(names_.name_of(stack).symbol), image});
            function = static_cast<std::uint32_t>(functions_.size());
        }
        locations_.push_back({image, function - 1, frame.offset});
        images_[image].offset_last = std::max(images_[image].offset_last, frame.offset);
        number = static_cast<std::uint32_t>(locations_.size());
    }
    return number - 1;
}

std::uint32_t ProfileTables::image_of(const EpochDictionary& dictionary, StackNumber stack) {
    const ImageNumber number = dictionary.stack(stack).frame.image;
    const bool is_in_range = stack != kEmptyStack && number.value < epoch_images_.size();
    if (is_in_range && epoch_images_[number.value] != 0) {
        return epoch_images_[number.value] - 1;
    }
    const ImageDefinition& definition = dictionary.image(number);
    const std::uint32_t name = names_.name_of(stack).image;
    const auto [entry, is_new] =
        image_numbers_.try_emplace({definition, name}, static_cast<std::uint32_t>(images_.size()));
    if (is_new) {
        images_.push_back({definition, names_.images().text(name)});
        location_numbers_.emplace_back();
    }
    if (is_in_range) {
        epoch_images_[number.value] = entry->second + 1;
    }
    return entry->second;
}

std::size_t ProfileTables::size_bytes() const {
    constexpr std::size_t kImageSizeBytes = 3 * sizeof(ImageDefinition) + 64;  // twice here, with texts
    constexpr std::size_t kTextSizeBytes = 32;
    std::size_t size = names_.size_bytes() + images_.size() * kImageSizeBytes + capacity_bytes(functions_) +
                       functions_.size() * kTextSizeBytes + capacity_bytes(locations_) + capacity_bytes(nodes_) +
                       node_numbers_.size_bytes() + capacity_bytes(samples_) + sample_numbers_.size_bytes() +
                       capacity_bytes(sums_) + capacity_bytes(epoch_nodes_) +
                       2 * commands_.size() * (sizeof(std::string) + kTextSizeBytes);
    constexpr std::size_t kTreeNodeSizeBytes = 64;
    size += (labels_of_threads_.size() + owner_numbers_.size()) * kTreeNodeSizeBytes;
    for (const std::string& labels : labels_) {
        size += sizeof(std::string) + labels.size();
    }
    for (const FlatTable<std::uint32_t>& numbers : location_numbers_) {
        size += numbers.size_bytes();
    }
    return size;
}

}  // namespace perfleet
