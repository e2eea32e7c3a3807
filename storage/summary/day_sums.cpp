#include "storage/summary/day_sums.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

template <class Function>
void for_each_image(const EpochDictionary& dictionary, Function function) {
    for (std::uint32_t number = 0; number < dictionary.image_count(); ++number) {
        function(ImageNumber{number}, dictionary.image(ImageNumber{number}));
    }
}

}  // namespace

// Naming a module's frames needs its kernel, and a dictionary has only one.
bool DaySums::has_known_kernel() const {
    bool is_known = true;
    for_each_image(*dictionary_, [&](ImageNumber, const ImageDefinition& image) {
        is_known = is_known && (!is_kernel(image) || !kernel_ || *kernel_ == image);
    });
    return is_known;
}

void DaySums::begin(const Epoch& epoch) {
    if (hour_.rows.row_count != 0) {
        hours_.push_back(std::move(hour_));
    }
    dictionary_ = &epoch.dictionary;
    names_of_threads_ = &epoch.names;
    hour_ = {epoch.partition, {epoch.meaning.epoch, 0, {}}, epoch.meaning};
    known_.nodes.clear();
    known_.images.clear();
}

// Called when the hour is known to have rows.
bool DaySums::begin_hour() {
    if (hour_.rows.row_count != 0) {
        return true;
    }
    if (!has_known_kernel()) {
        return false;
    }
    ++hour_number_;
    remembered_ = {};
    known_.nodes.assign(dictionary_->stack_count(), kUnknown);
    known_.images.assign(dictionary_->image_count(), kUnknown);
    for_each_image(*dictionary_, [&](ImageNumber number, const ImageDefinition& image) {
        if (is_kernel(image) || is_kernel_module(image)) {
            static_cast<void>(image_of(number));
            kernel_ = is_kernel(image) ? image : kernel_;
        }
    });
    return true;
}

std::uint32_t DaySums::image_of(ImageNumber number) {
    std::uint32_t& here = number.value < known_.images.size() ? known_.images[number.value] : known_.lost_image;
    if (here == kUnknown) {
        const ImageDefinition& image = dictionary_->image(number);
        const auto [entry, is_new] = images_.try_emplace(image, static_cast<std::uint32_t>(images_.size()));
        if (is_new) {
            text_size_bytes_ += image.name.size() + image.build_id.size();
        }
        here = entry->second;
    }
    return here;
}

// Returns 1 + the node's index, or 0 for a chain without frames.
std::uint32_t DaySums::node_of(StackNumber number) {
    std::vector<StackNumber>& path = known_.path;
    path.clear();
    std::uint32_t here = 0;
    while (number != kEmptyStack) {
        if (number.value >= known_.nodes.size()) {
            known_.nodes.resize(std::size_t{number.value} + 1, kUnknown);
        }
        if (known_.nodes[number.value] != kUnknown) {
            here = known_.nodes[number.value];
            break;
        }
        path.push_back(number);
        number = caller_of(*dictionary_, number);
    }
    for (auto node = path.rbegin(); node != path.rend(); ++node) {
        const Frame& frame = dictionary_->stack(*node).frame;
        here = tree_.number_of(here, image_of(frame.image), frame.offset);
        known_.nodes[node->value] = here;
    }
    return here;
}

std::uint32_t DaySums::name_numbered(const std::string& text) {
    const auto [entry, is_new] = names_.try_emplace(text, static_cast<std::uint32_t>(names_.size()));
    text_size_bytes_ += is_new ? text.size() : 0;
    return entry->second;
}

DaySums::Sum& DaySums::add_sum(std::uint32_t name, std::uint32_t node, std::uint64_t row_count, std::uint64_t weight) {
    std::uint32_t& number = sum_numbers_[std::uint64_t{name} << 32U | node];
    if (number == 0) {
        sums_.push_back({name, node});
        number = static_cast<std::uint32_t>(sums_.size());
    }
    Sum& sum = sums_[number - 1];
    sum.row_count += row_count;
    sum.weight += weight;
    row_count_ += row_count;
    hour_.rows.row_count += row_count;
    return sum;
}

std::uint32_t DaySums::name_at(std::uint32_t tid, Ticks ticks) {
    Remembered& last = remembered_[tid % remembered_.size()];
    if (last.tid != tid || ticks < last.from || ticks >= last.until) {
        const ThreadNames::Span span = names_of_threads_->at(tid, ticks);
        last = {tid, span.from, span.until, name_numbered(names_of_threads_->text(span.name, tid))};
    }
    return last.name;
}

