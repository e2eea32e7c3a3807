// What a source writes down beside its collector, line by line with write(2), so that a SIGKILL keeps it; and how it is
// read back. The checker compares the store with it.
//
//   session HIGH LOW TARGET          hex; once, first
//   produced KIND EVENT FIRST LAST   before these rows are handed on. A row's value is its number in its series, from 1
//   sealed SEQ EPOCH BUCKET [KIND EVENT FIRST LAST]…
//   ring_full [KIND EVENT FIRST LAST]…    collected, and lost because the ring was full
//   hello OLDEST_RETAINED            before it is sent
//   sending SEQ OLDEST_RETAINED      before it is sent
//   bye LAST_SEQ                     before it is sent
//   acknowledged PREFIX FINISHED     as the collector learned it, by a Welcome or an Ack
//   refused SEQ REASON               0: the session
//   end NAME                         finished, gave_up or refused: the process ended in order
//
// Each session has a log of its own; a process that delivers the rest of an earlier one's spool continues that one's
// log. Lines are in the order of events on each of the two threads; only the wire's lines are in order with one
// another, and only the source's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"

namespace perfleet::chaos {

// Values of rows, first to last.
struct RowRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;

    [[nodiscard]] std::uint64_t size() const { return last - first + 1; }
    friend bool operator==(const RowRange&, const RowRange&) = default;
};
using RowRanges = std::map<Series, RowRange>;

// FOLDER/<the session's 32 hex digits>.log
[[nodiscard]] std::string source_log_path(const std::string& folder, SessionId session);

// Writes the log, from its end on. Several threads, and several writers, may write.
class SourceLogWriter {
public:
    explicit SourceLogWriter(const std::string& path);
    SourceLogWriter(const SourceLogWriter&) = delete;
    SourceLogWriter& operator=(const SourceLogWriter&) = delete;
    ~SourceLogWriter();

    void session(SessionId session, TargetId target);
    void produced(Series series, RowRange rows);
    void sealed(Seq seq, EpochNumber epoch, BucketNumber bucket, const RowRanges& rows);
    void ring_full(const RowRanges& rows);
    void hello(Seq oldest_retained);
    void sending(Seq seq, Seq oldest_retained);
    void bye(Seq last);
    void acknowledged(Seq prefix, bool is_finished);
    void refused(Seq seq, std::uint16_t reason);
    void end(const std::string& name);

private:
    void write(const std::string& line);

    int descriptor_;
};

// A log, read back.
struct SourceLog {
    struct Sealed {
        EpochNumber epoch;
        BucketNumber bucket;
        RowRanges rows;
        std::map<Series, std::uint64_t> produced;  // rows of this batch and all before, those lost at the ring included
        std::map<Series, std::uint64_t> ring_full;  // of them lost
    };

    SessionId session;
    TargetId target;
    std::map<Series, std::uint64_t> produced;   // rows, so also the last value
    std::map<std::uint64_t, Sealed> sealed;     // by seq
    std::map<Series, std::uint64_t> ring_full;  // rows
    std::map<Series, std::uint64_t> accounted;  // rows that were sealed, or lost at the ring
    std::set<std::uint64_t> sent;               // seqs that may have left the process
    std::set<std::uint64_t> refused;
    std::set<std::uint64_t> dropped;  // seqs that the collector dropped: they left it unacknowledged
    std::uint64_t acknowledged = 0;   // greatest prefix that it received
    bool is_finish_acknowledged = false;
    bool is_session_refused = false;
    bool was_bye_sent = false;
    std::string end;  // empty: it was killed
};

// Errors: kNotFound, kInvalid (a line that can't be read; an unfinished last one is ignored).
[[nodiscard]] Result<SourceLog> read_source_log(const std::string& path);

}  // namespace perfleet::chaos
