#include "storage/engine/rados/segment_writer.h"

#include <utility>

#include "storage/engine/rados/rados_limits.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kMadeChangeSizeBytesMax = 4U << 20;
constexpr std::size_t kMadeChangeKeysMax = 4'096;

}  // namespace

SegmentChange::SegmentChange(std::shared_ptr<const Segment> segment, const RadosHead& head, std::uint64_t lease)
    : segment_{std::move(segment)}, before_{head}, head_{head} {
    head_.lease = lease;
    ++head_.write_count;
}

void SegmentChange::enter(std::string_view key, const RadosEntry& entry) {
    std::string bytes = encode_entry(entry);
    head_.index_size_bytes += key.size() + bytes.size();
    entries_.insert_or_assign(std::string{key}, std::move(bytes));
}

void SegmentChange::put(std::string_view key, std::string_view value, bool is_new) {
    RadosEntry entry;
    entry.write_number = head_.write_count;
    IndexValue known;
    if (value.size() <= limits::kRadosInlineSizeBytesMax) {
        entry.type = RadosEntry::Type::kInline;
        entry.value = value;
        known.value = std::make_shared<const std::string>(value);
    } else {
        entry.type = RadosEntry::Type::kBody;
        entry.offset = head_.size_bytes;
        entry.size_bytes = value.size();
        known = {nullptr, segment_, entry.offset, entry.size_bytes};
        body_.append(value);
        head_.size_bytes += value.size();
    }
    head_.key_count += is_new ? 1 : 0;
    enter(key, entry);
    values_.insert_or_assign(std::string{key}, std::move(known));
}

void SegmentChange::remove(std::string_view key, bool is_only) {
    if (is_only) {
        removed_.emplace_back(key);
        return;
    }
    ++head_.key_count;
    enter(key, {RadosEntry::Type::kDeleted, head_.write_count, {}, 0, 0});
}

std::unique_ptr<RadosWrite> SegmentChange::begin_commit(RadosPool& pool, bool is_forced) const {
    const bool is_first = before_ == RadosHead{};
    return pool.begin_change(segment_->object,
                             {is_first ? std::nullopt : std::optional{encode_head(before_)}, encode_head(head_),
                              before_.size_bytes, body_, entries_, removed_, false, is_forced});
}

std::uint64_t body_size_of(const Changes& changes) {
    std::uint64_t sum = 0;
    for (const Changes::Put& put : changes.puts) {
        sum += put.value.size() <= limits::kRadosInlineSizeBytesMax ? 0 : put.value.size();
    }
    return sum;
}

SegmentMaker::SegmentMaker(RadosPool& pool, std::uint64_t lease, std::uint32_t order,
                           std::function<Result<std::string>()> enter)
    : pool_{pool}, lease_{lease}, order_{order}, enter_{std::move(enter)} {}

Result<Done> SegmentMaker::add(std::string_view key, std::string_view value) {
    const RadosHead& head = change_ != nullptr ? change_->head() : head_;
    const bool is_full = head.key_count >= limits::kRadosSegmentKeysMax ||
                         (head.size_bytes != 0 && head.size_bytes + value.size() > limits::kRadosSegmentSizeBytesMax);
    if (is_full || (change_ != nullptr && (change_->body_size_bytes() >= kMadeChangeSizeBytesMax ||
                                           change_->values().size() >= kMadeChangeKeysMax))) {
        PERFLEET_TRY(commit());
    }
    if (segments_.empty() || is_full) {
        auto object = PERFLEET_TRY(enter_());
        const auto part = static_cast<std::uint32_t>(segments_.size() + 1);
        segments_.push_back(std::make_shared<const Segment>(Segment{std::move(object), order_, part, true}));
        head_ = {};
    }
    if (change_ == nullptr) {
        change_ = std::make_unique<SegmentChange>(segments_.back(), head_, lease_);
    }
    change_->put(key, value, true);
    return Done{};
}

Result<Done> SegmentMaker::finish() { return commit(); }

Result<Done> SegmentMaker::commit() {
    if (change_ == nullptr) {
        return Done{};
    }
    auto committed = change_->begin_commit(pool_, false)->await();
    head_ = change_->head();
    values_.insert(change_->values().begin(), change_->values().end());
    change_ = nullptr;
    return committed;
}

}  // namespace perfleet
