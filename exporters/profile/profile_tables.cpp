#include "exporters/profile/profile_tables.h"

#include <algorithm>

#include "query-engine/statistic/session/coverage.h"
#include "query-engine/statistic/stack/call_path.h"
#include "schemas/vocabulary/off_cpu.h"

namespace perfleet {
namespace {

constexpr std::size_t kCountsBetweenChecks = 1'024;

std::uint64_t pair_of(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32U | low; }

// Not where the name is `[image]` or `[image+0xstart]`, of a file.
bool has_symbol(std::string_view name, const ProfileImage& image) {
    const std::string place = "[" + image.name;
    const std::string_view rest = name.substr(std::min(place.size(), name.size()));
    return !is_file(image.definition) || !name.starts_with(place) || (rest != "]" && !rest.starts_with("+0x"));
}

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
        whole_ = std::move(events_.front());
        events_.clear();
        for (const std::string& part : whole_->parts) {
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

Result<Done> ProfileTables::count(const Scan& scan, const std::vector<std::string>& below) {
    PERFLEET_TRY(choose_values(scan));
    if (events_.empty()) {
        return Done{};
    }
    CallPath path{below, names_, scan.memory()};
    for (std::size_t i = 0; i < events_.size(); ++i) {
        PERFLEET_TRY(visit_stack_counts(scan, events_[i], {}, [&](const EpochStackCounts& epoch) {
            below.empty() ? add(epoch, i) : add(path.counts_below(whole_ ? *whole_ : events_[i], i, epoch), i);
        }));
        PERFLEET_TRY(scan.memory().check());
    }
    return Done{};
}

ProfileNotes profile_notes(const Scan& scan, const std::vector<Measure>& events, std::span<const RowTotal> totals,
                           bool has_samples) {
    ProfileNotes notes;
    for (std::size_t i = 0; i < events.size(); ++i) {
        notes.ledgers.emplace_back(events[i].event, event_ledger(scan, events[i].event, notes.warnings));
        if (!totals.empty()) {
            warn_of_few_samples(events[i], totals[i], notes.warnings);
        }
        if (!events[i].unknown.empty()) {
            notes.warnings.push_back(events[i].unknown);
        }
    }
    if (events.empty()) {
        notes.warnings.push_back("the profile is empty: " + no_samples_text(scan));
    } else {
        warn_of_no_samples(events.front(), has_samples, notes.warnings);
    }
    warn_of_open_sessions(scan, notes.warnings);
    warn_of_uncovered_time(scan, notes.warnings);
    drop_repeated(notes.warnings);
    return notes;
}

ProfileNotes ProfileTables::notes(const Scan& scan) const {
    ProfileNotes notes = profile_notes(scan, events_, totals_, row_count() != 0);
    names_.add_hint(FrameNames::HintAt::kNoAddresses, notes.warnings);
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

void ProfileTables::name_epoch(const EpochDictionary& dictionary, std::span<const StackCount> counts) {
    names_.name_epoch(dictionary, counts);
    function_numbers_.resize(names_.name_count());
    epoch_nodes_.assign(dictionary.stack_count(), 0);
    epoch_images_.assign(dictionary.image_count(), 0);
    share_.set(size_bytes());
}

void ProfileTables::add(const EpochStackCounts& epoch, std::size_t event) {
    const EpochDictionary& dictionary = *epoch.dictionary;
    totals_[event] += epoch.total;
    name_epoch(dictionary, epoch.counts);
    std::vector<std::uint32_t> commands;  // by runner
    for (const Runner& runner : epoch.runners) {
        const auto [entry, is_new] =
            command_numbers_.try_emplace(runner.command, static_cast<std::uint32_t>(commands_.size()));
        if (is_new) {
            commands_.push_back(runner.command);
        }
        commands.push_back(entry->second);
    }
    for (std::size_t i = 0; i < epoch.counts.size(); ++i) {
        if (i % kCountsBetweenChecks == 0) {
            share_.set(size_bytes());
            if (share_.is_exceeded()) {
                return;
            }
        }
        const StackCount& count = epoch.counts[i];
        const ProfileSample sample{node_of(dictionary, count.stack), commands[count.runner_index]};
        std::uint32_t& number = sample_numbers_[pair_of(sample.node, sample.command)];
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
            functions_.back().has_symbol = has_symbol(functions_.back().name, images_[image]);
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
    for (const FlatTable<std::uint32_t>& numbers : location_numbers_) {
        size += numbers.size_bytes();
    }
    return size;
}

}  // namespace perfleet
