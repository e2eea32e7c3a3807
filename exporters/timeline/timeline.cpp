#include "exporters/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <variant>

#include "exporters/rows/event_table.h"
#include "exporters/rows/file_clock.h"
#include "exporters/rows/row_merge.h"
#include "exporters/script/trace_format.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

constexpr std::size_t kRowsBetweenMemoryChecks = 4'096;

template <class T>
std::size_t size_bytes_of(const std::vector<T>& values) {
    return values.capacity() * sizeof(T);
}

std::uint64_t integer_of(const TraceFormat::Value& value) {
    if (const auto* const number = std::get_if<std::int64_t>(&value)) {
        return static_cast<std::uint64_t>(*number);
    }
    const auto* const number = std::get_if<std::uint64_t>(&value);
    return number != nullptr ? *number : 0;
}

}  // namespace

class Timeline::Reader : private MergeVisitor {
public:
    // Without a symbolizer there are no frames and no texts.
    Reader(const Scan& scan, Symbolizer* symbolizer, Timeline& timeline)
        : scan_{scan},
          symbolizer_{symbolizer},
          timeline_{timeline},
          clock_{scan},
          events_{scan, timeline.warnings_},
          merge_{scan, events_, clock_},
          share_{scan.memory()} {
        if (symbolizer != nullptr) {
            names_.emplace(*symbolizer, scan.memory(), scan.worker_count());
        }
    }

    Result<Done> run() {
        list_targets();
        list_events();
        PERFLEET_TRY(merge_.run(*this));
        if (names_) {
            PERFLEET_TRY(read_counters());
        }
        PERFLEET_TRY(scan_.memory().check());
        if (timeline_.rows_.empty()) {
            timeline_.warnings_.emplace_back(
                "no samples and no tracepoints are in the selection: the file is empty (perfleet losses lists what "
                "there is)");
        } else {
            timeline_.first_utc_ = clock_.utc_of_ns(timeline_.first_ns());
        }
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            timeline_.ledger_.add(scan_.ledger(index, kKindsWithCallChains, timeline_.warnings_));
        }
        if (names_) {
            names_->add_hint(FrameNames::HintAt::kNoAddresses, timeline_.warnings_);
            const std::vector<std::string> unread = symbolizer_->warnings();
            timeline_.warnings_.insert(timeline_.warnings_.end(), unread.begin(), unread.end());
        }
        return Done{};
    }

