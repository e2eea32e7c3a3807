#include "query-engine/statistic/testing/profile_scenario.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "storage/store/testing/sample_batches.h"

namespace perfleet {
namespace {

constexpr BucketNumber kFirstBucket{472'222};  // of UTC 1.7e18 ns

ScenarioEpoch make_epoch(std::mt19937_64& random, std::uint32_t hour) {
    ScenarioEpoch epoch;
    epoch.hour = hour;
    const std::uint64_t start = hour * kScenarioEpochTicks + 1'000;
    const auto any = [&](std::uint64_t count) { return random() % count; };
    const std::vector<std::string> names{"sh", "xz", "worker", "odd;name", "bad\xff", "worker"};
    for (std::uint32_t tid = 100; tid < 106; ++tid) {
        epoch.tasks.push_back({start, TaskOp::kPresent, 100 + (tid % 3), tid, 0, 0, names[any(names.size())]});
    }
    for (int i = 0; i < 25; ++i) {
        ScenarioTask task;
        task.ticks = start + any(10'000);
        task.tid = static_cast<std::uint32_t>(100 + any(12));
        task.pid = 100 + task.tid % 3;
        const std::uint64_t kind = any(4);
        if (kind < 2) {
            task.op = kind == 0 ? TaskOp::kComm : TaskOp::kExec;
            task.name = names[any(names.size())];
        } else if (kind == 2) {
            task.op = TaskOp::kFork;
            task.parent_tid = static_cast<std::uint32_t>(100 + any(14));
            task.parent_pid = 100 + task.parent_tid % 3;
        } else {
            task.op = TaskOp::kExit;
        }
        epoch.tasks.push_back(task);
    }
    std::stable_sort(epoch.tasks.begin(), epoch.tasks.end(),
                     [](const ScenarioTask& a, const ScenarioTask& b) { return a.ticks < b.ticks; });
    for (int i = 0; i < 400; ++i) {
        ScenarioSample sample;
        sample.ticks = start + any(10'000);
        sample.event = static_cast<std::uint16_t>(any(8) == 0 ? 1 : 0);
        sample.tid = static_cast<std::uint32_t>(any(20) == 0 ? 0 : 100 + any(14));
        sample.pid = sample.tid == 0 ? 0 : 100 + sample.tid % 3;
        sample.weight = 1 + any(1'000);
        for (std::uint64_t depth = any(7); depth > 0; --depth) {
            sample.frames.push_back({static_cast<std::uint32_t>(any(3)), 16 * any(6)});
        }
        epoch.samples.push_back(sample);
    }
    std::stable_sort(epoch.samples.begin(), epoch.samples.end(),
                     [](const ScenarioSample& a, const ScenarioSample& b) { return a.ticks < b.ticks; });
    for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint64_t ticks = start + 1'000 * (i + 1);
        epoch.readings.push_back({ticks, i % 2, ticks * 3, ticks, ticks / 2});
    }
    return epoch;
}

// Turns one epoch into batches: definitions go before the rows that name them.
class EpochWriter {
public:
    EpochWriter(const ProfileScenario& scenario, const ScenarioSession& session, std::uint32_t epoch_number,
                std::uint64_t& next_seq, std::map<Series, std::uint64_t>& produced)
        : session_{session},
          epoch_{session.epochs[epoch_number]},
          number_{epoch_number},
          next_seq_{next_seq},
          produced_{produced} {
        for (const ImageDefinition& image : scenario.images) {
            images_.push_back({static_cast<std::uint32_t>(images_.size()), image.flags, image.build_id, image.name,
                               image.address, image.size_bytes});
        }
    }

    void write(std::size_t rows_per_batch, std::vector<AdmittedBatch>& batches) {
        std::size_t task = 0;
        std::size_t sample = 0;
        std::size_t reading = 0;
        while (task < epoch_.tasks.size() || sample < epoch_.samples.size() || reading < epoch_.readings.size()) {
            SampleBatch batch{session_.record.target, session_.record.session, Seq{++next_seq_}, EpochNumber{number_},
                              BucketNumber{kFirstBucket.value + epoch_.hour}};
            add_tasks(batch, task, std::min(task + rows_per_batch, epoch_.tasks.size()));
            add_samples(batch, sample, std::min(sample + rows_per_batch, epoch_.samples.size()));
            add_readings(batch, reading, std::min(reading + rows_per_batch, epoch_.readings.size()));
            add_definitions(batch);
            const bool is_last = number_ + 1 == session_.epochs.size() && task == epoch_.tasks.size() &&
                                 sample == epoch_.samples.size() && reading == epoch_.readings.size();
            const Series samples{Kind::kSample, EventNumber{0}};
            if (is_last && session_.kernel_lost != 0) {
                produced_[samples] += session_.kernel_lost;
                batch.entry(samples, CountName::kLostKernelRing, session_.kernel_lost);
            }
            for (const auto& [series, row_count] : produced_) {
                batch.entry(series, CountName::kProduced, row_count);
            }
            batches.push_back(batch.build());
        }
    }

private:
    std::uint32_t string_number(const std::string& text) {
        const auto [entry, is_new] = strings_.try_emplace(text, static_cast<std::uint32_t>(strings_.size() + 1));
        if (is_new) {
            new_strings_.push_back({entry->second, text});
        }
        return entry->second;
    }

    std::uint32_t stack_number(const std::vector<ScenarioFrame>& frames) {
        std::uint32_t node = 0;
        for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
            const auto [entry, is_new] = stacks_.try_emplace(std::tuple{node, frame->image, frame->offset},
                                                             static_cast<std::uint32_t>(stacks_.size() + 1));
            if (is_new) {
                new_stacks_.push_back({entry->second, node, frame->image, frame->offset});
            }
            node = entry->second;
        }
        return node;
    }

    void add_tasks(SampleBatch& batch, std::size_t& at, std::size_t end) {
        SampleIntegers rows;
        for (; at < end; ++at) {
            const ScenarioTask& task = epoch_.tasks[at];
            rows[ColumnId::kTime].push_back(task.ticks);
            rows[ColumnId::kTaskOp].push_back(static_cast<std::uint64_t>(task.op));
            rows[ColumnId::kPid].push_back(task.pid);
            rows[ColumnId::kTid].push_back(task.tid);
            rows[ColumnId::kParentPid].push_back(task.parent_pid);
            rows[ColumnId::kParentTid].push_back(task.parent_tid);
            rows[ColumnId::kString].push_back(task.name.empty() ? 0 : string_number(task.name));
        }
        add_rows(batch, {Kind::kTask, kNoEvent}, rows);
    }

    void add_samples(SampleBatch& batch, std::size_t& at, std::size_t end) {
        std::map<std::uint16_t, SampleIntegers> by_event;
        for (; at < end; ++at) {
            const ScenarioSample& sample = epoch_.samples[at];
            SampleIntegers& rows = by_event[sample.event];
            rows[ColumnId::kTime].push_back(sample.ticks);
            rows[ColumnId::kCpu].push_back(sample.cpu);
            rows[ColumnId::kPid].push_back(sample.pid);
            rows[ColumnId::kTid].push_back(sample.tid);
            rows[ColumnId::kStack].push_back(stack_number(sample.frames));
            rows[ColumnId::kWeight].push_back(sample.weight);
        }
        for (const auto& [event, rows] : by_event) {
            add_rows(batch, {event == 0 ? Kind::kSample : Kind::kTracepoint, EventNumber{event}}, rows);
        }
    }

    void add_readings(SampleBatch& batch, std::size_t& at, std::size_t end) {
        SampleIntegers rows;
        for (; at < end; ++at) {
            const ScenarioReading& reading = epoch_.readings[at];
            rows[ColumnId::kTime].push_back(reading.ticks);
            rows[ColumnId::kCpu].push_back(reading.cpu);
            rows[ColumnId::kPid].push_back(0xffff'ffff);
            rows[ColumnId::kValue].push_back(reading.value);
            rows[ColumnId::kTimeEnabled].push_back(reading.enabled_ns);
            rows[ColumnId::kTimeRunning].push_back(reading.running_ns);
        }
        add_rows(batch, {Kind::kCounter, EventNumber{0}}, rows);
    }

    void add_rows(SampleBatch& batch, Series series, const SampleIntegers& rows) {
        if (!rows.empty()) {
            produced_[series] += rows.begin()->second.size();
            batch.add(series, rows);
        }
    }

    void add_definitions(SampleBatch& batch) {
        if (!new_strings_.empty()) {
            batch.add_strings(std::exchange(new_strings_, {}));
        }
        if (!images_.empty()) {
            batch.add_images(std::exchange(images_, {}));
        }
        if (!new_stacks_.empty()) {
            batch.add_stacks(std::exchange(new_stacks_, {}));
        }
    }

    const ScenarioSession& session_;
    const ScenarioEpoch& epoch_;
    std::uint32_t number_;
    std::uint64_t& next_seq_;
    std::map<Series, std::uint64_t>& produced_;
    std::map<std::string, std::uint32_t> strings_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> stacks_;
    std::vector<SampleBatch::String> new_strings_;
    std::vector<SampleBatch::Stack> new_stacks_;
    std::vector<SampleBatch::Image> images_;
};

void require(bool holds) { PERFLEET_ASSERT(holds); }

// Moves each session's watermark up as a gateway would, and has the store compact what is below it.
class CompactionStore {
public:
    explicit CompactionStore(Store& store) : store_{&store} {}

    void add(const BatchKey& key) { stored_[{key.target, key.session}].insert(key.seq.value); }

    void compact() {
        for (const auto& [name, seqs] : stored_) {
            std::uint64_t prefix = 0;
            while (seqs.contains(prefix + 1)) {
                ++prefix;
            }
            require(store_->advance_watermark(name.first, name.second, Seq{prefix}).ok());
        }
        now_s_ += 2 * kBucketDurationS;  // so that late data are examined again
        require(
            store_->compact(UtcNs{now_s_ * kNsPerSecond}, [](const CompactionStep&) { return Visit::kContinue; }).ok());
    }

private:
    Store* store_;
    std::map<std::pair<TargetId, SessionId>, std::set<std::uint64_t>> stored_;
    std::int64_t now_s_ = 4'000'000'000;  // every bucket is over
};

}  // namespace

ProfileScenario make_scenario(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    ProfileScenario scenario;
    for (const char* name : {"/nowhere/bin/worker", "/nowhere/lib/libodd.so.1", "/nowhere/\xfe\"x"}) {
        ImageDefinition image;
        image.flags = image_flags::kFileOffset;
        image.name = name;
        image.build_id = std::string(20, static_cast<char>(scenario.images.size() + 1));
        scenario.images.push_back(image);
    }
    for (std::uint64_t i = 1; i <= 3; ++i) {
        ScenarioSession session;
        session.record = sample_session(TargetId{i == 3 ? 2U : 1U}, SessionId{0xabc0 + i, i});
        session.record.start_point.ticks = Ticks{0};
        session.record.start_point.utc_ns.value += static_cast<std::int64_t>(10 - i);
        for (std::uint32_t epoch = 0; epoch < i; ++epoch) {
            session.epochs.push_back(make_epoch(random, epoch));
        }
        session.kernel_lost = i == 2 ? 17 : 0;
        session.has_ended = i != 3;
        scenario.sessions.push_back(std::move(session));
    }
    return scenario;
}

void deliver(const ProfileScenario& scenario, const DeliveryOrder& delivery, Store& store) {
    std::vector<AdmittedBatch> batches;
    for (const ScenarioSession& session : scenario.sessions) {
        std::uint64_t seq = 0;
        std::map<Series, std::uint64_t> produced;
        for (std::uint32_t epoch = 0; epoch < session.epochs.size(); ++epoch) {
            EpochWriter{scenario, session, epoch, seq, produced}.write(delivery.rows_per_batch, batches);
        }
        if (session.has_ended) {
            SessionEnd end;
            end.last_seq = Seq{seq};
            end.counts = batches.back().record.counts;
            end.end_point = session.record.start_point;
            end.end_point.ticks.value += session.epochs.size() * kScenarioEpochTicks;
            end.end_point.utc_ns.value += static_cast<std::int64_t>(session.epochs.size() * kScenarioEpochTicks);
            require(store.end_session(session.record.target, session.record.session, end).ok());
        }
    }
    if (delivery.twice) {
        std::vector<AdmittedBatch> again = batches;
        batches.insert(batches.end(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
    }
    if (delivery.order_seed != 0) {
        std::shuffle(batches.begin(), batches.end(), std::mt19937_64{delivery.order_seed});
    }
    CompactionStore compaction{store};
    std::size_t count = 0;
    for (const AdmittedBatch& batch : batches) {
        const Partition partition = partition_of(batch.key.target, batch.record.bucket);
        const auto session =
            std::find_if(scenario.sessions.begin(), scenario.sessions.end(),
                         [&](const ScenarioSession& one) { return one.record.session == batch.key.session; });
        require(store.define(partition, session->record).ok());
        const auto outcomes = store.put(partition, std::span{&batch, 1});
        require(outcomes.ok() &&
                (outcomes->front() == PutOutcome::kStored || outcomes->front() == PutOutcome::kDuplicate));
        compaction.add(batch.key);
        if (delivery.compact_every != 0 && ++count % delivery.compact_every == 0) {
            compaction.compact();
        }
    }
    if (delivery.compact_every != 0) {
        compaction.compact();
    }
    require(store.sync().ok());
}

}  // namespace perfleet
