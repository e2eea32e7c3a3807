#include "gateway/ingest/commit_group.h"

#include <algorithm>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

void CommitGroup::touch(const SessionPtr& session) {
    if (!session->is_touched) {
        session->is_touched = true;
        sessions_.push_back(session);
    }
}

void CommitGroup::add(const SessionPtr& session, const Partition& partition, AdmittedBatch batch,
                      std::size_t size_bytes) {
    touch(session);
    session->gathered.emplace(batch.key.seq.value, batch.record.seal);
    size_bytes_ += size_bytes;
    ++batch_count_;
    Part& part = parts_[partition];
    part.size_bytes += size_bytes;
    part.batches.push_back(std::move(batch));
    part.sessions.push_back(session);
}

void CommitGroup::add_conflict(const SessionPtr& session, Seq seq) {
    touch(session);
    size_bytes_ += kEntrySizeBytes;
    conflicts_.emplace_back(session, seq);
}

void CommitGroup::add_oldest_retained(const SessionPtr& session, Seq oldest) {
    if (oldest > session->oldest_retained && oldest.value > session->progress.prefix().value + 1) {
        touch(session);
        session->oldest_retained = oldest;
    }
}

void CommitGroup::add_end(const SessionPtr& session, const Partition& partition, SessionEnd end) {
    if (!session->has_end) {
        touch(session);
        session->has_end = true;
        ends_.push_back({session, partition, std::move(end)});
    }
}

void CommitGroup::add_image(std::string build_id, ImageContent content) {
    size_bytes_ += content.bytes.size();
    images_.emplace_back(std::move(build_id), std::move(content));
}

void CommitGroup::release(Session& session) {
    session.gathered.clear();
    session.resolved.clear();
    session.oldest_retained = Seq{0};
    session.is_touched = false;
    session.has_end = false;
}

void CommitGroup::leave_shard(std::uint16_t shard, ShardCount shards) {
    const auto is_there = [&](const SessionPtr& session) { return shard_of(session->record.target, shards) == shard; };
    for (auto at = parts_.begin(); at != parts_.end();) {
        if (at->first.shard != shard) {
            ++at;
            continue;
        }
        size_bytes_ -= at->second.size_bytes;
        batch_count_ -= at->second.batches.size();
        at = parts_.erase(at);
    }
    size_bytes_ -=
        kEntrySizeBytes * std::erase_if(conflicts_, [&](const auto& conflict) { return is_there(conflict.first); });
    std::erase_if(late_, [&](const auto& one) { return shard_of(one.first.target, shards) == shard; });
    std::erase_if(ends_, [&](const End& end) { return is_there(end.session); });
    for (const SessionPtr& session : sessions_) {
        if (is_there(session)) {
            release(*session);
        }
    }
    std::erase_if(sessions_, is_there);
}

Result<Done> CommitGroup::define(Store& store, SessionTable& table, const Partition& partition, Session& session) {
    const auto known = std::find(session.defined_in.begin(), session.defined_in.end(), partition);
    if (known != session.defined_in.end()) {
        return Done{};
    }
    PERFLEET_TRY(store.define(partition, session.record));
    if (session.defined_in.size() >= intake_limits::kPartitionsRememberedMax) {
        session.defined_in.erase(session.defined_in.begin());
    }
    session.defined_in.push_back(partition);
    session.defined = true;
    table.remember(session.record.session, session.record.target);
    return Done{};
}

Result<Done> CommitGroup::put(Store& store, SessionTable& table) {
    for (auto& [partition, part] : parts_) {
        const Session* last = nullptr;
        for (const SessionPtr& session : part.sessions) {
            if (session.get() == last) {
                continue;
            }
            last = session.get();
            PERFLEET_TRY(define(store, table, partition, *session));
        }
        auto outcomes = PERFLEET_TRY(store.put(partition, part.batches));
        PERFLEET_ASSERT(outcomes.size() == part.batches.size());
        if (!part.outcomes.empty()) {
            continue;  // a retry: batches stored by the first try are duplicates now
        }
        part.outcomes = std::move(outcomes);
        for (std::size_t i = 0; i < part.batches.size(); ++i) {
            if (part.outcomes[i] == PutOutcome::kConflict) {
                const Seq seq = part.batches[i].key.seq;
                part.sessions[i]->gathered.erase(seq.value);
                part.sessions[i]->resolved.push_back(seq);
            }
        }
    }
    return Done{};
}

