#include "target-collector/intake/push/profile_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "schemas/pprof/profile_frames.h"
#include "schemas/session/named_function.h"
#include "schemas/text/hex.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/intake/session/run_hash.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/task_rows.h"

namespace perfleet {
namespace {

using enum ColumnId;

// Of a part. A sample adds no more than the half: a chain of 1,024 frames and the names of as many functions.
constexpr std::size_t kPartRowsMax = 8'192;
constexpr std::size_t kPartBytesMax = 3U << 19;    // of names and labels
constexpr std::size_t kPartCpusMax = 128;          // each takes memory of the batch
constexpr std::size_t kNameSizeBytesMax = 1'000;   // of all that is known of a function
constexpr std::uint32_t kNamedThreads = 1U << 22;  // numbers of threads that have only a name

std::string cut(std::string text, std::size_t size_bytes_max) {
    text.resize(std::min(text.size(), size_bytes_max));
    return text;
}

// Counts the rows and bytes that a part adds to the batch; then passes the part on, or drops it.
class PartSink final : public RowSink {
public:
    explicit PartSink(SealedRows& rows) : rows_{rows} {}

    void append(const RowView& row) override {
        ++row_count_;
        for (const auto& part : row.bytes) {
            size_bytes_ += part.size();
        }
        if (is_written_) {
            rows_.append(row);
        }
    }
    void count_lost(Series, CountName, std::uint64_t) override {}
    void count(Series series, CountName name, std::uint64_t value) override {
        if (is_written_) {
            rows_.count(series, name, value);
        }
    }
    [[nodiscard]] bool epoch_is_over() const override { return false; }
    void begin_epoch(Ticks now) override {
        rows_.begin_epoch(now);
        row_count_ = 0;
        size_bytes_ = 0;
    }

    void set_written(bool is_written) { is_written_ = is_written; }
    [[nodiscard]] std::size_t row_count() const { return row_count_; }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

private:
    SealedRows& rows_;
    bool is_written_ = true;
    std::size_t row_count_ = 0;
    std::size_t size_bytes_ = 0;
};

class ProfileWriter {
public:
    ProfileWriter(const PushedProfile& profile, PushHash hash, const std::function<bool(PushHash)>& is_stored,
                  SealedRows& rows)
        : profile_{profile},
          hash_{hash},
          is_stored_{is_stored},
          rows_{rows},
          sink_{rows},
          definitions_{sink_, images_, kPartRowsMax, [] {}} {}

    Result<WrittenProfile> run() {
        std::vector<std::size_t> order(profile_.samples.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [this](std::size_t i) { return profile_.samples[i].time_ns; });
        for (const std::size_t i : order) {
            const PushedSample& sample = profile_.samples[i];
            const std::string labels = labels_of(sample);
            const Stack* stack = known_stack(sample);
            if (!has_part_ || bucket_ != bucket_at(i) || !fits(sample, labels, stack != nullptr)) {
                PERFLEET_TRY(end_part());
                begin_part(sample, bucket_at(i));
                stack = known_stack(sample);
            }
            now_ = Ticks{static_cast<std::uint64_t>(sample.time_ns)};
            append(sample, stack != nullptr ? *stack : define_stack(sample), labels);
        }
        PERFLEET_TRY(end_part());
        return std::move(written_);
    }

private:
    [[nodiscard]] BucketNumber bucket_at(std::size_t i) const { return bucket_of(UtcNs{profile_.samples[i].time_ns}); }

    // Finds the frames of a chain that isn't known.
    [[nodiscard]] bool fits(const PushedSample& sample, const std::string& labels, bool has_stack) {
        if (!has_stack) {
            find_frames(sample);
        }
        const std::size_t rows = sample.values.size() + 3 + (has_stack ? 0 : 2 * chain_.size());
        const std::size_t bytes =
            (has_stack ? 0 : chain_size_bytes_) + sample.values.size() * labels.size() + kNameSizeBytesMax;
        return sink_.row_count() + rows <= kPartRowsMax && sink_.size_bytes() + bytes <= kPartBytesMax &&
               (cpus_.contains(sample.cpu) || cpus_.size() < kPartCpusMax);
    }