private:
    struct Epoch {
        const EpochDictionary* dictionary = nullptr;
        std::unordered_map<std::uint32_t, StringNumber> names;  // of threads, as ThreadNames has them
        std::vector<std::uint32_t> nodes;                       // of the timeline, by stack number
    };

    Result<Done> read_counters() {
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            for (const Series series : scan_.sessions()[index].series) {
                if (series.kind == Kind::kCounter && scan_.is_selected(index, series)) {
                    PERFLEET_TRY(read_counter(index, series));
                }
            }
        }
        return Done{};
    }

    Result<Done> read_counter(std::size_t session_index, Series series) {
        constexpr std::array kWanted{ColumnId::kTime, ColumnId::kCpu, ColumnId::kPid, ColumnId::kValue};
        constexpr std::uint64_t kWholeCpu = 0xffff'ffff;
        const ScannedSession& session = scan_.sessions()[session_index];
        const EventRecord* const event = session.record.event_at(series.event);
        std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<TimelineCounter::Reading>> places;
        RowCursor rows{scan_, session_index, series, kWanted};
        while (const RowBlock* const block = rows.next()) {
            const auto time = block->rows.integers(ColumnId::kTime);
            for (std::size_t i = 0; i < block->rows.row_count(); ++i) {
                const auto value = [&](ColumnId id) { return block->rows.integers(id)[i]; };
                places[{value(ColumnId::kPid), value(ColumnId::kCpu)}].push_back(
                    {clock_.ns_of(session_index, time[i]), value(ColumnId::kValue)});
                texts_size_bytes_ += sizeof(TimelineCounter::Reading);
            }
            update_memory();
        }
        for (auto& [place, readings] : places) {
            std::sort(readings.begin(), readings.end());
            TimelineCounter& made = timeline_.counters_.emplace_back();
            if (timeline_.targets_.size() > 1) {
                made.name = timeline_.targets_[target_of_session_[session_index]] + " ";
            }
            made.name += event != nullptr ? printable(event->name) : "event " + std::to_string(series.event.value);
            made.name += place.first == kWholeCpu ? "" : " pid " + std::to_string(place.first);
            made.name += " cpu " + std::to_string(place.second);
            made.unit = event != nullptr ? printable(event->unit) : "";
            made.readings = std::move(readings);
        }
        return rows.status();
    }

    void list_targets() {
        std::map<TargetId, std::uint32_t> numbers;
        for (const ScannedSession& session : scan_.sessions()) {
            const auto [target, is_new] =
                numbers.try_emplace(session.record.target, static_cast<std::uint32_t>(numbers.size()));
            target_of_session_.push_back(target->second);
            if (is_new) {
                timeline_.targets_.push_back(printable(session.record.target_name));
            }
        }
    }

    void list_events() {
        for (const ExportedEvent& event : events_.events()) {
            const Measure measure = measure_of(scan_, event.name);
            timeline_.events_.push_back({printable(event.name), measure.unit, measure.is_amount});
            if (!measure.unknown.empty()) {
                timeline_.warnings_.push_back(measure.unknown);
            }
            formats_.push_back(
                event.raw ? std::make_unique<TraceFormat>(event.name.substr(0, event.name.find(':')), event.format,
                                                          [](std::uint64_t) { return TraceFormat::Function{}; })
                          : nullptr);
        }
    }

    void begin_epoch(const MergedEpoch& epoch, bool /*is_new_run*/) override {
        const EpochDictionary& dictionary = *epoch.dictionary;
        epochs_.resize(merge_.epochs().size());
        Epoch& made = epochs_[epoch.index];
        made.dictionary = &dictionary;
        if (!names_) {
            return;
        }
        // The empty stack exists even if no stack is defined.
        const std::size_t stack_count = std::max<std::size_t>(dictionary.stack_count(), 1);
        std::vector<StackCount> all;
        for (std::size_t number = 0; number < stack_count; ++number) {
            all.push_back({0, StackNumber{static_cast<std::uint32_t>(number)}, {1, 1}});
        }
        names_->name_epoch(dictionary, all);
        made.nodes.assign(stack_count, 0);
        made.nodes[0] = node_of(0, frame_of(dictionary, kEmptyStack));
        // A stack's caller has a smaller number, except the mark of cut chains.
        const auto make = [&](StackNumber stack) {
            const StackNumber caller = caller_of(dictionary, stack);
            made.nodes[stack.value] =
                node_of(caller == kEmptyStack ? 0 : made.nodes[caller.value], frame_of(dictionary, stack));
        };
        if (dictionary.cut_mark() != kEmptyStack) {
            make(dictionary.cut_mark());
        }
        for (std::uint32_t number = 1; number < stack_count; ++number) {
            make(StackNumber{number});
        }
        update_memory();
    }

    void end_epoch(const MergedEpoch& epoch) override { epochs_[epoch.index] = {}; }

    Result<Done> row(const MergedRow& row) override {
        Epoch& epoch = epochs_[row.epoch.index];
        if (row.event == nullptr) {
            take_name(row, epoch);
            return Done{};
        }
        const auto narrow = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
        TimelineRow made;
        made.time_ns = row.time_ns;
        made.amount = static_cast<std::int64_t>(row.columns->weight[row.row]);
        made.event = narrow(row.event->id - 1);
        if (!timeline_.events_[made.event].is_amount) {
            const SessionRecord& session = scan_.sessions()[row.epoch.session_index].record;
            made.amount =
                has_sample_numbers(session, row.series) ? static_cast<std::int64_t>(samples_of(row.rows, row.row)) : 1;
        }
        made.cpu = narrow(row.columns->cpu[row.row]);
        made.thread = thread_of(row, epoch);
        const std::vector<std::uint32_t>& nodes = epoch.nodes;
        const std::uint64_t stack = row.columns->stack[row.row];
        made.node = stack < nodes.size() ? nodes[stack] : nodes.empty() ? 0 : nodes[0];
        if (TraceFormat* const format = formats_[made.event].get()) {
            add_entry(*format, made, row.rows.bytes(ColumnId::kRawBytes, row.row));
        }
        timeline_.rows_.push_back(made);
        if (timeline_.rows_.size() % kRowsBetweenMemoryChecks == 0) {
            update_memory();
            PERFLEET_TRY(scan_.memory().check());
        }
        return Done{};
    }

    [[nodiscard]] std::uint32_t target_of(const MergedRow& row) const {
        return target_of_session_[row.epoch.session_index];
    }

    static void take_name(const MergedRow& row, Epoch& epoch) {
        const auto value = [&](ColumnId column) {
            return static_cast<std::uint32_t>(row.rows.integers(column)[row.row]);
        };
        const std::uint32_t tid = value(ColumnId::kTid);
        switch (static_cast<TaskOp>(value(ColumnId::kTaskOp))) {
            case TaskOp::kPresent:
            case TaskOp::kComm:
            case TaskOp::kExec: epoch.names[tid] = StringNumber{value(ColumnId::kString)}; break;
            case TaskOp::kFork: {
                auto parent = epoch.names.find(value(ColumnId::kParentTid));
                parent = parent == epoch.names.end() ? epoch.names.find(value(ColumnId::kParentPid)) : parent;
                if (parent != epoch.names.end()) {
                    const StringNumber name = parent->second;
                    epoch.names[tid] = name;
                } else {
                    epoch.names.erase(tid);
                }
                break;
            }
            default: break;
        }
    }

    std::uint32_t thread_of(const MergedRow& row, const Epoch& epoch) {
        TimelineThread thread;
        thread.target = target_of(row);
        thread.pid = static_cast<std::uint32_t>(row.columns->pid[row.row]);
        thread.tid = static_cast<std::uint32_t>(row.columns->tid[row.row]);
        const auto name = epoch.names.find(thread.tid);
        thread.command = name != epoch.names.end() ? printable(epoch.dictionary->string(name->second))
                         : thread.tid == 0         ? "swapper"
                                                   : ":" + std::to_string(static_cast<std::int32_t>(thread.tid));
        const auto [known, is_new] =
            threads_.try_emplace(std::move(thread), static_cast<std::uint32_t>(timeline_.threads_.size()));
        if (is_new) {
            timeline_.threads_.push_back(known->first);
        }
        return known->second;
    }

    std::uint32_t frame_of(const EpochDictionary& dictionary, StackNumber stack) {
        const std::uint32_t name = names_->number_of(stack);
        if (name >= frame_numbers_.size()) {
            frame_numbers_.resize(names_->name_count());
        }
        std::uint32_t& number = frame_numbers_[name];
        if (number == 0) {
            const FrameName named = names_->name(name);
            const bool is_kernel =
                (dictionary.image(dictionary.stack(stack).frame.image).flags & image_flags::kKernel) != 0;
            timeline_.frames_.push_back({printable(names_->symbols().text(named.symbol)),
                                         printable(names_->images().text(named.image)), is_kernel});
            number = static_cast<std::uint32_t>(timeline_.frames_.size());
        }
        return number - 1;
    }

    std::uint32_t node_of(std::uint32_t caller, std::uint32_t frame) {
        std::uint32_t& number = node_numbers_.number_of(caller, frame);
        if (number == 0) {
            number = static_cast<std::uint32_t>(timeline_.nodes_.size());
            timeline_.nodes_.push_back({caller, frame});
        }
        return number;
    }

    void add_entry(TraceFormat& format, const TimelineRow& row, std::string_view raw) {
        if (names_) {
            timeline_.entries_.push_back({timeline_.rows_.size(), printable(format.text(row.cpu, raw))});
            texts_size_bytes_ += timeline_.entries_.back().text.size() + sizeof(TimelineEntry);
        }
        if (timeline_.events_[row.event].name != "sched:sched_switch") {
            return;
        }
        TimelineSwitch made;
        made.row = timeline_.rows_.size();
        for (const auto& [name, value] : format.fields(raw)) {
            if (name == "prev_pid") {
                made.previous_tid = static_cast<std::uint32_t>(integer_of(value));
            } else if (name == "next_pid") {
                made.next_tid = static_cast<std::uint32_t>(integer_of(value));
            } else if (name == "prev_state") {
                made.previous_state = static_cast<std::int64_t>(integer_of(value));
            } else if (name == "prev_prio") {
                made.previous_priority = static_cast<std::int32_t>(integer_of(value));
            } else if (name == "next_prio") {
                made.next_priority = static_cast<std::int32_t>(integer_of(value));
            } else if (const auto* const text = std::get_if<std::string>(&value); text != nullptr) {
                if (name == "prev_comm") {
                    made.previous_command = printable(*text);
                } else if (name == "next_comm") {
                    made.next_command = printable(*text);
                }
            }
        }
        texts_size_bytes_ += sizeof(TimelineSwitch) + made.previous_command.size() + made.next_command.size();
        timeline_.switches_.push_back(std::move(made));
    }

    void update_memory() {
        constexpr std::size_t kFrameSizeBytes = sizeof(TimelineFrame) + 64;
        std::size_t size = (names_ ? names_->size_bytes() : 0) + texts_size_bytes_ + size_bytes_of(timeline_.rows_) +
                           size_bytes_of(timeline_.nodes_) + node_numbers_.size_bytes() +
                           timeline_.frames_.size() * kFrameSizeBytes +
                           timeline_.threads_.size() * (2 * sizeof(TimelineThread) + 64);
        for (const Epoch& epoch : epochs_) {
            size += size_bytes_of(epoch.nodes);
        }
        share_.set(size);
    }

    const Scan& scan_;
    Symbolizer* symbolizer_;
    Timeline& timeline_;
    FileClock clock_;
    EventTable events_;
    RowMerge merge_;
    std::optional<FrameNames> names_;
    MemoryShare share_;
    std::vector<std::uint32_t> target_of_session_;
    std::vector<std::unique_ptr<TraceFormat>> formats_;  // by event; null: it has no fields
    std::vector<Epoch> epochs_;
    std::map<TimelineThread, std::uint32_t> threads_;
    std::vector<std::uint32_t> frame_numbers_;  // by the name's number: 1 + the frame's
    CalleeTable node_numbers_;                  // by (caller, frame)
    std::size_t texts_size_bytes_ = 0;
};

