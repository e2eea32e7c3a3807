#include "storage/engine/rados/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "schemas/vocabulary/host_clock.h"
#include "storage/engine/rados/lease.h"

namespace perfleet {
namespace {

constexpr std::chrono::seconds kBeatInterval{1};
constexpr std::uint64_t kCountedLookNs = 900'000'000;  // at least between two looks that count

std::string new_name() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

Membership::Membership(RadosPool& pool, ShardCount shards, const GatewayAddress& own, bool is_alone)
    : pool_{pool}, shards_{shards}, is_alone_{is_alone} {
    own_.name = new_name();
    own_.is_alone = is_alone;
    own_.address = own;
}

Result<std::unique_ptr<Membership>> Membership::join(RadosPool& pool, ShardCount shards, const GatewayAddress& own,
                                                     bool is_alone) {
    std::unique_ptr<Membership> member{new Membership{pool, shards, own, is_alone}};
    PERFLEET_TRY(member->begin());
    return member;
}

Result<Done> Membership::begin() {
    auto table = read_gateways(pool_);
    if (!table.ok()) {
        return table.error();
    }
    for (const GatewayEntry& former : *table) {
        // This one, before it was killed: nobody else can listen there.
        if (!own_.address.endpoint.empty() && former.address.endpoint == own_.address.endpoint) {
            PERFLEET_TRY(remove_gateway(pool_, former.name));
        }
    }
    std::vector<GatewayEntry> hindering = *table;
    std::erase_if(hindering, [this](const GatewayEntry& other) { return !is_alone_ && !other.is_alone; });
    PERFLEET_TRY(await_end(std::move(hindering)));
    PERFLEET_TRY(beat());
    table = read_gateways(pool_);
    if (!table.ok()) {
        return table.error();
    }
    beating_ = std::thread{[this] { run_beats(); }};
    const bool is_first = table->size() == 1;
    for (std::uint16_t shard = 0; (is_alone_ || is_first) && shard < shards_.value; ++shard) {
        // Several may begin at the same time: who gets what is then seen in the table.
        if (auto taken = take(shard); !taken.ok() && (is_alone_ || taken.error().code != ErrorCode::kBusy)) {
            return taken;
        }
    }
    if (!is_alone_) {
        taking_ = std::thread{[this] { run_takes(); }};
    }
    return Done{};
}

// Until they are known to be dead; their entries go.
Result<Done> Membership::await_end(std::vector<GatewayEntry> others) {
    GatewayBeats beats;
    beats.see(others, true);
    while (std::any_of(others.begin(), others.end(), [&](const auto& one) { return beats.is_alive(one.name); })) {
        std::this_thread::sleep_for(kBeatInterval);
        auto table = PERFLEET_TRY(read_gateways(pool_));
        for (const GatewayEntry& now : table) {
            const auto before = std::find_if(others.begin(), others.end(),
                                             [&](const GatewayEntry& one) { return one.name == now.name; });
            if (before != others.end() && before->beat != now.beat) {
                return Error{ErrorCode::kBusy,
                             pool_.where() + ": " +
                                 (now.is_alone ? "another process writes there" : "a gateway writes there") +
                                 (now.address.endpoint.empty() ? "" : " (" + now.address.endpoint + ")")};
            }
        }
        beats.see(table, true);
    }
    for (const GatewayEntry& dead : others) {
        PERFLEET_TRY(remove_gateway(pool_, dead.name));
    }
    return Done{};
}

Membership::~Membership() {
    {
        const std::lock_guard lock{mutex_};
        is_stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread* thread : {&beating_, &taking_}) {
        if (thread->joinable()) {
            thread->join();
        }
    }
    (void)remove_gateway(pool_, own_.name);  // otherwise the others see that it doesn't beat any more
}

Result<Done> Membership::beat() {
    GatewayEntry own;
    {
        const std::lock_guard lock{mutex_};
        ++own_.beat;
        own = own_;
    }
    return write_gateway(pool_, own);
}

void Membership::run_beats() {
    for (;;) {
        {
            std::unique_lock lock{mutex_};
            changed_.wait_for(lock, kBeatInterval, [this] { return is_stopping_ || is_beat_due_; });
            if (is_stopping_) {
                return;
            }
            is_beat_due_ = false;
        }
        if (beat().ok()) {
            look();
        }
    }
}

void Membership::look() {
    auto table = read_gateways(pool_);
    if (!table.ok()) {
        return;
    }
    std::vector<std::string> forgotten;
    {
        const std::lock_guard lock{mutex_};
        const std::uint64_t now_ns = monotonic_now_ns();
        const bool is_counted = now_ns - counted_look_ns_ >= kCountedLookNs;
        counted_look_ns_ = is_counted ? now_ns : counted_look_ns_;
        beats_.see(*table, is_counted);
        others_.clear();
        for (GatewayEntry& entry : *table) {
            if (entry.name == own_.name) {
                continue;
            }
            if (beats_.is_forgotten(entry.name)) {
                forgotten.push_back(entry.name);
            }
            if (beats_.is_alive(entry.name)) {
                others_.push_back(std::move(entry));
            }
        }
        if (is_alone_) {
            return;
        }
        std::vector<GatewayEntry> alive = others_;
        alive.push_back(own_);
        for (const GatewayEntry& other : others_) {
            for (const auto& [shard, lease] : other.leases) {
                if (const auto held = own_.leases.find(shard); held != own_.leases.end() && held->second < lease) {
                    news_.lost.push_back(shard);
                }
            }
        }
        ShardPlan plan = plan_shards(own_.name, alive, shards_.value);
        news_.surplus = std::move(plan.give_up);
        to_take_ = std::move(plan.take);
    }
    changed_.notify_all();
    for (const std::string& name : forgotten) {
        (void)remove_gateway(pool_, name);
    }
}

void Membership::run_takes() {
    for (;;) {
        std::uint16_t shard = 0;
        {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [this] { return is_stopping_ || !to_take_.empty(); });
            if (is_stopping_) {
                return;
            }
            shard = to_take_.front();
            to_take_.erase(to_take_.begin());
            if (own_.leases.contains(shard)) {
                continue;
            }
        }
        (void)take(shard);  // if it can't be had now, the next look says whether it is still free
    }
}

Result<Done> Membership::take(std::uint16_t shard) {
    auto directory = PERFLEET_TRY(take_directory(pool_, shard));
    const std::lock_guard lock{mutex_};
    own_.leases[shard] = directory.head.lease;
    news_.taken.emplace_back(shard, std::move(directory));
    is_beat_due_ = true;  // so that the others know
    changed_.notify_all();
    return Done{};
}

Membership::News Membership::take_news() {
    const std::lock_guard lock{mutex_};
    std::erase_if(news_.surplus, [this](std::uint16_t shard) { return !own_.leases.contains(shard); });
    return std::exchange(news_, News{});
}

void Membership::let_go(std::uint16_t shard) {
    {
        const std::lock_guard lock{mutex_};
        own_.leases.erase(shard);
        std::erase_if(news_.taken, [&](const auto& one) { return one.first == shard; });
        std::erase(news_.surplus, shard);
        is_beat_due_ = true;
    }
    changed_.notify_all();
}

std::optional<GatewayAddress> Membership::holder_of(std::uint16_t shard) const {
    const std::lock_guard lock{mutex_};
    const GatewayEntry* holder = nullptr;
    for (const GatewayEntry& other : others_) {
        if (other.leases.contains(shard) && beats_.is_fresh(other.name) &&
            (holder == nullptr || holder->leases.at(shard) < other.leases.at(shard))) {
            holder = &other;
        }
    }
    return holder != nullptr ? std::optional{holder->address} : std::nullopt;
}

}  // namespace perfleet