    void begin_part(const PushedSample& sample, BucketNumber bucket) {
        if (images_.image_count() > limits::kImagesMax / 2) {
            images_ = {};
            frames_.clear();
        }
        const PushHash part = hash_of_part(hash_, part_count_++);
        const bool is_there = is_stored_(part);
        written_.parts_there += is_there ? 1 : 0;
        if (!is_there) {
            written_.parts.push_back(part);
        }
        sink_.set_written(!is_there);
        is_written_ = !is_there;
        now_ = Ticks{static_cast<std::uint64_t>(sample.time_ns)};
        bucket_ = bucket;
        definitions_.begin_epoch(now_);
        stacks_.clear();
        present_.clear();
        cpus_.clear();
        TaskRow row;
        row.time = now_;
        row.op = TaskOp::kPushed;
        row.address = part.high;
        row.value = part.low;
        append_task_row(sink_, row);
        has_part_ = true;
    }

    Result<Done> end_part() {
        if (!has_part_) {
            return Done{};
        }
        if (rows_.last_seq() != seq_before_) {
            return Error{ErrorCode::kTooLarge, "a part of the profile doesn't fit into a batch"};
        }
        rows_.flush(now_);
        seq_before_ = rows_.last_seq();
        has_part_ = false;
        return rows_.error() ? Result<Done>{Error{*rows_.error()}} : Done{};
    }

    // -- frames -------------------------------------------------------------------------------------------------------

    struct Frames {
        std::vector<ResolvedFrame> frames;  // of a location, the innermost first
        std::size_t size_bytes = 0;         // of their names
    };

    struct Stack {
        StackNumber number;
        std::uint64_t cut_frame_count = 0;
    };

    // Of the part; samples that stand for several times have one chain.
    [[nodiscard]] const Stack* known_stack(const PushedSample& sample) const {
        const auto known = stacks_.find(sample.locations.data());
        return known == stacks_.end() ? nullptr : &known->second;
    }

    const Stack& define_stack(const PushedSample& sample) {
        find_frames(sample);
        return stacks_[sample.locations.data()] = {definitions_.stack(chain_, now_), cut_frame_count_};
    }

    // Sets chain_.
    void find_frames(const PushedSample& sample) {
        chain_.clear();
        chain_size_bytes_ = 0;
        cut_frame_count_ = 0;
        std::size_t frame_count = 0;
        for (const std::uint32_t location : sample.locations) {
            const Frames& frames = frames_of(location);
            frame_count += frames.frames.size();
            if (chain_.size() < limits::kCallChainDepthMax) {
                chain_.insert(chain_.end(), frames.frames.begin(), frames.frames.end());
                chain_size_bytes_ += frames.size_bytes;
            }
        }
        if (frame_count > limits::kCallChainDepthMax) {
            cut_frame_count_ = frame_count - limits::kCallChainDepthMax + 1;
            chain_.resize(limits::kCallChainDepthMax - 1);
            chain_.push_back({image({std::string{kCutChainName}, image_flags::kUnknown, 0, 0, {}}), 0});
        }
    }

    ImageIndex image(Image image) { return images_.intern(std::move(image)).value_or(0); }

    const Frames& frames_of(std::uint32_t number) {
        const auto [known, is_new] = frames_.try_emplace(number);
        if (is_new) {
            const PprofProfile::Location& location = profile_.tables->locations[number];
            for (const PprofProfile::Line& line : location.lines) {
                known->second.frames.push_back(named_frame(location, line, known->second.size_bytes));
                if (known->second.frames.size() == limits::kCallChainDepthMax) {
                    break;
                }
            }
            if (location.lines.empty()) {
                known->second.frames.push_back(place_in_file(location, known->second.size_bytes));
            }
        }
        return known->second;
    }

