// A network that loses, doubles and breaks, and a gateway behind it that keeps what it stores: for tests that count
// every row independently.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "target-collector/wire/delivery.h"
#include "target-collector/wire/driver.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::simulation {

using wire_layout::MessageTag;

inline constexpr Series kSamples{Kind::kSample, EventNumber{0}};
inline constexpr Series kStacks{Kind::kStack, kNoEvent};
inline constexpr SessionId kSession{0xabcd, 0x1234};
inline constexpr std::uint64_t kMs = 1'000'000;

class Chance {
public:
    explicit Chance(std::uint64_t seed) : random_{seed} {}
    bool one_in(std::uint64_t n) { return random_() % n == 0; }
    std::uint64_t below(std::uint64_t n) { return random_() % n; }

private:
    std::mt19937_64 random_;
};

// Frames under way, in order; a break loses them all. It copies a frame at once, or borrows it for some turns.
class Network final : public NetworkDriver {
public:
    explicit Network(Chance& chance, bool borrows = false) : chance_{chance}, borrows_{borrows} {}

    bool send(std::span<const std::byte> frame) override {
        EXPECT_TRUE(borrowed_.empty()) << "one frame at a time";
        if (!is_up || to_gateway.size() >= 20) {
            return false;
        }
        if (borrows_) {
            borrowed_ = frame;
            as_handed_over_.assign(frame.begin(), frame.end());
        } else {
            pass({frame.begin(), frame.end()}, to_gateway, true);
        }
        return true;
    }
    std::span<const std::byte> borrowed() const override { return borrowed_; }
    // Sends some of the borrowed bytes.
    void move() {
        if (!borrowed_.empty() && (is_calm || chance_.one_in(3))) {
            EXPECT_TRUE(std::equal(borrowed_.begin(), borrowed_.end(), as_handed_over_.begin()))
                << "a frame was changed while it was sent";
            borrowed_ = {};
            pass(as_handed_over_, to_gateway, true);
        }
    }
    Checked<std::size_t> receive(std::span<std::byte> into) override {
        if (to_collector.empty()) {
            return std::size_t{0};
        }
        const Frame frame = to_collector.front();
        to_collector.pop_front();
        EXPECT_LE(frame.size(), into.size());
        std::copy(frame.begin(), frame.end(), into.begin());
        return frame.size();
    }
    bool reconnected() override { return std::exchange(was_made_, false); }

    void answer(Frame frame, bool may_be_lost = true) {
        if (is_up) {
            pass(std::move(frame), to_collector, may_be_lost);
        }
    }
    void break_down() {
        is_up = false;
        borrowed_ = {};
        to_gateway.clear();
        to_collector.clear();
    }
    void come_back() {
        is_up = true;
        was_made_ = true;
    }

    bool is_up = false;
    bool is_calm = false;
    std::deque<Frame> to_gateway;
    std::deque<Frame> to_collector;

private:
    void pass(Frame frame, std::deque<Frame>& queue, bool may_be_lost) {
        if (may_be_lost && !is_calm && chance_.one_in(15)) {
            return;
        }
        queue.push_back(frame);
        if (!is_calm && chance_.one_in(15)) {
            queue.push_back(std::move(frame));
        }
    }

    Chance& chance_;
    bool borrows_;
    std::span<const std::byte> borrowed_;
    Frame as_handed_over_;
    bool was_made_ = false;
};

class Gateway {
public:
    Gateway(Network& network, Chance& chance) : network_{network}, chance_{chance} {}

    void take_all() {
        while (!network_.to_gateway.empty()) {
            const SeenFrame seen = see_frame(network_.to_gateway.front());
            network_.to_gateway.pop_front();
            EXPECT_EQ(seen.session, kSession);
            if (seen.tag == MessageTag::kHello) {
                knows_peer_ = true;
                gathered_oldest_ = std::max(gathered_oldest_, seen.oldest_retained);
                for (const Seq seq : refused) {
                    network_.answer(make_refused(kSession, seq, 1, ""), false);
                }
                network_.answer(make_welcome({kSession, incarnation_, prefix(), send_limit(), UtcNs{1}}));
            } else if (!knows_peer_) {
                network_.answer(make_hello_again(incarnation_));
            } else if (seen.tag == MessageTag::kBatch) {
                take(seen);
            } else if (seen.tag == MessageTag::kBye) {
                gathered_bye_.push_back(seen);
            }
        }
    }

    void commit() {
        for (const SeenFrame& batch : gathered_) {
            const auto [found, is_new] = stored.emplace(batch.seq, batch);
            EXPECT_TRUE(is_new || found->second.seal == batch.seal) << "one seq, two contents";
        }
        gathered_.clear();
        oldest_ = std::max(oldest_, gathered_oldest_);
        if (!gathered_bye_.empty()) {
            bye = std::make_unique<SeenFrame>(gathered_bye_.back());
            gathered_bye_.clear();
        }
        while (is_resolved(Seq{prefix_.value + 1})) {
            ++prefix_.value;
        }
        acknowledge();
    }

