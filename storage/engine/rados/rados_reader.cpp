#include "storage/engine/rados/rados_engine.h"
#include "storage/engine/rados/rados_reads.h"

namespace perfleet {
namespace {

class RadosReader final : public RadosReads {
public:
    using RadosReads::RadosReads;

    [[nodiscard]] ShardLeases* leases() override { return nullptr; }
    [[nodiscard]] Result<Done> refresh() override {
        PERFLEET_TRY(take_over_common());
        for (std::size_t directory = 0; directory < shards().value; ++directory) {
            PERFLEET_TRY(read_again(directory));
        }
        return Done{};
    }
    [[nodiscard]] Result<bool> recover(GoOn) override { return false; }
    [[nodiscard]] Result<Done> write(const Domain&, Guard, const Changes&) override { return read_only(); }
    [[nodiscard]] Result<Done> write_unlogged(const Domain&, Guard, const Changes&) override { return read_only(); }
    [[nodiscard]] Result<Done> flush_unlogged() override { return read_only(); }
    [[nodiscard]] Result<Done> reclaim(const KeyRange&, std::atomic<bool>*) override { return read_only(); }
    [[nodiscard]] Result<Done> sync() override { return read_only(); }
    [[nodiscard]] Result<Done> erase(const KeyRange&, std::atomic<bool>*) override { return read_only(); }

private:
    [[nodiscard]] Error read_only() const {
        return {ErrorCode::kPermission, pool().where() + ": is opened for reading only"};
    }

    Result<Done> read_again(std::size_t directory) {
        auto found = PERFLEET_TRY(read_directory(pool(), directory));
        take_over(directory, found.has_value() ? std::move(found->domains) : decltype(found->domains){}, false);
        return Done{};
    }

    [[nodiscard]] Result<bool> reload(const Domain& domain) const override {
        auto found = PERFLEET_TRY(read_directory(pool(), directory_of(domain)));
        SegmentList segments = found.has_value() ? std::move(found->domains[domain]) : SegmentList{};
        const std::lock_guard lock{mutex_};
        const auto known = domains_.find(domain);
        return known != domains_.end() && replace_segments(known->second, std::move(segments));
    }
};

}  // namespace

Result<std::unique_ptr<Engine>> open_rados_reader_engine(const RadosPlace& place) {
    auto pool = PERFLEET_TRY(RadosPool::connect(place));
    auto reader = std::make_unique<RadosReader>(std::move(pool));
    PERFLEET_TRY(reader->refresh());
    return Result<std::unique_ptr<Engine>>{std::move(reader)};
}

}  // namespace perfleet
