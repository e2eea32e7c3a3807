// What the writer remembers of a session, so that most puts read nothing: its watermark and the seals of the batches
// above it, whatever partition they are in. It is only a cache: anything missing is read again from the store.
#pragma once

#include <cstddef>
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
    std::set<Partition> partitions;                          // that it is defined in
    std::set<Partition> defined;                             // of these, by this writer

    void advance(Seq prefix) {
        watermark = prefix;
        std::erase_if(seals, [&](const auto& seal) { return seal.first <= prefix.value; });
    }
};

class KnownSeqs {
public:
    explicit KnownSeqs(const KeyedReads& reads) : reads_{&reads} {}

    // The reference holds until the next make_room().
    [[nodiscard]] Result<KnownSession*> session(TargetId target, SessionId session);

    // Forgets everything when its limits are reached; to be called between operations.
    void make_room();

    void forget_everything() { sessions_.clear(); }
    void forget_session(const SessionName& session) { sessions_.erase({session.target, session.session}); }

    // Those sessions that are remembered.
    void forget_partition(const Partition& partition);

private:
    const KeyedReads* reads_;
    std::map<std::pair<TargetId, SessionId>, KnownSession> sessions_;
    std::uint64_t calls_ = 0;
};

}  // namespace perfleet
