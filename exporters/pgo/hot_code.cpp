#include "exporters/pgo/hot_code.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "exporters/profile/profile_tables.h"
#include "exporters/rows/event_table.h"
#include "exporters/rows/file_clock.h"
#include "exporters/rows/row_merge.h"
#include "exporters/rows/task_rows.h"
#include "exporters/rows/task_state.h"
#include "exporters/script/sample_details.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/perf/recorded_attr.h"
#include "schemas/text/hex.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

constexpr std::size_t kCountSizeBytes = 96;       // of an entry of a map, about
constexpr std::uint64_t kAnyBranch = 1ULL << 3U;  // PERF_SAMPLE_BRANCH_ANY

// The properties that are the same in all sessions that ran the build.
using Build = std::pair<std::string, std::string>;  // build-id, path

Build build_of(const ImageDefinition& image) { return {image.build_id, image.name}; }

std::unique_ptr<ElfFile> file_of(const ImageDefinition& image, const SymbolPaths& paths) {
    const std::string path = own_file_of(image, paths);
    auto file = path.empty() ? Result<std::unique_ptr<ElfFile>>{nullptr} : ElfFile::open(path);
    return file.ok() && *file != nullptr && (*file)->has_build_id(build_id_of(image)) ? std::move(file).value()
                                                                                      : nullptr;
}

// Whether the event's branch stacks have all branches: else code between two of them may have jumped.
bool has_all_branches(const EventRecord& event) {
    return (perf::attr_field(event.attr, perf::attr_offset::kBranchSampleType) & kAnyBranch) != 0;
}

// Reads the branch stacks of one event. Their addresses are those of processes.
class BranchReader : private MergeVisitor {
public:
    BranchReader(const Scan& scan, HotCode& code)
        : scan_{scan}, code_{code}, clock_{scan}, events_{scan, code.outcome.warnings}, merge_{scan, events_, clock_} {}

    Result<Done> run() {
        PERFLEET_TRY(merge_.run(*this));
        if (long_run_count_ != 0) {
            code_.outcome.warnings.push_back(std::to_string(long_run_count_) +
                                             " runs between branches are left out: they are longer than " +
                                             std::to_string(kBranchRunSizeBytesMax >> 10U) + " KiB");
        }
        return Done{};
    }

private:
    void begin_epoch(const MergedEpoch& epoch, bool is_new_run) override {
        if (is_new_run) {
            tasks_.clear();
        }
        epoch_images_[epoch.index] = add_images(images_, *epoch.dictionary);
    }

    void end_epoch(const MergedEpoch& epoch) override { epoch_images_.erase(epoch.index); }

    Result<Done> row(const MergedRow& row) override {
        const SessionRecord& session = scan_.sessions()[row.epoch.session_index].record;
        TaskState& tasks = tasks_[session.target];
        if (row.event == nullptr) {
            take_task_row(tasks, images_, epoch_images_[row.epoch.index], row.rows, row.row);
            return Done{};
        }
        const EventRecord* const event = session.event_at(row.series.event);
        if (row.details != nullptr && event != nullptr && event->name == code_.event && has_all_branches(*event)) {
            add(tasks, static_cast<std::uint32_t>(row.columns->pid[row.row]),
                SampleDetails{session, row.series.event}.branches(row));
        }
        return code_.share.check();
    }

    // The latest branch first.
    void add(TaskState& tasks, std::uint32_t pid, const std::vector<SampleDetails::Branch>& branches) {
        std::optional<std::uint64_t> last;  // the branch before which the run of this one's target ends
        for (const SampleDetails::Branch& branch : branches) {
            const HotCode::Branch place{offset_of(tasks, pid, branch.from), offset_of(tasks, pid, branch.to)};
            if (place.from || place.to) {
                HotCode::BranchCount& count = code_.branches[place];
                ++count.taken;
                count.mispredicted += branch.flags & 1U;
            }
            if (place.to && last && *last >= *place.to) {
                if (*last - *place.to > kBranchRunSizeBytesMax) {
                    ++long_run_count_;
                } else {
                    ++code_.runs[{*place.to, *last}];
                }
            }
            last = place.from;
        }
        code_.share.set((code_.samples.size() + code_.branches.size() + code_.runs.size()) * kCountSizeBytes);
    }

    // Empty: outside the program.
    std::optional<std::uint64_t> offset_of(TaskState& tasks, std::uint32_t pid, std::uint64_t address) {
        const ExportedMapping* const mapping = tasks.mapping_at(pid, address);
        return mapping != nullptr && build_of(images_.definition(mapping->image)) == build_of(code_.image)
                   ? std::optional{address - mapping->start + mapping->file_offset}
                   : std::nullopt;
    }