bool DaySums::add_rows(const DecodedRows& rows, std::size_t first, std::size_t last, Seq seq, bool is_next) {
    if (!begin_hour()) {
        return false;
    }
    const auto times = rows.integers(ColumnId::kTime);
    const auto tids = rows.integers(ColumnId::kTid);
    const auto stacks = rows.integers(ColumnId::kStack);
    const auto weights = rows.integers(ColumnId::kWeight);
    for (std::size_t row = first; row < last; ++row) {
        const Ticks ticks{times[row]};
        first_ticks_ = std::min(first_ticks_, ticks);
        last_ticks_ = std::max(last_ticks_, ticks);
        const StackNumber stack{static_cast<std::uint32_t>(stacks[row])};
        Sum& sum = add_sum(name_at(static_cast<std::uint32_t>(tids[row]), ticks), node_of(stack), 1, weights[row]);
        weights_.add(weights[row], 1);
        hour_sum_count_ += std::exchange(sum.last_hour, hour_number_) == hour_number_ ? 0 : 1;
    }
    hour_.rows.add_seq(seq, is_next);
    return true;
}

// An upper bound, from the largest encoding of each column.
std::size_t DaySums::size_bytes_max() const {
    constexpr std::size_t kNodeSizeBytes = 14;  // callers ascend, so their differences are small
    constexpr std::size_t kSumSizeBytes = 12;
    constexpr std::size_t kImageSizeBytes = 32;
    constexpr std::size_t kColumnsSizeBytes = 168;  // headers of the columns, and sums of 128 bits
    constexpr std::size_t kRangeSizeBytes = 8;
    std::size_t range_count = 8 * hours_.size() + hour_.rows.seqs.size() + hour_.meaning.seqs.size() + 8;
    for (const DayHour& hour : hours_) {
        range_count += hour.rows.seqs.size() + hour.meaning.seqs.size();
    }
    return text_size_bytes_ + node_count() * kNodeSizeBytes + (sums_.size() + names_.size()) * kSumSizeBytes +
           images_.size() * kImageSizeBytes + kColumnsSizeBytes + range_count * kRangeSizeBytes;
}

// Ranks level by level, callers first, so that callees of one caller are neighbours.
std::vector<std::uint32_t> DaySums::node_ranks(const std::vector<std::uint32_t>& image_ranks) const {
    const std::vector<FrameTree::Node>& nodes = tree_.nodes();
    std::vector<std::uint32_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return nodes[a].depth < nodes[b].depth; });
    std::vector<std::uint32_t> ranks(nodes.size() + 1);
    std::uint32_t last = 0;
    for (auto level = order.begin(); level != order.end();) {
        const std::uint32_t depth = nodes[*level].depth;
        const auto end =
            std::find_if(level, order.end(), [&](std::uint32_t index) { return nodes[index].depth != depth; });
        const auto place = [&](std::uint32_t index) {
            const FrameTree::Node& node = nodes[index];
            return std::tuple{ranks[node.parent], image_ranks[node.image], node.offset};
        };
        std::sort(level, end, [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
        for (; level != end; ++level) {
            ranks[std::size_t{*level} + 1] = ++last;
        }
    }
    return ranks;
}

DaySummary DaySums::summary() const {
    DaySummary made;
    made.row_count = row_count_;
    made.first_ticks = first_ticks_;
    made.last_ticks = last_ticks_;
    made.weights = weights_;
    made.hours = hours_;
    if (hour_.rows.row_count != 0) {
        made.hours.push_back(hour_);
    }
    for (DayHour& hour : made.hours) {
        std::sort(hour.rows.seqs.begin(), hour.rows.seqs.end(),
                  [](const SeqRange& a, const SeqRange& b) { return a.first < b.first; });
    }
    std::vector<std::uint32_t> image_ranks(images_.size());
    for (const auto& [image, number] : images_) {
        image_ranks[number] = static_cast<std::uint32_t>(made.images.size());
        made.images.push_back(image);
    }
    const std::vector<std::uint32_t> ranks = node_ranks(image_ranks);
    const std::vector<FrameTree::Node>& nodes = tree_.nodes();
    made.nodes.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        made.nodes[ranks[i + 1] - 1] = {ranks[nodes[i].parent], image_ranks[nodes[i].image], nodes[i].offset};
    }
    std::vector<std::uint32_t> name_ranks(names_.size());
    for (const auto& [text, number] : names_) {
        name_ranks[number] = static_cast<std::uint32_t>(made.names.size());
        made.names.push_back({text, 0});
    }
    std::vector<Sum> sums = sums_;
    for (Sum& sum : sums) {
        sum.name = name_ranks[sum.name];
        sum.node = ranks[sum.node];
    }
    std::sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) {
        return std::pair{a.name, a.node} < std::pair{b.name, b.node};
    });
    for (const Sum& sum : sums) {
        made.sums.push_back({StackNumber{sum.node}, sum.row_count, sum.weight});
        made.names[sum.name].sums_end = static_cast<std::uint32_t>(made.sums.size());
    }
    return made;
}

void DaySums::clear() { *this = DaySums{}; }

}  // namespace perfleet