    [[nodiscard]] std::string mapping_name(std::uint32_t number) const {
        return cut(printable(profile_.tables->mappings[number].file_name), kNameSizeBytesMax / 4);
    }

    ResolvedFrame named_frame(const PprofProfile::Location& location, const PprofProfile::Line& line,
                              std::size_t& size_bytes) {
        const PprofProfile::Function function = line.function == PprofProfile::kNoFunction
                                                    ? PprofProfile::Function{}
                                                    : profile_.tables->functions[line.function];
        const std::string mapping = mapping_name(location.mapping);
        const std::string name =
            cut(printable(function.name.empty() ? function.system_name : function.name), kNameSizeBytesMax / 2);
        const std::string file = cut(printable(function.file_name), kNameSizeBytesMax / 4 - 16);
        const std::string shown =
            mapping.empty() ? cut(profile_.command, kNameSizeBytesMax / 8) : mapping.substr(mapping.rfind('/') + 1);
        const std::string text =
            NamedFunction{
                name.empty() ? "[unknown]" : name, shown, file,
                static_cast<std::uint32_t>(std::clamp<std::int64_t>(function.first_line, 0, kFunctionLineMax))}
                .text();
        size_bytes += text.size();
        const std::uint64_t kernel = mapping.starts_with("[kernel") ? image_flags::kKernel : 0;
        return {image({text, image_flags::kAnonymous | kernel, 0, kFunctionSize, {}}),
                offset_of_line(static_cast<std::uint64_t>(std::clamp<std::int64_t>(line.line, 0, kFunctionLineMax)))};
    }

    ResolvedFrame place_in_file(const PprofProfile::Location& location, std::size_t& size_bytes) {
        const PprofProfile::Mapping& mapping = profile_.tables->mappings[location.mapping];
        const std::string name = mapping_name(location.mapping);
        if (location.mapping == 0 || name.empty()) {
            return {image({"[unknown]", image_flags::kUnknown, 0, 0, {}}), location.address};
        }
        size_bytes += name.size();
        std::string id = bytes_of_hex(mapping.build_id).value_or("");
        id = id.size() > limits::kBuildIdSizeBytesMax ? std::string{} : id;
        const bool is_in_range = location.address >= mapping.start && mapping.start != 0;
        return {
            image({name, image_flags::kFileOffset, 0, 0, ImageContentId::from(std::as_bytes(std::span{id}), false)}),
            is_in_range ? location.address - mapping.start + mapping.file_offset : location.address};
    }

    // -- rows ---------------------------------------------------------------------------------------------------------

    std::string labels_of(const PushedSample& sample) {
        std::string labels = encode_labels(sample.labels);
        if (labels.size() > limits::kRawBytesMax) {
            ++written_.labels_dropped;
            labels.clear();
        }
        return labels;
    }

    void append(const PushedSample& sample, const Stack& stack, const std::string& labels) {
        cpus_.insert(sample.cpu);
        const std::uint32_t tid = thread_of(sample);
        const std::uint32_t pid = pid_of(sample) != 0 ? pid_of(sample) : tid;
        const bool is_zero = std::ranges::all_of(sample.values, [](std::int64_t value) { return value == 0; });
        for (std::uint16_t i = 0; i < sample.values.size(); ++i) {
            if (sample.values[i] != 0 || (is_zero && i == 0)) {
                append_row(EventNumber{i}, sample, pid, tid, stack, static_cast<std::uint64_t>(sample.values[i]),
                           labels);
            }
        }
    }

