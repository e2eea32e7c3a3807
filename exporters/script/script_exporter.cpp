// Writes samples and tracepoints one by one in time order, as `perf script` prints them: thread, time, event, address,
// and the call chain below. Or as JSON, one object a line.
//
// Memory stays bounded: rows are written while others are read. Control characters in names from
// targets are escaped.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "exporters/rows/event_table.h"
#include "exporters/rows/file_clock.h"
#include "exporters/rows/row_merge.h"
#include "exporters/rows/task_rows.h"
#include "exporters/rows/task_state.h"
#include "exporters/script/sample_details.h"
#include "exporters/script/script_options.h"
#include "exporters/script/trace_format.h"
#include "query-engine/select/selection.h"
#include "query-engine/service/export_format.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTextBufferSizeBytes = 64U << 10U;
constexpr std::size_t kFrameNamesSizeBytesMax = 32U << 20U;
constexpr std::size_t kCommSizeBytesMax = 255;
constexpr const char* kUnknown = "[unknown]";

// The printed text of a call chain's node, in any process.
struct PrintedFrame {
    std::string symbol;  // empty: none is known
    std::uint64_t symbol_offset = 0;
    std::uint64_t chain_address = 0;  // in the file; for the kernel and memory without a file, in memory
    ExportedImage image = 0;
    bool has_image = false;
};

// An event and how it is printed.
struct PrintedEvent {
    ScriptFields fields;
    bool has_chain = false;
    std::string name;
    std::unique_ptr<TraceFormat> format;
};

class Script : private MergeVisitor {
public:
    Script(const Scan& scan, Symbolizer& symbolizer, const ScriptOptions& options, ExportSink& sink)
        : scan_{scan},
          symbolizer_{symbolizer},
          options_{options},
          sink_{sink},
          clock_{scan},
          events_{scan, outcome_.warnings},
          merge_{scan, events_, clock_} {}

    Result<QueryEnd> run() {
        list_targets();
        list_events();
        PERFLEET_TRY(list_details());
        PERFLEET_TRY(merge_.run(*this));
        if (row_count_ == 0) {
            return Error{ErrorCode::kNotFound,
                         "no samples and no tracepoints are in the selection (perfleet losses lists what there is)"};
        }
        PERFLEET_TRY(flush());
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            outcome_.ledger.add(scan_.ledger(index, kKindsWithCallChains, outcome_.warnings));
        }
        const std::vector<std::string> unread = symbolizer_.warnings();
        outcome_.warnings.insert(outcome_.warnings.end(), unread.begin(), unread.end());
        outcome_.summary = counted_noun(row_count_, "row");
        return std::move(outcome_);
    }

