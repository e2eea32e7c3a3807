// Writes the selected rows as OpenTelemetry's profiles (otlp_request.h): `otlp` as one ExportProfilesServiceRequest,
// `otlp-requests` as the relay sends them (otlp_frames.h). Each event's values add up to its total in `top`.
//
// A selection without samples gives a request without profiles, and a warning. Errors: kTooLarge (the query's memory is
// exceeded), those of store and sink.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "exporters/otlp/otlp_frames.h"
#include "exporters/otlp/otlp_request.h"
#include "exporters/profile/profile_tables.h"
#include "exporters/report/report.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/service/export_format.h"
#include "schemas/pprof/sample_labels.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kOtlpPieceSizeBytes = 1U << 20;  // of the sink
constexpr std::size_t kOtlpRowsBetweenChecks = 4'096;

// Passes the rows of one epoch after another to a request.
class OtlpRows {
public:
    // Borrows both.
    OtlpRows(const Scan& scan, Symbolizer& symbolizer)
        : scan_{scan}, tables_{symbolizer, scan.memory(), scan.worker_count()}, share_{scan.memory()} {
        (void)texts_.number_of({});
    }

    [[nodiscard]] Result<Done> choose_events() { return tables_.choose_values(scan_); }
    [[nodiscard]] const ProfileTables& tables() const { return tables_; }
    [[nodiscard]] std::unique_ptr<OtlpRequest> new_request() const {
        return std::make_unique<OtlpRequest>(tables_, texts_, scan_.memory());
    }

    // Reads all rows of the epoch except those of `covered` batches (null: none). `request_of` an event takes its rows;
    // it is called before each.
    [[nodiscard]] Result<Done> read(std::size_t session_index, EpochNumber epoch, const CoveredSeqs* covered,
                                    const std::function<Result<OtlpRequest*>(std::size_t event)>& request_of) {
        const ScannedSession& session = scan_.sessions()[session_index];
        std::vector<std::pair<std::size_t, Series>> parts;
        for (std::size_t event = 0; event < tables_.events().size(); ++event) {
            for (const Series series : event_series(session, tables_.events()[event].event)) {
                if (covered == nullptr ? scan_.has_rows(session_index, epoch, series)
                                       : scan_.has_rows(session_index, epoch, series, *covered)) {
                    parts.emplace_back(event, series);
                }
            }
        }
        if (parts.empty()) {
            return Done{};
        }
        const auto dictionary = PERFLEET_TRY(scan_.dictionary(session_index, epoch));
        const auto names = PERFLEET_TRY(read_thread_names(scan_, session_index, epoch, *dictionary));
        const auto cursor = [&](Series series, std::span<const ColumnId> wanted) {
            return RowCursor{scan_, session_index, {epoch}, series, wanted, RowsWanted::kInRange, covered};
        };
        PERFLEET_TRY(name_stacks(*dictionary, parts, cursor));
        names_.clear();
        for (const auto& [event, series] : parts) {
            const bool has_labels = has_sample_labels(session.record) && series.kind == Kind::kDetailedSample;
            auto rows = cursor(series, has_labels ? std::span<const ColumnId>{kColumns}
                                                  : std::span<const ColumnId>{kColumns}.first(kColumns.size() - 2));
            while (const RowBlock* const block = rows.next()) {
                for (std::size_t row = 0; row < block->row_count; ++row) {
                    OtlpRequest& request = *PERFLEET_TRY(request_of(event));
                    request.choose(scan_, session_index, event);
                    add(*block, row, {session, *dictionary, names, event, has_labels}, request);
                }
            }
            PERFLEET_TRY(rows.status());
        }
        share_.set(texts_.size_bytes());
        return scan_.memory().check();
    }

    // With the ledger and warnings of everything that was read.
    [[nodiscard]] QueryEnd end(const std::string& summary) const {
        ProfileNotes notes = tables_.notes(scan_);
        QueryEnd outcome;
        outcome.summary = summary;
        for (const auto& [event, ledger] : notes.ledgers) {
            outcome.ledger.add(ledger);
        }
        outcome.warnings = std::move(notes.warnings);
        return outcome;
    }

private:
    static constexpr std::array kColumns{ColumnId::kTime,  ColumnId::kCpu,    ColumnId::kPid,   ColumnId::kTid,
                                         ColumnId::kStack, ColumnId::kWeight, ColumnId::kValue, ColumnId::kRawBytes};
    struct Place {
        const ScannedSession& session;
        const EpochDictionary& dictionary;
        const ThreadNames& names;
        std::size_t event = 0;
        bool has_labels = false;
    };