    void append_row(EventNumber event, const PushedSample& sample, std::uint32_t pid, std::uint32_t tid,
                    const Stack& stack, std::uint64_t value, const std::string& labels) {
        written_.rows += is_written_ ? 1 : 0;
        const Series series{labels.empty() ? Kind::kSample : Kind::kDetailedSample, event};
        if (stack.cut_frame_count > 0) {
            sink_.count(series, CountName::kFramesTruncated, stack.cut_frame_count);
        }
        if (labels.empty()) {
            sink_.append({series, now_,
                          row_of<Kind::kSample>(column<kCpu>(sample.cpu), column<kPid>(pid), column<kTid>(tid),
                                                column<kStack>(stack.number.value), column<kWeight>(value))});
            return;
        }
        std::array<std::span<const std::byte>, 5> bytes{};  // kRawBytes is the first byte column
        bytes.front() = std::as_bytes(std::span{labels});
        sink_.append({series, now_,
                      row_of<Kind::kDetailedSample>(column<kCpu>(sample.cpu), column<kPid>(pid), column<kTid>(tid),
                                                    column<kStack>(stack.number.value), column<kWeight>(value),
                                                    column<kRawSize>(labels.size())),
                      bytes});
    }

    [[nodiscard]] std::uint32_t pid_of(const PushedSample& sample) const {
        return sample.pid != 0 ? sample.pid : profile_.pid;
    }

    // Threads without a number have one by their name, the same at all times.
    std::uint32_t thread_of(const PushedSample& sample) {
        const std::string name = sample.thread_name.empty() ? profile_.command : printable(sample.thread_name);
        RunHash hash{0};
        hash.text(name);
        const std::uint32_t tid = sample.tid != 0       ? sample.tid
                                  : pid_of(sample) != 0 ? pid_of(sample)
                                                        : 1 + static_cast<std::uint32_t>(hash.value() % kNamedThreads);
        const auto [present, is_new] = present_.try_emplace(tid, name);
        if (is_new || present->second != name) {
            present->second = name;
            TaskRow row;
            row.time = now_;
            row.op = is_new ? TaskOp::kPresent : TaskOp::kComm;
            row.pid = pid_of(sample) != 0 ? pid_of(sample) : tid;
            row.tid = tid;
            row.string = definitions_.string(cut(name, limits::kLabelSizeBytesMax), now_);
            append_task_row(sink_, row);
        }
        return tid;
    }

    const PushedProfile& profile_;
    PushHash hash_;
    const std::function<bool(PushHash)>& is_stored_;
    SealedRows& rows_;
    PartSink sink_;
    ImageTable images_;
    EpochDefinitions definitions_;
    std::unordered_map<std::uint32_t, Frames> frames_;  // by location
    std::vector<ResolvedFrame> chain_;                  // of the current sample
    std::size_t chain_size_bytes_ = 0;
    std::unordered_map<const std::uint32_t*, Stack> stacks_;  // of the part, by the chain
    std::uint64_t cut_frame_count_ = 0;
    bool has_part_ = false;
    bool is_written_ = false;
    BucketNumber bucket_{0};
    Ticks now_{0};
    std::map<std::uint32_t, std::string> present_;  // threads of the part, and their names
    std::set<std::uint32_t> cpus_;
    std::uint64_t part_count_ = 0;
    Seq seq_before_ = rows_.last_seq();
    WrittenProfile written_;
};

}  // namespace

PushHash hash_of_push(std::string_view client, std::string_view path, std::string_view body) {
    const auto word = [&](std::uint64_t start) {
        RunHash hash{start};
        hash.text(client);
        hash.text(path);
        hash.text(body);
        return hash.value();
    };
    return {word(1), word(2)};
}

PushHash hash_of_part(PushHash of, std::uint64_t number) {
    const auto word = [&](std::uint64_t start) {
        RunHash hash{start};
        hash.integer(of.high);
        hash.integer(of.low);
        hash.integer(number);
        return hash.value();
    };
    return {word(1), word(2)};
}

Result<WrittenProfile> append_profile(const PushedProfile& profile, PushHash hash,
                                      const std::function<bool(PushHash)>& is_stored, SealedRows& rows) {
    return ProfileWriter{profile, hash, is_stored, rows}.run();
}

}  // namespace perfleet