Result<std::unique_ptr<Timeline>> Timeline::read(const Scan& scan, Symbolizer& symbolizer) {
    auto timeline = std::make_unique<Timeline>();
    PERFLEET_TRY(Reader{scan, &symbolizer, *timeline}.run());
    return timeline;
}

Result<std::unique_ptr<Timeline>> Timeline::read_threads(const Scan& scan) {
    auto timeline = std::make_unique<Timeline>();
    PERFLEET_TRY(Reader{scan, nullptr, *timeline}.run());
    return timeline;
}

std::vector<Timeline::Track> Timeline::tracks() const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> by_track;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        by_track[{rows_[i].event, rows_[i].thread}].push_back(static_cast<std::uint32_t>(i));
    }
    std::vector<Track> tracks;
    for (auto& [key, rows] : by_track) {
        tracks.push_back({key.first, key.second, std::move(rows)});
    }
    return tracks;
}

std::string Timeline::thread_name(std::uint32_t number) const {
    const TimelineThread& thread = threads_[number];
    return (targets_.size() > 1 ? targets_[thread.target] + " " : std::string{}) + thread.command + " " +
           std::to_string(thread.pid) + "/" + std::to_string(thread.tid);
}

QueryEnd Timeline::outcome() const { return {std::nullopt, counted_noun(rows_.size(), "sample"), ledger_, warnings_}; }

std::optional<SourceInName> source_of(const TimelineFrame& frame) {
    return frame.image == Symbolizer::kInterpretedImage ? Symbolizer::source_in_name(frame.symbol) : std::nullopt;
}

}  // namespace perfleet