    template <class Cursor>
    [[nodiscard]] Result<Done> name_stacks(const EpochDictionary& dictionary,
                                           std::span<const std::pair<std::size_t, Series>> parts,
                                           const Cursor& cursor) {
        std::map<StackNumber, std::uint64_t> counts;
        for (const auto& [event, series] : parts) {
            auto rows = cursor(series, std::array{ColumnId::kStack});
            while (const RowBlock* const block = rows.next()) {
                for (const std::uint64_t stack : block->rows.integers(ColumnId::kStack)) {
                    ++counts[StackNumber{static_cast<std::uint32_t>(stack)}];
                }
            }
            PERFLEET_TRY(rows.status());
        }
        std::vector<StackCount> stacks;
        for (const auto& [stack, count] : counts) {
            stacks.push_back({0, stack, Sum::of_rows(count, 1)});
        }
        tables_.name_epoch(dictionary, stacks);
        return Done{};
    }

    void add(const RowBlock& block, std::size_t row, const Place& place, OtlpRequest& request) {
        const auto value = [&](ColumnId id) { return block.rows.integers(id)[row]; };
        const auto narrow = [&](ColumnId id) { return static_cast<std::uint32_t>(value(id)); };
        const Ticks ticks{value(ColumnId::kTime)};
        OtlpRow made;
        made.node = tables_.node_of(place.dictionary, StackNumber{narrow(ColumnId::kStack)});
        made.pid = narrow(ColumnId::kPid);
        made.tid = narrow(ColumnId::kTid);
        made.cpu = narrow(ColumnId::kCpu);
        made.name = name_of(place.names, made.tid, ticks);
        made.time_ns = place.session.clock.utc_of(ticks).value;
        const std::uint64_t weight = tables_.events()[place.event].is_amount ? value(ColumnId::kWeight)
                                     : has_sample_numbers(place.session.record, block.series)
                                         ? samples_of(block.rows, row)
                                         : 1;
        made.value = static_cast<std::int64_t>(weight);
        if (place.has_labels) {
            made.labels = texts_.number_of(std::string{block.rows.bytes(ColumnId::kRawBytes, row)});
        }
        request.add(made);
        tables_.take_row(place.event, weight);
    }

    std::uint32_t name_of(const ThreadNames& names, std::uint32_t tid, Ticks ticks) {
        const std::uint32_t name = names.at(tid, ticks).name;
        const bool is_unnamed = name == ThreadNames::kNoName;
        const auto [known, is_new] = names_.try_emplace({name, is_unnamed ? tid : 0}, 0);
        if (is_new) {
            known->second = texts_.number_of(names.text(name, tid));
        }
        return known->second;
    }

    const Scan& scan_;
    ProfileTables tables_;
    TextNumbers texts_;                                                       // names of threads, and labels
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> names_;  // of the epoch, by number and thread
    MemoryShare share_;
};

class OtlpOutput {
public:
    explicit OtlpOutput(ExportSink& sink) : sink_{sink} {}

    [[nodiscard]] Result<Done> write(std::string_view text) {
        for (; !text.empty(); text.remove_prefix(std::min(text.size(), kOtlpPieceSizeBytes))) {
            const std::string_view piece = text.substr(0, kOtlpPieceSizeBytes);
            PERFLEET_TRY(sink_.write_at(offset_, std::as_bytes(std::span{piece})));
            offset_ += piece.size();
        }
        return Done{};
    }

private:
    ExportSink& sink_;
    std::uint64_t offset_ = 0;
};

Result<QueryEnd> write_otlp(const ExportInput& input, Symbolizer& symbolizer, const NoOptions&, ExportSink& sink) {
    const Scan& scan = input.scan;
    OtlpRows rows{scan, symbolizer};
    PERFLEET_TRY(rows.choose_events());
    const auto request = rows.new_request();
    const auto request_of = [&](std::size_t) -> Result<OtlpRequest*> {
        return request->row_count() % kOtlpRowsBetweenChecks == 0 && scan.memory().is_exceeded()
                   ? Result<OtlpRequest*>{scan.memory().exceeded()}
                   : request.get();
    };
    for (std::size_t index = 0; index < scan.sessions().size(); ++index) {
        for (const EpochNumber epoch : scan.sessions()[index].epochs) {
            PERFLEET_TRY(rows.read(index, epoch, nullptr, request_of));
        }
    }
    PERFLEET_TRY(OtlpOutput{sink}.write(request->finish()));
    return rows.end(counted_noun(request->row_count(), "sample") + " in " +
                    counted_noun(request->profile_count(), "profile"));
}

