// Sums the rows of a day, epoch by epoch, by the meaning of their numbers.
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/dictionary/epoch_dictionary.h"
#include "storage/dictionary/frame_tree.h"
#include "storage/dictionary/thread_names.h"
#include "storage/model/keys.h"
#include "storage/model/row_cover.h"
#include "storage/number/flat_table.h"
#include "storage/summary/day_summary.h"

namespace perfleet {

class DaySums {
public:
    static constexpr std::array kColumns{ColumnId::kTime, ColumnId::kTid, ColumnId::kStack, ColumnId::kWeight};

    // An epoch in one partition.
    struct Epoch {
        Partition partition;
        RowCover meaning;  // DayHour::meaning
        const EpochDictionary& dictionary;
        const ThreadNames& names;
    };

    // Begins an epoch, which must be later than all before. Borrows it until the next one begins.
    void begin(const Epoch& epoch);
    // Adds rows [first, last) of a batch of the current epoch; kColumns are decoded. `is_next`: as for
    // RowCover::add_seq. Returns false and adds nothing if the epoch has another kernel than before: names of frames in
    // its modules would be ambiguous.
    [[nodiscard]] bool add_rows(const DecodedRows& rows, std::size_t first, std::size_t last, Seq seq, bool is_next);

    [[nodiscard]] std::size_t hour_count() const { return hours_.size() + (hour_.rows.row_count != 0 ? 1 : 0); }
    // Ranges of seqs of the current epoch.
    [[nodiscard]] std::size_t range_count() const { return hour_.rows.seqs.size(); }
    [[nodiscard]] std::size_t sum_count() const { return sums_.size(); }
    [[nodiscard]] std::size_t node_count() const { return tree_.nodes().size(); }
    [[nodiscard]] std::size_t image_count() const { return images_.size(); }
    // How many sums the epochs would have in total if each were summed alone.
    [[nodiscard]] std::uint64_t hour_sum_count() const { return hour_sum_count_; }
    // Upper bound of the encoded size.
    [[nodiscard]] std::size_t size_bytes_max() const;

    // The summary, in the order of the format.
    [[nodiscard]] DaySummary summary() const;
    void clear();

private:
    struct Sum {
        std::uint32_t name = 0;  // its index
        std::uint32_t node = 0;  // 1 + its index, 0: no frames
        std::uint64_t row_count = 0;
        std::uint64_t weight = 0;
        std::uint32_t last_hour = 0;  // number of the last hour that added rows
    };
    // A cache by tid: a thread's name, and the ticks for which it holds.
    struct Remembered {
        std::uint32_t tid = 0;
        Ticks from{1};
        Ticks until{0};
        std::uint32_t name = 0;
    };
    static constexpr std::uint32_t kUnknown = ~0U;
    // Maps an epoch's numbers to numbers here; kUnknown: not mapped yet.
    struct Translation {
        std::vector<std::uint32_t> nodes;
        std::vector<std::uint32_t> images;
        std::uint32_t lost_image = kUnknown;
        std::vector<StackNumber> path;  // of the current chain
    };

    [[nodiscard]] bool has_known_kernel() const;
    [[nodiscard]] bool begin_hour();
    [[nodiscard]] std::uint32_t image_of(ImageNumber number);
    [[nodiscard]] std::uint32_t node_of(StackNumber number);
    [[nodiscard]] std::uint32_t name_numbered(const std::string& text);
    Sum& add_sum(std::uint32_t name, std::uint32_t node, std::uint64_t row_count, std::uint64_t weight);
    [[nodiscard]] std::uint32_t name_at(std::uint32_t tid, Ticks ticks);
    // By 1 + index: 1 + rank; 0 maps to 0.
    [[nodiscard]] std::vector<std::uint32_t> node_ranks(const std::vector<std::uint32_t>& image_ranks) const;

    const EpochDictionary* dictionary_ = nullptr;  // of the current epoch, as the following
    const ThreadNames* names_of_threads_ = nullptr;
    DayHour hour_;
    Translation known_;
    std::array<Remembered, 256> remembered_{};
    std::uint32_t hour_number_ = 0;

    std::vector<DayHour> hours_;  // of earlier epochs
    std::uint64_t row_count_ = 0;
    Ticks first_ticks_{~0ULL};
    Ticks last_ticks_{0};
    WeightTotal weights_;
    std::uint64_t hour_sum_count_ = 0;
    std::optional<ImageDefinition> kernel_;
    std::map<ImageDefinition, std::uint32_t> images_;  // numbers, in order of insertion
    std::size_t text_size_bytes_ = 0;                  // of images and names
    FrameTree tree_;
    std::map<std::string, std::uint32_t> names_;
    std::vector<Sum> sums_;
    FlatTable<std::uint32_t> sum_numbers_;  // by (name, node): 1 + the sum's index
};

}  // namespace perfleet
