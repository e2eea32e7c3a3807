// Writes segments: one change of a segment, and new segments of many values.
//
// Threads: one at a time. Errors: those of the pool's changes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/engine.h"
#include "storage/engine/rados/rados_reads.h"

namespace perfleet {

// Short values go into the index, others into the body.
class SegmentChange {
public:
    // `head` is the segment's present head; RadosHead{} if it isn't written yet.
    SegmentChange(std::shared_ptr<const Segment> segment, const RadosHead& head, std::uint64_t lease);

    void put(std::string_view key, std::string_view value, bool is_new);  // `is_new`: adds a key to the index
    // `is_only`: no other segment may have the key.
    void remove(std::string_view key, bool is_only);
    [[nodiscard]] std::unique_ptr<RadosWrite> begin_commit(RadosPool& pool, bool is_forced) const;

    [[nodiscard]] const RadosHead& head() const { return head_; }  // after begin_commit()
    [[nodiscard]] const DomainIndex& values() const { return values_; }
    [[nodiscard]] std::uint64_t body_size_bytes() const { return body_.size(); }

private:
    void enter(std::string_view key, const RadosEntry& entry);

    std::shared_ptr<const Segment> segment_;
    RadosHead before_;
    RadosHead head_;
    std::string body_;
    std::map<std::string, std::string> entries_;
    std::vector<std::string> removed_;
    DomainIndex values_;
};

[[nodiscard]] std::uint64_t body_size_of(const Changes& changes);

// Makes sealed segments of one order, each as large as possible.
class SegmentMaker {
public:
    // `enter` returns the name of a new object, after it has listed it as unused.
    SegmentMaker(RadosPool& pool, std::uint64_t lease, std::uint32_t order, std::function<Result<std::string>()> enter);

    [[nodiscard]] Result<Done> add(std::string_view key, std::string_view value);  // ascending by key
    [[nodiscard]] Result<Done> finish();

    [[nodiscard]] const SegmentList& segments() const { return segments_; }
    [[nodiscard]] const DomainIndex& values() const { return values_; }

private:
    [[nodiscard]] Result<Done> commit();

    RadosPool& pool_;
    std::uint64_t lease_;
    std::uint32_t order_;
    std::function<Result<std::string>()> enter_;
    SegmentList segments_;
    RadosHead head_;  // of the last one
    std::unique_ptr<SegmentChange> change_;
    DomainIndex values_;
};

}  // namespace perfleet