// -- requests for the relay -------------------------------------------------------------------------------------------

struct RequestOptions {
    bool lists = false;
    std::vector<SeqRange> after;
};

Result<Done> read_position(const std::string& text_untrusted, RequestOptions& options) {
    for (const std::string& part : split_list(text_untrusted)) {
        SeqRange range;
        const char* const end = part.data() + part.size();
        auto read = std::from_chars(part.data(), end, range.first.value);
        const bool has_two = read.ec == std::errc{} && read.ptr != end && *read.ptr == '-';
        range.last = range.first;
        read = has_two ? std::from_chars(read.ptr + 1, end, range.last.value) : read;
        if (read.ec != std::errc{} || read.ptr != end || range.last < range.first ||
            (!options.after.empty() && range.first <= options.after.back().last)) {
            return option_error("after", text_untrusted, "a position, such as 1-17,19");
        }
        options.after.push_back(range);
    }
    return Done{};
}

const OptionTable<RequestOptions>& request_options() {
    static const OptionTable<RequestOptions> kTable =
        OptionTable<RequestOptions>{}
            .flag("list", &RequestOptions::lists, "sessions alone")
            .text({"after", OptionType::kText, "POSITION", "of one session: without the batches of this position"},
                  read_position);
    return kTable;
}

std::string position_text(std::span<const SeqRange> ranges) {
    std::string text;
    for (const SeqRange& range : ranges) {
        text += (text.empty() ? "" : ",") + std::to_string(range.first.value);
        text += range.first == range.last ? "" : "-" + std::to_string(range.last.value);
    }
    return text;
}

// All seqs that are in none of the ranges, which ascend.
CoveredSeqs all_but(std::span<const SeqRange> ranges) {
    std::vector<SeqRange> others;
    std::uint64_t next = 0;
    for (const SeqRange& range : ranges) {
        if (range.first.value > next) {
            others.push_back({Seq{next}, Seq{range.first.value - 1}});
        }
        next = range.last.value + 1;
    }
    others.push_back({Seq{next}, Seq{~0ULL}});
    CoveredSeqs covered;
    covered.add(others);
    return covered;
}

void add_seq(std::vector<SeqRange>& ranges, Seq seq) {
    if (!ranges.empty() && ranges.back().last.value + 1 == seq.value) {
        ranges.back().last = seq;
    } else {
        ranges.push_back({seq, seq});
    }
}

// The next unsent batches of a session.
struct NextBatches {
    std::vector<SeqRange> batches;
    std::vector<EpochNumber> epochs;
    std::vector<SeqRange> position;  // once they are sent
    bool has_more = false;
};

class SessionRequests {
public:
    SessionRequests(const Scan& scan, Symbolizer& symbolizer, ExportSink& sink)
        : scan_{scan}, rows_{scan, symbolizer}, out_{sink} {}

    Result<QueryEnd> list() {
        PERFLEET_TRY(rows_.choose_events());
        for (const ScannedSession& session : scan_.sessions()) {
            std::uint64_t row_count = 0;
            for (const BatchRecord& batch : session.batches) {
                row_count += rows_of(session, batch);
            }
            PERFLEET_TRY(write({OtlpFrame::Type::kSession, row_count,
                                session_hex(session.record.session) + " " + std::to_string(session.batches.size())}));
        }
        return QueryEnd{};
    }