    const Scan& scan_;
    HotCode& code_;
    FileClock clock_;
    EventTable events_;
    RowMerge merge_;
    ExportedImages images_;
    std::map<std::size_t, EpochImages> epoch_images_;
    std::map<TargetId, TaskState> tasks_;
    std::uint64_t long_run_count_ = 0;
};

bool has_branches(const Scan& scan, const std::string& event, std::vector<std::string>& warnings) {
    bool has_all = false;
    bool has_some = false;
    for (const ScannedSession& session : scan.sessions()) {
        for (const Series series : session.series) {
            const EventRecord* const record = session.record.event_at(series.event);
            if (series.kind == Kind::kDetailedSample && record != nullptr && record->name == event) {
                has_all = has_all || has_all_branches(*record);
                has_some = has_some || perf::attr_field(record->attr, perf::attr_offset::kBranchSampleType) != 0;
            }
        }
    }
    if (has_some && !has_all) {
        warnings.emplace_back("the recorded branch stacks aren't used: they don't have all branches (-b, -j any)");
    }
    return has_all;
}

// Samples of one build.
struct BuildSamples {
    const ImageDefinition* image = nullptr;
    std::unique_ptr<ElfFile> file;
    std::uint64_t sum = 0;
    std::map<std::uint64_t, std::uint64_t> by_offset;
};

std::map<Build, BuildSamples> samples_by_build(const ProfileTables& tables) {
    std::map<Build, BuildSamples> builds;
    for (std::size_t i = 0; i < tables.samples().size(); ++i) {
        const std::uint32_t node = tables.samples()[i].node;
        if (node == 0 || tables.value(i, tables.default_value()) <= 0) {
            continue;  // without frames, or of an imported difference
        }
        const ProfileLocation& place = tables.locations()[tables.nodes()[node].location];
        const ImageDefinition& image = tables.images()[place.image].definition;
        BuildSamples& build = builds[build_of(image)];
        build.image = &image;
        const auto amount = static_cast<std::uint64_t>(tables.value(i, tables.default_value()));
        build.sum += amount;
        build.by_offset[place.offset] += amount;
    }
    return builds;
}

}  // namespace

Result<HotCode> read_hot_code(const ExportInput& input, Symbolizer& symbolizer, std::string_view format) {
    const Scan& scan = input.scan;
    const std::string name{format};
    if (scan.selection().filter.images.size() != 1) {
        return Error{ErrorCode::kUsage,
                     name + ": --image must name the one program that the profile is for: its path, or the last part"};
    }
    ProfileTables tables{symbolizer, scan.memory(), scan.worker_count()};
    PERFLEET_TRY(tables.count(scan));
    std::map<Build, BuildSamples> builds = samples_by_build(tables);
    if (builds.empty()) {
        return Error{ErrorCode::kNotFound, name + ": no samples are in " + scan.selection().filter.images.front() +
                                               " (perfleet top lists images)"};
    }
    HotCode code{.share = MemoryShare{scan.memory()}};
    for (const auto& [build, samples] : builds) {
        code.share.add(samples.by_offset.size() * kCountSizeBytes);
    }
    if (code.share.is_exceeded()) {
        return scan.memory().exceeded();
    }
    ProfileNotes notes = tables.notes(scan);
    code.outcome.warnings = std::move(notes.warnings);
    code.event = tables.events().front().event;
    for (const auto& [event, ledger] : notes.ledgers) {
        code.outcome.ledger.add(ledger);
    }
    for (auto& [build, samples] : builds) {
        samples.file = file_of(*samples.image, input.paths);
    }
    const auto chosen = std::max_element(builds.begin(), builds.end(), [](const auto& a, const auto& b) {
        return std::tuple{a.second.file != nullptr, a.second.sum} < std::tuple{b.second.file != nullptr, b.second.sum};
    });
    for (const auto& [build, samples] : builds) {
        if (build != chosen->first) {
            code.outcome.warnings.push_back("left out: " + std::to_string(samples.sum) + " " +
                                            tables.values()[tables.default_value()].unit + " of " +
                                            printable(build.second) + " with build-id " + hex_of(build.first));
        }
    }
    code.image = *chosen->second.image;
    code.file = std::move(chosen->second.file);
    code.samples = std::move(chosen->second.by_offset);
    if (has_branches(scan, code.event, code.outcome.warnings)) {
        PERFLEET_TRY((BranchReader{scan, code}.run()));
    }
    return code;
}

}  // namespace perfleet