    void acknowledge() {
        if (knows_peer_) {
            network_.answer(make_ack({kSession, incarnation_, prefix(), send_limit(), bye != nullptr}));
        }
    }

    void crash() {
        gathered_.clear();
        gathered_bye_.clear();
        gathered_oldest_ = oldest_;
        ++incarnation_;
        knows_peer_ = false;
        window_ = 1 + chance_.below(64);
        network_.break_down();
    }

    void forget_peer() { knows_peer_ = false; }

    std::map<Seq, SeenFrame> stored;
    std::set<Seq> refused;
    std::unique_ptr<SeenFrame> bye;

private:
    void take(const SeenFrame& batch) {
        gathered_oldest_ = std::max(gathered_oldest_, batch.oldest_retained);
        if (batch.seq <= prefix_ || stored.contains(batch.seq)) {
            return;
        }
        if (batch.seq.value * 2'654'435'761 % 40 == 0) {
            refused.insert(batch.seq);
            network_.answer(make_refused(kSession, batch.seq, 1, "never"), false);
            return;
        }
        gathered_.push_back(batch);
    }

    [[nodiscard]] bool is_resolved(Seq seq) const {
        return seq < oldest_ || stored.contains(seq) || refused.contains(seq);
    }
    [[nodiscard]] Seq prefix() const { return prefix_; }
    [[nodiscard]] Seq send_limit() const { return Seq{prefix_.value + window_}; }

    Network& network_;
    Chance& chance_;
    std::uint64_t incarnation_ = 1;
    std::uint64_t window_ = 64;
    bool knows_peer_ = false;
    Seq prefix_;
    Seq oldest_;
    Seq gathered_oldest_;
    std::vector<SeenFrame> gathered_;
    std::vector<SeenFrame> gathered_bye_;
};

inline bool is_named(const std::vector<SeqRange>& ranges, Seq seq) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const SeqRange& range) { return range.first <= seq && seq <= range.last; });
}

struct Produced {
    std::map<Series, std::uint64_t> rows;
    std::uint64_t kernel_losses = 0;
};

inline void check(const Gateway& gateway, const Produced& produced, const Delivery::Status& status) {
    const SeenFrame& bye = *gateway.bye;
    EXPECT_EQ(bye.seq, status.last_sealed);
    std::vector<SeqRange> named = bye.dropped;
    for (const auto& [seq, batch] : gateway.stored) {
        named.insert(named.end(), batch.dropped.begin(), batch.dropped.end());
    }
    for (Seq seq{1}; seq <= bye.seq; ++seq.value) {
        EXPECT_TRUE(gateway.stored.contains(seq) || gateway.refused.contains(seq) || is_named(named, seq))
            << "batch " << seq.value << " is gone without a word";
    }
    for (const auto& [series, rows] : produced.rows) {
        std::uint64_t stored = 0;
        std::uint64_t held_in_named = 0;
        for (const auto& [seq, batch] : gateway.stored) {
            const auto found = batch.rows.find(series);
            const std::uint64_t count = found == batch.rows.end() ? 0 : found->second;
            stored += count;
            held_in_named += is_named(named, seq) ? count : 0;
        }
        std::uint64_t lost = 0;
        for (const CountEntry& entry : bye.counts) {
            lost += entry.series == series && is_loss(entry.name) ? entry.value : 0;
        }
        const std::uint64_t kernel = series == kSamples ? produced.kernel_losses : 0;
        EXPECT_EQ(bye.entry(series, CountName::kLostKernelRing), kernel);
        EXPECT_EQ(bye.entry(series, CountName::kProduced), rows + kernel);
        EXPECT_EQ(stored + lost - held_in_named, rows + kernel);
    }
    // The counts of each stored batch count the rows of all batches up to it.
    const SeenFrame* before = nullptr;
    for (const auto& [seq, batch] : gateway.stored) {
        if (before != nullptr && before->seq.value + 1 == seq.value) {
            for (const auto& [series, rows] : produced.rows) {
                const auto own_losses = [of = series](const SeenFrame& frame) {
                    return frame.entry(of, CountName::kLostRingFull) + frame.entry(of, CountName::kLostKernelRing);
                };
                const auto found = batch.rows.find(series);
                EXPECT_EQ(batch.entry(series, CountName::kProduced) - before->entry(series, CountName::kProduced),
                          (found == batch.rows.end() ? 0 : found->second) + own_losses(batch) - own_losses(*before));
            }
        }
        before = &batch;
    }
}

}  // namespace perfleet::simulation
