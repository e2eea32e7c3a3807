#include "storage/engine/rados/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "schemas/host/host_clock.h"
#include "storage/engine/rados/lease.h"
#include "storage/engine/request_box.h"

namespace perfleet {
namespace {

constexpr std::chrono::seconds kLookInterval{1};
constexpr int kLooksOfABeat = 2;  // looks per beat: a beat is written to three disks, a look reads one
constexpr std::uint64_t kCountedLookNs = 900'000'000;  // shortest time between two looks that count

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
    const auto table = PERFLEET_TRY(read_gateway_table(pool_));
    for (const GatewayEntry& former : table.gateways) {
        // An earlier run of this gateway that was killed: no other process can listen at its endpoint.
        if (!own_.address.endpoint.empty() && former.address.endpoint == own_.address.endpoint) {
            PERFLEET_TRY(remove(former.name));
        }
    }
    std::vector<GatewayEntry> hindering = table.gateways;
    std::erase_if(hindering, [this](const GatewayEntry& other) { return !is_alone_ && !other.is_alone; });
    PERFLEET_TRY(await_end(std::move(hindering)));
    PERFLEET_TRY(beat());
    const auto with_own = PERFLEET_TRY(read_gateway_table(pool_));
    beating_ = std::thread{[this] { run_beats(); }};
    const bool is_first = with_own.gateways.size() == 1;
    for (std::uint16_t shard = 0; (is_alone_ || is_first) && shard < shards_.value; ++shard) {
        // Several gateways may begin at the same time; the table then shows which one got the shard.
        if (auto taken = take(shard); !taken.ok() && (is_alone_ || taken.error().code != ErrorCode::kBusy)) {
            return taken;
        }
    }
    if (!is_alone_) {
        taking_ = std::thread{[this] { run_takes(); }};
    }
    return Done{};
}

// Waits until the others are known to be dead, and removes their entries.
Result<Done> Membership::await_end(std::vector<GatewayEntry> others) {
    GatewayBeats beats;
    beats.see(others, true);
    while (std::any_of(others.begin(), others.end(), [&](const auto& one) { return beats.is_alive(one.name); })) {
        std::this_thread::sleep_for(kLookInterval);
        const auto table = PERFLEET_TRY(read_gateway_table(pool_));
        for (const GatewayEntry& now : table.gateways) {
            const auto before = std::find_if(others.begin(), others.end(),
                                             [&](const GatewayEntry& one) { return one.name == now.name; });
            if (before != others.end() && before->beat != now.beat) {
                return Error{ErrorCode::kBusy,
                             pool_.where() + ": " +
                                 (now.is_alone ? "another process writes there" : "a gateway writes there") +
                                 (now.address.endpoint.empty() ? "" : " (" + now.address.endpoint + ")")};
            }
        }
        beats.see(table.gateways, true);
    }
    for (const GatewayEntry& dead : others) {
        PERFLEET_TRY(remove(dead.name));
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
    (void)remove(own_.name);  // if it fails, the others notice that the beat stopped
}

Result<Done> Membership::remove(const std::string& name) {
    GatewayTableChange change;
    change.removed_gateways.push_back(name);
    return change_gateway_table(pool_, change);
}

Result<Done> Membership::beat() {
    GatewayTableChange change;
    {
        const std::lock_guard lock{mutex_};
        ++own_.beat;
        change = due_;
        change.gateways.push_back(own_);
    }
    PERFLEET_TRY(change_gateway_table(pool_, change));
    const std::lock_guard lock{mutex_};
    const auto drop_first = [](auto& from, std::size_t count) {
        from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
    };
    drop_first(due_.answers, change.answers.size());
    drop_first(due_.removed_requests, change.removed_requests.size());
    drop_first(due_.removed_answers, change.removed_answers.size());
    return Done{};
}

void Membership::run_beats() {
    bool has_beaten = true;  // without a beat, as on a full cluster, it doesn't judge others
    for (int looks = 1;; ++looks) {
        bool is_due = false;
        {
            std::unique_lock lock{mutex_};
            changed_.wait_for(lock, kLookInterval, [this] { return is_stopping_ || is_beat_due_; });
            if (is_stopping_) {
                return;
            }
            is_due = std::exchange(is_beat_due_, false) || looks >= kLooksOfABeat || !has_beaten;
        }
        if (is_due) {
            has_beaten = beat().ok();
            looks = 0;
        }
        if (has_beaten) {
            look();
        }
    }
}

void Membership::look() {
    auto table = read_gateway_table(pool_);
    if (!table.ok()) {
        return;
    }
    std::vector<std::string> forgotten;
    {
        const std::lock_guard lock{mutex_};
        const std::uint64_t now_ns = monotonic_now_ns();
        const bool is_counted = now_ns - counted_look_ns_ >= kCountedLookNs;
        counted_look_ns_ = is_counted ? now_ns : counted_look_ns_;
        beats_.see(table->gateways, is_counted);
        collect_requests(*table);
        others_.clear();
        for (GatewayEntry& entry : table->gateways) {
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
        (void)remove(name);
    }
}

// Takes requests for shards that this gateway holds; removes old requests and answers that nobody fetched.
void Membership::collect_requests(const GatewayTable& table) {
    const std::uint64_t now_s = utc_now_s();
    const auto is_old = [&](const OperatorEntry& entry) {
        return entry.since_s + RequestBox::kRequestLifetimeS < now_s;
    };
    std::set<std::string> there;
    for (const OperatorEntry& request : table.requests) {
        const bool is_taken = taken_requests_.contains(request.id);
        if (is_taken) {
            there.insert(request.id);
        } else if (own_.leases.contains(request.shard) || is_old(request)) {
            if (!is_old(request)) {
                requests_.push_back({request.id, request.text});
            }
            due_.removed_requests.push_back(request.id);
            there.insert(request.id);
        }
    }
    taken_requests_ = std::move(there);
    for (const OperatorEntry& answer : table.answers) {
        if (is_old(answer)) {
            due_.removed_answers.push_back(answer.id);
        }
    }
}

std::vector<ShardLeases::Message> Membership::take_requests() {
    const std::lock_guard lock{mutex_};
    return std::exchange(requests_, {});
}

void Membership::answer(ShardLeases::Message answer) {
    {
        const std::lock_guard lock{mutex_};
        const std::uint64_t now_s = utc_now_s();
        due_.answers.push_back({std::move(answer.id), 0, now_s, std::move(answer.text)});
        is_beat_due_ = true;
    }
    changed_.notify_all();
}

void Membership::publish_sizes(const ShardLeases::ClassSizes& held, std::size_t shard_count) {
    const std::lock_guard lock{mutex_};
    if (own_.leases.size() == shard_count) {  // otherwise a shard is about to be added
        own_.sizes = held;
    }
}

std::optional<ShardLeases::ClassSizes> Membership::sizes_of_others() const {
    const std::lock_guard lock{mutex_};
    std::set<std::uint16_t> held;
    const auto add = [&held](const GatewayEntry& gateway) {
        for (const auto& [shard, lease] : gateway.leases) {
            held.insert(shard);
        }
    };
    add(own_);
    ShardLeases::ClassSizes sum;
    for (const GatewayEntry& other : others_) {
        if (!other.sizes) {
            return std::nullopt;
        }
        for (const auto& [retention_class, size_bytes] : *other.sizes) {
            sum[retention_class] += size_bytes;
        }
        add(other);
    }
    return held.size() == shards_.value ? std::optional{std::move(sum)} : std::nullopt;
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
        (void)take(shard);  // after a failure the next look checks whether the shard is still free
    }
}

Result<Done> Membership::take(std::uint16_t shard) {
    auto directory = PERFLEET_TRY(take_directory(pool_, shard));
    const std::lock_guard lock{mutex_};
    own_.leases[shard] = directory.head.lease;
    own_.sizes.reset();
    news_.taken.emplace_back(shard, std::move(directory));
    is_beat_due_ = true;  // so that the other gateways see it
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
        own_.sizes.reset();
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
