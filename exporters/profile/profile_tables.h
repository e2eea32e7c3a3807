// Samples by call chain and command, as tables that name each image, function, address and call path once: the input of
// formats with numbered frames (pprof, speedscope).
//
// Counts rows of one or more events; a sample has a value for each. Counts are those of `top`: the same stack counts
// and names. The same stored rows give the same tables except for the order of entries, which follows the order of call
// chains in the store.
//
// One thread. ProfileTables borrows the symbolizer and the query's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/scan/query_memory.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "storage/number/flat_table.h"

namespace perfleet {

// The meaning of one of a sample's values.
struct ProfileValue {
    std::string event;
    std::string unit;             // "samples", or the event's: "ns", "cycles"
    bool is_amount = false;       // else rows are counted
    std::size_t event_index = 0;  // of ProfileTables::events()
};

[[nodiscard]] inline bool is_file(const ImageDefinition& image) {
    return image.name.starts_with('/') && !image.name.starts_with("//");
}

struct ProfileImage {
    ImageDefinition definition;
    std::string name;               // as `top` shows it
    std::uint64_t offset_last = 0;  // the highest of its locations
};

struct ProfileFunction {
    std::string name;  // as `top` shows it
    std::uint32_t image = 0;
    bool has_symbol = true;  // false: it stands for code of a file that has no symbol there
};

// An address in an image. Offset: as Frame::offset.
struct ProfileLocation {
    std::uint32_t image = 0;
    std::uint32_t function = 0;
    std::uint64_t offset = 0;
};

// A location with its callers.
struct ProfileNode {
    std::uint32_t caller = 0;  // less than this node's number; 0: none; nodes()[0] is no frame
    std::uint32_t location = 0;
};

struct ProfileSample {
    std::uint32_t node = 0;     // the innermost frame
    std::uint32_t command = 0;  // of commands()
};

// Completeness of a profile: ledgers and warnings.
struct ProfileNotes {
    std::vector<std::pair<std::string, Ledger>> ledgers;  // by event
    std::vector<std::string> warnings;
};

// For events of choose_measures(). `totals`: by event, or empty.
[[nodiscard]] ProfileNotes profile_notes(const Scan& scan, const std::vector<Measure>& events,
                                         std::span<const RowTotal> totals, bool has_samples);

class ProfileTables {
public:
    ProfileTables(Symbolizer& symbolizer, QueryMemory& memory, unsigned worker_count);

    // Counts the selected rows: for the selected event, else for each event, a value of rows and one of amounts, unless
    // samples are the measure. Time off the CPU has amounts alone. Filters and time range may leave no sample; without
    // any event there is one value of rows and no sample. Errors: kTooLarge when the query's memory is exceeded; those
    // of the store.
    // `below`: only the rows of this call path (call_path.h); empty: all.
    [[nodiscard]] Result<Done> count(const Scan& scan, const std::vector<std::string>& below = {});

    // Formats that keep rows call these in place of count(): once choose_values(), then for each epoch name_epoch()
    // with the call chains of its rows, and for each row node_of() and take_row().
    [[nodiscard]] Result<Done> choose_values(const Scan& scan);
    void name_epoch(const EpochDictionary& dictionary, std::span<const StackCount> counts);
    [[nodiscard]] std::uint32_t node_of(const EpochDictionary& dictionary, StackNumber stack);
    void take_row(std::size_t event, std::uint64_t weight) { totals_[event].add(weight, 1); }

    // To be called at the end, with the same scan.
    [[nodiscard]] ProfileNotes notes(const Scan& scan) const;

    [[nodiscard]] const std::vector<Measure>& events() const { return events_; }
    [[nodiscard]] const std::vector<ProfileValue>& values() const { return values_; }
    [[nodiscard]] const std::vector<std::string>& commands() const { return commands_; }
    [[nodiscard]] const std::vector<ProfileImage>& images() const { return images_; }
    [[nodiscard]] const std::vector<ProfileFunction>& functions() const { return functions_; }
    [[nodiscard]] const std::vector<ProfileLocation>& locations() const { return locations_; }
    [[nodiscard]] const std::vector<ProfileNode>& nodes() const { return nodes_; }
    [[nodiscard]] const std::vector<ProfileSample>& samples() const { return samples_; }
    // `value` is an index of values().
    [[nodiscard]] std::int64_t value(std::size_t sample, std::size_t value) const {
        const Sum& sum = sums_[sample * events_.size() + values_[value].event_index];
        return values_[value].is_amount ? sum.amount : static_cast<std::int64_t>(sum.rows);
    }
    [[nodiscard]] std::uint64_t row_count() const;  // of all events
    // The value that a reader shows first: the amount of the first event, if it has one.
    [[nodiscard]] std::size_t default_value() const {
        return values_.size() > 1 && values_[1].event_index == 0 ? 1 : 0;
    }

private:
    // Stops counting when the memory is exceeded.
    void add(const EpochStackCounts& epoch, std::size_t event);
    [[nodiscard]] std::uint32_t location_of(const EpochDictionary& dictionary, StackNumber stack);
    [[nodiscard]] std::uint32_t image_of(const EpochDictionary& dictionary, StackNumber stack);
    [[nodiscard]] std::size_t size_bytes() const;

    Symbolizer& symbolizer_;
    FrameNames names_;
    std::optional<Measure> whole_;  // whose parts are the events
    std::vector<Measure> events_;
    std::vector<RowTotal> totals_;  // of the events
    std::vector<ProfileValue> values_;
    std::vector<std::string> commands_;
    std::map<std::string, std::uint32_t> command_numbers_;
    std::vector<ProfileImage> images_;
    std::map<std::pair<ImageDefinition, std::uint32_t>, std::uint32_t> image_numbers_;  // with its name's number
    std::vector<ProfileFunction> functions_;
    std::vector<std::uint32_t> function_numbers_;  // by the frame name's number: 1 + the function's
    std::vector<ProfileLocation> locations_;
    std::deque<FlatTable<std::uint32_t>> location_numbers_;  // by image, then by offset: 1 + the location's
    std::vector<ProfileNode> nodes_{{}};
    CalleeTable node_numbers_;  // by (caller, location)
    std::vector<ProfileSample> samples_;
    FlatTable<std::uint32_t> sample_numbers_;  // by (node, command): 1 + the sample's
    std::vector<Sum> sums_;                    // events_.size() for each sample
    std::vector<std::uint32_t> epoch_nodes_;   // of the current epoch, by stack number; 0: not seen yet
    std::vector<std::uint32_t> epoch_images_;  // of the current epoch, by image number: 1 + the image's
    std::vector<StackNumber> chain_;
    MemoryShare share_;
};

}  // namespace perfleet