Result<Done> CommitGroup::put_ends(Store& store, SessionTable& table) {
    for (const auto& [session, partition, end] : ends_) {
        const SessionRecord& record = session->record;
        if (!session->defined) {
            PERFLEET_TRY(define(store, table, partition, *session));
        }
        PERFLEET_TRY(store.end_session(record.target, record.session, end));
    }
    return Done{};
}

SeqProgress CommitGroup::progress_after(const Session& session, std::uint64_t& skipped) const {
    SeqProgress progress = session.progress;
    for (const auto& [seq, seal] : session.gathered) {
        progress.resolve(Seq{seq}, seal);
    }
    for (const Seq seq : session.resolved) {
        progress.resolve(seq, std::nullopt);
    }
    skipped += progress.resolve_below(session.oldest_retained);
    return progress;
}

Result<CommitGroup::Outcome> CommitGroup::commit(Store& store, SessionTable& table, Watermarks watermarks) {
    auto outcome = try_commit(store, table, watermarks);
    if (!outcome) {
        // Unsynced changes may be lost, and with them the definitions of this group's sessions.
        for (const SessionPtr& session : sessions_) {
            session->defined_in.clear();
            session->defined = false;
        }
    }
    return outcome;
}

Result<Done> CommitGroup::write_watermarks(Store& store, Watermarks watermarks) {
    if (late_.empty() || (watermarks == Watermarks::kLater && ends_.empty() && late_.size() < kLateWatermarksMax)) {
        return Done{};
    }
    std::vector<SessionPrefix> prefixes;
    prefixes.reserve(late_.size());
    for (const auto& [session, prefix] : late_) {
        prefixes.push_back({session.target, session.session, prefix});
    }
    PERFLEET_TRY(store.advance_watermarks(prefixes));
    late_.clear();
    return Done{};
}

Result<CommitGroup::Outcome> CommitGroup::try_commit(Store& store, SessionTable& table, Watermarks watermarks) {
    PERFLEET_TRY(put(store, table));
    Outcome outcome;
    std::vector<SeqProgress> progress;
    progress.reserve(sessions_.size());
    for (const SessionPtr& session : sessions_) {
        progress.push_back(progress_after(*session, outcome.skipped));
        const Seq prefix = progress.back().prefix();
        if (prefix > session->progress.prefix()) {
            late_[{session->record.target, session->record.session}] = prefix;
        }
    }
    PERFLEET_TRY(write_watermarks(store, watermarks));
    PERFLEET_TRY(put_ends(store, table));
    for (const auto& [build_id, content] : images_) {
        PERFLEET_TRY(store.put_image(build_id, content));
    }
    PERFLEET_TRY(store.sync());

    outcome.conflicts = std::move(conflicts_);
    for (const auto& [partition, part] : parts_) {
        for (std::size_t i = 0; i < part.batches.size(); ++i) {
            switch (part.outcomes[i]) {
                case PutOutcome::kStored:
                    ++outcome.stored;
                    part.sessions[i]->losses.take(part.batches[i].record.counts, outcome.rows_lost);
                    for (const BatchSeries& rows : part.batches[i].series) {
                        outcome.rows_stored += rows.row_count;
                    }
                    break;
                case PutOutcome::kDuplicate: ++outcome.duplicate; break;
                case PutOutcome::kExpired: ++outcome.expired; break;
                case PutOutcome::kConflict:
                    outcome.conflicts.emplace_back(part.sessions[i], part.batches[i].key.seq);
                    break;
            }
        }
    }
    for (const auto& [session, partition, end] : ends_) {
        session->losses.take(end.counts, outcome.rows_lost);
    }
    for (auto& [build_id, content] : images_) {
        outcome.images.push_back(std::move(build_id));
    }
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        Session& session = *sessions_[i];
        session.progress = std::move(progress[i]);
        session.finished = session.finished || session.has_end;
        release(session);
    }
    outcome.sessions = std::move(sessions_);
    auto late = std::move(late_);
    *this = CommitGroup{};
    late_ = std::move(late);
    return outcome;
}

}  // namespace perfleet
