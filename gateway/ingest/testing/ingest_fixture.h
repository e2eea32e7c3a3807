// An Ingest over a memory store, with a link that records replies and a clock that the test moves. For tests:
// impossible states stop them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/admission/testing/sample_messages.h"
#include "gateway/ingest/ingest.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/wire/delivery_limits.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet {

inline constexpr std::int64_t kSampleUtcNs = 1'700'003'600'000'000'000;
inline constexpr BucketNumber kSampleBucket = bucket_of(UtcNs{kSampleUtcNs});

// `row_count` samples at ticks that follow from the seq, and the entry of all rows up to this batch.
inline SampleBatch sample_batch(TargetId target, SessionId session, Seq seq, std::uint64_t row_count = 2,
                                BucketNumber bucket = kSampleBucket) {
    SampleBatch batch{target, session, seq, EpochNumber{0}, bucket};
    std::vector<std::uint64_t> ticks;
    for (std::uint64_t row = 0; row < row_count; ++row) {
        ticks.push_back(seq.value * 1'000 + row);
    }
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, ticks}});
    batch.entry({Kind::kSample, EventNumber{0}}, CountName::kProduced, seq.value * row_count);
    return batch;
}

class RecordingLink final : public PeerLink {
public:
    void send(std::string_view routing_id, std::span<const std::byte> frame) override {
        replies.emplace_back(routing_id, sample::read_reply(frame));
    }

    void cut(std::string_view routing_id) override { cut_off.emplace_back(routing_id); }

    std::vector<std::pair<std::string, sample::Reply>> replies;
    std::vector<std::string> cut_off;
};

class IngestFixture {
public:
    static constexpr TargetId kTarget{5};
    static constexpr SessionId kSession{11, 12};

    IngestFixture() : store_{make_memory_store()} { open(); }

    // A gateway that starts anew over the same store.
    void open(Store* store = nullptr, Ingest::Options options = {}) {
        options.incarnation = ++incarnation_;
        options.grant_session = [this] { return SessionId{99, ++granted_}; };
        options.log = [this](std::string_view text) { logged_.emplace_back(text); };
        auto ingest = Ingest::open(std::move(options), store == nullptr ? *store_ : *store, link_);
        PERFLEET_ASSERT(ingest.ok());
        ingest_ = std::move(*ingest);
        pass(0);  // starts the rounds
    }

    void take(std::string_view routing_id, const sample::Frame& frame) { ingest_->take(routing_id, frame, now_); }

    void say_hello(std::string_view routing_id = "peer", Seq oldest_retained = Seq{1}) {
        take(routing_id, sample::hello(sample_session(kTarget, kSession), oldest_retained));
    }

    void send_batch(std::uint64_t seq, std::string_view routing_id = "peer") {
        take(routing_id, sample::batch(sample_batch(kTarget, kSession, Seq{seq}).build()));
    }

    // Lets time pass and does what is due.
    void pass(std::uint64_t ns) {
        now_.monotonic_ns += ns;
        now_.utc.value += static_cast<std::int64_t>(ns);
        auto done = ingest_->tick(now_);
        PERFLEET_ASSERT(done.ok());
    }

    void commit() { pass(limits::kGroupCommitNs); }

    // Replies since the last call.
    std::vector<sample::Reply> replies(std::string_view routing_id = "peer") {
        std::vector<sample::Reply> taken;
        std::vector<std::pair<std::string, sample::Reply>> others;
        for (auto& [id, reply] : link_.replies) {
            if (id == routing_id) {
                taken.push_back(std::move(reply));
            } else {
                others.emplace_back(id, std::move(reply));
            }
        }
        link_.replies = std::move(others);
        return taken;
    }

    // The only reply.
    sample::Reply reply(std::string_view routing_id = "peer") {
        const auto all = replies(routing_id);
        PERFLEET_ASSERT(all.size() == 1);
        return all.front();
    }

    [[nodiscard]] std::vector<std::uint64_t> stored_seqs(BucketNumber bucket = kSampleBucket) const {
        std::vector<std::uint64_t> seqs;
        auto visited =
            store_->visit_batches(partition_of(kTarget, bucket), kTarget, kSession, [&](const BatchRecord& record) {
                seqs.push_back(record.seq.value);
                return Visit::kContinue;
            });
        PERFLEET_ASSERT(visited.ok());
        return seqs;
    }

    std::unique_ptr<Store> store_;
    RecordingLink link_;
    std::unique_ptr<Ingest> ingest_;
    Ingest::Now now_{1'000'000'000'000, UtcNs{kSampleUtcNs}};
    std::vector<std::string> logged_;
    std::uint64_t incarnation_ = 0;
    std::uint64_t granted_ = 0;
};

}  // namespace perfleet