private:
    void list_targets() {
        std::map<TargetId, std::size_t> indices;
        for (const ScannedSession& session : scan_.sessions()) {
            const auto [target, is_new] = indices.try_emplace(session.record.target, indices.size());
            target_of_session_.push_back(target->second);
            if (is_new) {
                const std::string& name = session.record.target_name;
                target_names_.push_back(options_.is_json ? name : printable(name));
                target_width_ = std::max(target_width_, target_names_.back().size());
            }
        }
        tasks_ = std::vector<TaskState>(indices.size());
    }

    void list_events() {
        const auto events = events_.events();
        const bool has_tracepoint_chains =
            std::any_of(events.begin(), events.end(), [](const auto& event) { return event.raw && event.callchain; });
        for (const ExportedEvent& event : events) {
            PrintedEvent printed;
            printed.fields = options_.fields_of(event, has_tracepoint_chains);
            printed.has_chain = event.callchain && printed.fields.has(ScriptField::kIp) && !options_.hides_call_graph;
            printed.name = options_.is_json ? event.name : printable(event.name);
            name_width_ = std::max(name_width_, printed.name.size());
            if (event.raw && printed.fields.has(ScriptField::kTrace)) {
                printed.format =
                    std::make_unique<TraceFormat>(event.name.substr(0, event.name.find(':')), event.format,
                                                  [this](std::uint64_t address) { return kernel_function(address); });
            }
            printed_.push_back(std::move(printed));
        }
    }

    // Like perf, refuses a field that no event has.
    Result<Done> list_details() {
        for (std::size_t session = 0; session < scan_.sessions().size(); ++session) {
            const SessionRecord& record = scan_.sessions()[session].record;
            for (std::uint16_t event = 0; event < record.events.size(); ++event) {
                details_.emplace(std::pair{session, event}, SampleDetails{record, EventNumber{event}});
            }
        }
        for (const auto& [field, is_added] : options_.fields) {
            const bool is_there = std::any_of(details_.begin(), details_.end(),
                                              [wanted = field](const auto& event) { return event.second.has(wanted); });
            if (is_added && is_detail(field) && !is_there) {
                return Error{ErrorCode::kUsage, "fields: no event of the selected sessions was recorded with " +
                                                    std::string{field_name(field)} + " (" + option_of(field) + ")"};
            }
        }
        return Done{};
    }

    // -- the rows, of RowMerge
    // -----------------------------------------------------------------------------------------

    void begin_epoch(const MergedEpoch& epoch, bool is_new_run) override {
        if (is_new_run) {
            std::for_each(tasks_.begin(), tasks_.end(), [](TaskState& tasks) { tasks.forget(); });
        }
        epochs_.resize(merge_.epochs().size());
        epochs_[epoch.index].images = add_images(images_, *epoch.dictionary);
    }

    void end_epoch(const MergedEpoch& epoch) override {
        names_size_bytes_ -= epochs_[epoch.index].names_size_bytes;
        epochs_[epoch.index] = {};
    }

    Result<Done> row(const MergedRow& row) override {
        epoch_ = &epochs_[row.epoch.index];
        if (row.event == nullptr) {
            take_task_row(tasks_of(row), images_, epoch_->images, row.rows, row.row);
            return Done{};
        }
        ++row_count_;
        const PrintedEvent& event = printed_[row.event->id - 1];
        if (options_.is_json) {
            add_object(event, row);
        } else {
            add_text(event, row);
        }
        return text_.size() < kTextBufferSizeBytes ? Result<Done>{Done{}} : flush();
    }

    Result<Done> flush() {
        auto written = sink_.write_at(offset_, std::as_bytes(std::span{text_}));
        offset_ += text_.size();
        text_.clear();
        return written;
    }

    // -- contents of a row
    // ----------------------------------------------------------------------------------------------

    static std::uint32_t pid_of(const MergedRow& row) { return static_cast<std::uint32_t>(row.columns->pid[row.row]); }
    static std::uint32_t tid_of(const MergedRow& row) { return static_cast<std::uint32_t>(row.columns->tid[row.row]); }
    static StackNumber stack_of(const MergedRow& row) {
        return StackNumber{static_cast<std::uint32_t>(row.columns->stack[row.row])};
    }

    std::size_t target_of(const MergedRow& row) const { return target_of_session_[row.epoch.session_index]; }
    TaskState& tasks_of(const MergedRow& row) { return tasks_[target_of(row)]; }

    // As perf's tod_scnprintf().
    std::string time_of_day(const MergedRow& row) const {
        const std::int64_t utc_ns = clock_.utc_of_ns(row.time_ns).value;
        const std::time_t seconds = utc_ns / kNsPerSecond;
        const std::int64_t rest_ns = utc_ns % kNsPerSecond;
        std::tm local{};
        char date[32]{};
        if (::localtime_r(&seconds, &local) == nullptr ||
            std::strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local) == 0) {
            return "<date is invalid>";
        }
        return options_.is_ns ? fmt::format("{}.{:09}", date, rest_ns) : fmt::format("{}.{:06}", date, rest_ns / 1'000);
    }

    std::string_view name_of_thread(const MergedRow& row) {
        const std::string_view name = tasks_of(row).name_of(pid_of(row), tid_of(row));
        return name.substr(0, std::min(name.find('\0'), kCommSizeBytesMax));
    }

    const PrintedFrame& name_of(StackNumber node) {
        const auto known = epoch_->names.find(node.value);
        if (known != epoch_->names.end()) {
            return known->second;
        }
        if (names_size_bytes_ > kFrameNamesSizeBytesMax) {
            names_size_bytes_ -= epoch_->names_size_bytes;
            epoch_->names_size_bytes = 0;
            epoch_->names.clear();
        }
        PrintedFrame name = find_name(node);
        const std::size_t size_bytes = sizeof(PrintedFrame) + name.symbol.capacity() + 64;
        names_size_bytes_ += size_bytes;
        epoch_->names_size_bytes += size_bytes;
        return epoch_->names.emplace(node.value, std::move(name)).first->second;
    }

    PrintedFrame find_name(StackNumber node) {
        PrintedFrame name;
        if (node == kEmptyStack) {
            return name;
        }
        const Frame frame = epoch_->images.dictionary->stack(node).frame;
        if (frame.image.value >= epoch_->images.images.size()) {
            return name;
        }
        name.image = epoch_->images.images[frame.image.value];
        const ImageDefinition& image = images_.definition(name.image);
        switch (images_.place(name.image)) {
            case ExportedImages::Place::kUnknown: return name;
            case ExportedImages::Place::kAnonymous:
            case ExportedImages::Place::kKernel: name.chain_address = image.address + frame.offset; break;
            case ExportedImages::Place::kProcess: name.chain_address = frame.offset; break;
        }
        name.has_image = true;
        const Symbol symbol = symbolizer_.resolve(image, frame.offset);
        if (symbol.resolved) {
            name.symbol = options_.is_json ? symbol.name : printable(symbol.name);
            name.symbol_offset = frame.offset - symbol.offset;
        }
        return name;
    }

    // The innermost frame's address in memory.
    std::uint64_t address_of(const MergedRow& row, const PrintedFrame& name) {
        if (!name.has_image || images_.place(name.image) != ExportedImages::Place::kProcess) {
            return name.chain_address;
        }
        const auto place = tasks_of(row).place(pid_of(row), name.image, name.chain_address);
        return place ? place->address : 0;
    }

    std::string image_name(const PrintedFrame& name) {
        if (!name.has_image) {
            return kUnknown;
        }
        const std::string& image = images_.definition(name.image).name;
        return options_.is_json ? image : printable(image);
    }

    template <class Visitor>
    void visit_chain(const MergedRow& row, const Visitor& visitor) {
        StackNumber node = stack_of(row);
        std::size_t depth = 0;
        do {
            visitor(name_of(node));
            node = node == kEmptyStack ? kEmptyStack : epoch_->images.dictionary->stack(node).parent;
        } while (node != kEmptyStack && ++depth < limits::kStackChainMax);
    }

    TraceFormat::Function kernel_function(std::uint64_t address) {
        for (const ExportedImage number : epoch_->images.images) {
            const ImageDefinition& image = images_.definition(number);
            if (is_kernel(image) && address >= image.address) {
                const Symbol symbol = symbolizer_.resolve(image, address - image.address);
                return {symbol.resolved ? symbol.name : "", image.address + symbol.offset};
            }
        }
        return {};
    }

    const SampleDetails& details_of(const MergedRow& row) const {
        static const SampleDetails kNone{SessionRecord{}, kNoEvent};
        const auto found = details_.find({row.epoch.session_index, row.series.event.value});
        return found != details_.end() ? found->second : kNone;
    }

    // -- text, as perf's builtin-script.c prints it
    // --------------------------------------------------------------------

    void add_frame(const PrintedEvent& event, const PrintedFrame& name, std::uint64_t address) {
        fmt::format_to(std::back_inserter(text_), "{:16x}", address);
        if (event.fields.has(ScriptField::kSym)) {
            text_ += ' ';
            text_ += name.symbol.empty() ? kUnknown : name.symbol;
            if (!name.symbol.empty() && event.fields.has(ScriptField::kSymoff)) {
                fmt::format_to(std::back_inserter(text_), "+0x{:x}", name.symbol_offset);
            }
        }
        if (event.fields.has(ScriptField::kDso)) {
            text_ += " (" + image_name(name) + ")";
        }
    }

    void add_text(const PrintedEvent& event, const MergedRow& row) {
        const auto has = [&](ScriptField field) { return event.fields.has(field); };
        const auto out = std::back_inserter(text_);
        if (target_names_.size() > 1) {
            fmt::format_to(out, "{:>{}} ", target_names_[target_of(row)], target_width_);
        }
        if (has(ScriptField::kComm)) {
            fmt::format_to(out, "{:>{}} ", printable(name_of_thread(row)), event.has_chain ? 0 : 16);
        }
        if (has(ScriptField::kPid) && has(ScriptField::kTid)) {
            fmt::format_to(out, "{:5}/{:<5} ", static_cast<std::int32_t>(pid_of(row)),
                           static_cast<std::int32_t>(tid_of(row)));
        } else if (has(ScriptField::kPid) || has(ScriptField::kTid)) {
            fmt::format_to(out, "{:5} ", static_cast<std::int32_t>(has(ScriptField::kPid) ? pid_of(row) : tid_of(row)));
        }
        if (has(ScriptField::kCpu)) {
            fmt::format_to(out, "[{:03}] ", row.columns->cpu[row.row]);
        }
        if (has(ScriptField::kTod)) {
            text_ += time_of_day(row) + ' ';
        }
        if (has(ScriptField::kTime)) {
            constexpr std::uint64_t kSecond = 1'000'000'000;
            const std::uint64_t seconds = row.time_ns / kSecond;
            if (options_.is_ns) {
                fmt::format_to(out, "{:5}.{:09}: ", seconds, row.time_ns % kSecond);
            } else {
                fmt::format_to(out, "{:>12}: ", fmt::format("{}.{:06}", seconds, row.time_ns % kSecond / 1'000));
            }
        }
        if (has(ScriptField::kPeriod)) {
            fmt::format_to(out, "{:10} ", row.columns->weight[row.row]);
        }
        if (has(ScriptField::kEvent)) {
            fmt::format_to(out, "{:>{}}: ", event.name, name_width_);
        }
        if (event.format != nullptr) {
            text_ += printable(event.format->text(static_cast<std::uint32_t>(row.columns->cpu[row.row]),
                                                  row.rows.bytes(ColumnId::kRawBytes, row.row)));
        }
        add_details(event, row, kNumbersOfDetails);
        if (event.has_chain) {
            text_ += '\n';
            visit_chain(row, [&](const PrintedFrame& name) {
                text_ += '\t';
                add_frame(event, name, name.chain_address);
                text_ += '\n';
            });
        } else if (has(ScriptField::kIp)) {
            text_ += ' ';
            const PrintedFrame& name = name_of(stack_of(row));
            add_frame(event, name, address_of(row, name));
        }
        add_details(event, row, kDetailsBehindChain);
        text_ += '\n';
    }

    void add_details(const PrintedEvent& event, const MergedRow& row, std::span<const ScriptField> fields) {
        for (const ScriptField field : fields) {
            if (event.fields.has(field)) {
                text_ += details_of(row).text(field, row);
            }
        }
    }

    // -- JSON
    // ----------------------------------------------------------------------------------------------------------

    void add_frame(Json& object, const PrintedEvent& event, const PrintedFrame& name, std::uint64_t address) {
        object["ip"] = fmt::format("{:#x}", address);
        if (event.fields.has(ScriptField::kSym)) {
            object["sym"] = name.symbol.empty() ? Json(nullptr) : Json(name.symbol);
        }
        if (event.fields.has(ScriptField::kSymoff)) {
            object["symoff"] = name.symbol.empty() ? Json(nullptr) : Json(name.symbol_offset);
        }
        if (event.fields.has(ScriptField::kDso)) {
            object["dso"] = name.has_image ? Json(image_name(name)) : Json(nullptr);
        }
    }

    void add_object(const PrintedEvent& event, const MergedRow& row) {
        const auto has = [&](ScriptField field) { return event.fields.has(field); };
        Json object = Json::object();
        if (target_names_.size() > 1) {
            object["target"] = target_names_[target_of(row)];
        }
        if (has(ScriptField::kComm)) {
            object["comm"] = name_of_thread(row);
        }
        if (has(ScriptField::kPid)) {
            object["pid"] = static_cast<std::int32_t>(pid_of(row));
        }
        if (has(ScriptField::kTid)) {
            object["tid"] = static_cast<std::int32_t>(tid_of(row));
        }
        if (has(ScriptField::kCpu)) {
            object["cpu"] = row.columns->cpu[row.row];
        }
        if (has(ScriptField::kTod)) {
            object["tod"] = time_of_day(row);
        }
        if (has(ScriptField::kTime)) {
            object["time_ns"] = row.time_ns;
            object["utc"] = format_time(clock_.utc_of_ns(row.time_ns));
        }
        if (has(ScriptField::kPeriod)) {
            object["period"] = row.columns->weight[row.row];
        }
        if (has(ScriptField::kEvent)) {
            object["event"] = event.name;
        }
        if (event.format != nullptr) {
            const std::string_view raw = row.rows.bytes(ColumnId::kRawBytes, row.row);
            object["trace"] = event.format->text(static_cast<std::uint32_t>(row.columns->cpu[row.row]), raw);
            Json& fields = object["fields"] = Json::object();
            for (const auto& [name, value] : event.format->fields(raw)) {
                std::visit([&field = fields[name]](const auto& known) { field = known; }, value);
            }
        }
        if (event.has_chain) {
            Json& chain = object["callchain"] = Json::array();
            visit_chain(row, [&](const PrintedFrame& name) {
                add_frame(chain.emplace_back(Json::object()), event, name, name.chain_address);
            });
        } else if (has(ScriptField::kIp)) {
            const PrintedFrame& name = name_of(stack_of(row));
            add_frame(object, event, name, address_of(row, name));
        }
        if (row.details != nullptr) {
            add_details(object, event, row);
        }
        text_ += printable_json(object.dump(-1, ' ', false, Json::error_handler_t::replace)) + '\n';
    }

    // Words of 64 bits as text, like `ip`: readers of JSON keep 53 of them.
    void add_details(Json& object, const PrintedEvent& event, const MergedRow& row) const {
        const auto hex = [](std::uint64_t value) { return fmt::format("{:#x}", value); };
        const SampleDetails& details = details_of(row);
        const auto add = [&](ScriptField field, const auto& value_of) {
            if (event.fields.has(field) && details.has(field)) {
                object[std::string{field_name(field)}] = value_of(field);
            }
        };
        const auto number = [&](ScriptField field) { return hex(details.number(field, row)); };
        const auto registers = [&](ScriptField field) {
            Json values = Json::object();
            for (const auto& [name, value] : details.registers(field, row)) {
                values[name] = hex(value);
            }
            return values;
        };
        add(ScriptField::kAddr, number);
        add(ScriptField::kDataSrc, number);
        add(ScriptField::kWeight, [&](ScriptField field) { return details.number(field, row); });
        add(ScriptField::kIregs, registers);
        add(ScriptField::kUregs, registers);
        add(ScriptField::kBrstack, [&](ScriptField) {
            Json branches = Json::array();
            for (const SampleDetails::Branch& branch : details.branches(row)) {
                branches.push_back({{"from", hex(branch.from)}, {"to", hex(branch.to)}, {"flags", hex(branch.flags)}});
            }
            return branches;
        });
        add(ScriptField::kPhysAddr, number);
    }

    struct Epoch {
        EpochImages images;
        std::unordered_map<std::uint32_t, PrintedFrame> names;  // by node
        std::size_t names_size_bytes = 0;
    };

    const Scan& scan_;
    Symbolizer& symbolizer_;
    const ScriptOptions& options_;
    ExportSink& sink_;
    QueryEnd outcome_;
    FileClock clock_;
    EventTable events_;
    RowMerge merge_;
    ExportedImages images_;
    std::vector<std::size_t> target_of_session_;  // by the session's index
    std::vector<std::string> target_names_;
    std::size_t target_width_ = 0;
    std::vector<TaskState> tasks_;                                            // of each target
    std::vector<PrintedEvent> printed_;                                       // by the event's id, from 1
    std::map<std::pair<std::size_t, std::uint16_t>, SampleDetails> details_;  // by session and event
    std::size_t name_width_ = 0;
    std::vector<Epoch> epochs_;
    Epoch* epoch_ = nullptr;  // of the row
    std::size_t names_size_bytes_ = 0;
    std::string text_;
    std::uint64_t offset_ = 0;
    std::uint64_t row_count_ = 0;
};

}  // namespace

ExportFormat script_format() {
    return with_options(
        {.name = "script",
         .summary = "Print samples and tracepoints, a line or an object each, as perf script does",
         .is_command = true},
        script_options(),
        [](const ExportInput& input, Symbolizer& symbolizer, const ScriptOptions& options, ExportSink& sink) {
            return Script{input.scan, symbolizer, options, sink}.run();
        });
}

}  // namespace perfleet