    Result<QueryEnd> write_after(std::span<const SeqRange> after) {
        if (scan_.sessions().size() != 1) {
            return Error{ErrorCode::kUsage, std::string{kOtlpRequests} + ": of one session (--session), not of " +
                                                std::to_string(scan_.sessions().size())};
        }
        PERFLEET_TRY(rows_.choose_events());
        const NextBatches next = next_batches(after);
        const CoveredSeqs covered = all_but(next.batches);
        for (std::size_t event = 0; event < rows_.tables().events().size(); ++event) {
            requests_.push_back(rows_.new_request());
        }
        for (const EpochNumber epoch : next.epochs) {
            PERFLEET_TRY(rows_.read(0, epoch, &covered, [this](std::size_t event) { return request_of(event); }));
        }
        for (std::size_t event = 0; event < requests_.size(); ++event) {
            PERFLEET_TRY(flush(event));
        }
        std::string position = position_text(next.position);
        if (position.size() > otlp_limits::kPositionSizeBytesMax) {
            return Error{ErrorCode::kTooLarge, "session " + session_hex(scan_.sessions()[0].record.session) +
                                                   " has too many gaps between its batches to be sent on"};
        }
        PERFLEET_TRY(write({OtlpFrame::Type::kPosition, next.has_more ? 1ULL : 0ULL, std::move(position)}));
        // For few rows, the warnings would only be about the answer's size.
        return row_count_ < kFewSamples ? QueryEnd{} : rows_.end(counted_noun(row_count_, "sample"));
    }

private:
    [[nodiscard]] std::uint64_t rows_of(const ScannedSession& session, const BatchRecord& batch) {
        auto& wanted = wanted_[&session];
        if (!wanted) {
            wanted.emplace();
            for (const Measure& event : rows_.tables().events()) {
                for (const Series series : event_series(session, event.event)) {
                    wanted->push_back(series);
                }
            }
        }
        std::uint64_t count = 0;
        for (const BatchRecord::Rows& rows : batch.rows) {
            count += std::ranges::find(*wanted, rows.series) == wanted->end() ? 0 : rows.row_count;
        }
        return count;
    }

    NextBatches next_batches(std::span<const SeqRange> after) {
        const ScannedSession& session = scan_.sessions()[0];
        NextBatches next;
        std::uint64_t row_count = 0;
        auto sent = after.begin();
        for (const BatchRecord& batch : session.batches) {
            for (; sent != after.end() && sent->last < batch.seq; ++sent) {
                next.position.push_back(*sent);
            }
            if ((sent != after.end() && sent->first <= batch.seq)) {
                continue;
            }
            row_count += rows_of(session, batch);
            if (row_count > otlp_limits::kAnswerRowsMax && !next.batches.empty()) {
                next.has_more = true;
                break;
            }
            add_seq(next.batches, batch.seq);
            add_seq(next.position, batch.seq);
            if (std::ranges::find(next.epochs, batch.epoch) == next.epochs.end()) {
                next.epochs.push_back(batch.epoch);
            }
        }
        next.position.insert(next.position.end(), sent, after.end());
        std::vector<SeqRange> merged;
        for (const SeqRange& range : next.position) {
            if (!merged.empty() && merged.back().last.value + 1 == range.first.value) {
                merged.back().last = range.last;
            } else {
                merged.push_back(range);
            }
        }
        next.position = std::move(merged);
        return next;
    }

    Result<OtlpRequest*> request_of(std::size_t event) {
        if (requests_[event]->row_count() == otlp_limits::kRequestRowsMax ||
            requests_[event]->size_bytes() >= otlp_limits::kRequestSizeBytesMax) {
            PERFLEET_TRY(flush(event));
        }
        return requests_[event].get();
    }

    Result<Done> flush(std::size_t event) {
        const std::uint64_t row_count = requests_[event]->row_count();
        if (row_count == 0) {
            return Done{};
        }
        row_count_ += row_count;
        PERFLEET_TRY(write({OtlpFrame::Type::kRequest, row_count, requests_[event]->finish()}));
        requests_[event] = rows_.new_request();
        return Done{};
    }

    Result<Done> write(const OtlpFrame& frame) { return out_.write(frame.bytes()); }

    const Scan& scan_;
    OtlpRows rows_;
    OtlpOutput out_;
    std::vector<std::unique_ptr<OtlpRequest>> requests_;  // by event
    std::map<const ScannedSession*, std::optional<std::vector<Series>>> wanted_;
    std::uint64_t row_count_ = 0;
};

Result<QueryEnd> write_requests(const ExportInput& input, Symbolizer& symbolizer, const RequestOptions& options,
                                ExportSink& sink) {
    SessionRequests requests{input.scan, symbolizer, sink};
    return options.lists ? requests.list() : requests.write_after(options.after);
}

}  // namespace

ExportFormat otlp_format() {
    return with_options({.name = "otlp", .summary = "OpenTelemetry's profiles (v1development), a request of OTLP"},
                        no_options(), write_otlp);
}

ExportFormat otlp_requests_format() {
    return with_options({.name = kOtlpRequests, .summary = "what perfleet relay --otlp sends", .is_command = true},
                        request_options(), write_requests);
}

}  // namespace perfleet
