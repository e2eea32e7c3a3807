// A store over another one, which it borrows or owns: what a double for tests doesn't change.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/store/store.h"

namespace perfleet {

class StoreOver : public Store {
public:
    explicit StoreOver(Store& store) : store_{store} {}
    explicit StoreOver(std::unique_ptr<Store> store) : owned_{std::move(store)}, store_{*owned_} {}

    ShardLeases* leases() override { return store_.leases(); }
    ShardCount shards() const override { return store_.shards(); }
    Result<Done> refresh() override { return store_.refresh(); }
    std::vector<std::string> damage() const override { return store_.damage(); }
    bool has_lost_logs() const override { return store_.has_lost_logs(); }
    Result<std::vector<Partition>> partitions() const override { return store_.partitions(); }
    Result<std::vector<SessionRecord>> sessions(const Partition& partition) const override {
        return store_.sessions(partition);
    }
    Result<std::vector<SessionName>> session_names(const Partition& partition) const override {
        return store_.session_names(partition);
    }
    Result<Done> visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const override {
        return store_.visit_sessions(visitor);
    }
    Result<std::optional<SessionRecord>> session(TargetId target, SessionId session) const override {
        return store_.session(target, session);
    }
    Result<std::vector<Partition>> session_partitions(TargetId target, SessionId session) const override {
        return store_.session_partitions(target, session);
    }
    Result<std::optional<SessionEnd>> session_end(TargetId target, SessionId session) const override {
        return store_.session_end(target, session);
    }
    Result<std::map<SessionName, SessionNote>> session_notes() const override { return store_.session_notes(); }
    Result<Done> visit_batches(const Partition& partition, TargetId target, SessionId session,
                               const std::function<Visit(const BatchRecord&)>& visitor) const override {
        return store_.visit_batches(partition, target, session, visitor);
    }
    BlockCursor blocks(const Partition& partition, TargetId target, SessionId session, Series series) const override {
        return store_.blocks(partition, target, session, series);
    }
    Result<std::uint64_t> session_size_bytes(const SessionName& session) const override {
        return store_.session_size_bytes(session);
    }
    SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                            Series series) const override {
        return store_.summaries(partition, target, session, series);
    }
    Result<std::optional<std::string>> dictionary(const Partition& partition) const override {
        return store_.dictionary(partition);
    }
    Result<std::optional<std::string>> stack_map(const StackMapKey& key) const override {
        return store_.stack_map(key);
    }
    Result<std::vector<std::pair<Series, std::uint64_t>>> expired(TargetId target, SessionId session) const override {
        return store_.expired(target, session);
    }
    Result<std::optional<BucketNumber>> last_expired_bucket(TargetId target, SessionId session) const override {
        return store_.last_expired_bucket(target, session);
    }
    Result<Seq> watermark(TargetId target, SessionId session) const override {
        return store_.watermark(target, session);
    }
    Result<std::optional<ImageContent>> image(std::string_view build_id) const override {
        return store_.image(build_id);
    }
    Result<bool> has_image(std::string_view build_id) const override { return store_.has_image(build_id); }
    Result<Done> define(const Partition& partition, const SessionRecord& session) override {
        return store_.define(partition, session);
    }
    Result<std::vector<PutOutcome>> put(const Partition& partition, std::span<const AdmittedBatch> batches) override {
        return store_.put(partition, batches);
    }
    Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session,
                                                        BucketNumber bucket) const override {
        return store_.retention_class(target, session, bucket);
    }
    Result<Done> advance_watermarks(std::span<const SessionPrefix> prefixes) override {
        return store_.advance_watermarks(prefixes);
    }
    Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) override {
        return store_.end_session(target, session, end);
    }
    Result<Done> put_image(std::string_view build_id, const ImageContent& content) override {
        return store_.put_image(build_id, content);
    }
    Result<Done> name_session(const SessionName& session, std::string_view given_name) override {
        return store_.name_session(session, given_name);
    }
    Result<std::uint64_t> drop(std::span<const Partition> partitions, std::atomic<bool>* is_stopping) override {
        return store_.drop(partitions, is_stopping);
    }
    Result<std::uint64_t> remove_sessions(std::span<const SessionName> sessions,
                                          std::atomic<bool>* is_stopping) override {
        return store_.remove_sessions(sessions, is_stopping);
    }
    Result<std::uint64_t> remove_unused_images() override { return store_.remove_unused_images(); }
    Result<std::uint64_t> size_bytes(std::span<const Partition> partitions) const override {
        return store_.size_bytes(partitions);
    }
    Result<Done> sync() override { return store_.sync(); }
    Result<Done> write_out_log() override { return store_.write_out_log(); }
    Result<Done> compact(UtcNs now, const std::function<Visit(const CompactionStep&)>& on_step) override {
        return store_.compact(now, on_step);
    }
    std::size_t partitions_to_compact() const override { return store_.partitions_to_compact(); }

protected:
    [[nodiscard]] Store& store() { return store_; }

private:
    std::unique_ptr<Store> owned_;
    Store& store_;
};

}  // namespace perfleet
