// The writer's cache of sessions, so that most puts read nothing: the watermark and the seals of the batches above it,
// in all partitions. Anything missing is read from the store again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

struct KnownSession {
    Seq watermark;
    bool is_removed = false;
    std::unordered_map<std::uint64_t, std::uint32_t> seals;  // by seq, above the watermark
    std::set<Partition> partitions;                          // in which it is defined
    std::set<Partition> defined;                             // those in which this writer has defined it

    void advance(Seq prefix) {
        watermark = prefix;
        std::erase_if(seals, [&](const auto& seal) { return seal.first <= prefix.value; });
    }
};

class KnownSeqs {
public:
    explicit KnownSeqs(const KeyedReads& reads) : reads_{&reads} {}

    // The reference is valid until the next make_room().
    [[nodiscard]] Result<KnownSession*> session(TargetId target, SessionId session);

    // Forgets everything if its limits are reached; call it between operations.
    void make_room();

    void forget_everything() { sessions_.clear(); }
    void forget_session(const SessionName& session) { sessions_.erase({session.target, session.session}); }

    // Only for the sessions in the cache.
    void forget_partition(const Partition& partition);

private:
    const KeyedReads* reads_;
    std::map<std::pair<TargetId, SessionId>, KnownSession> sessions_;
    std::uint64_t calls_ = 0;
};

}  // namespace perfleet
