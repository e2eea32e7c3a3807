// Writes the profile of one program (--image) as LLVM's sample profile in text, for `clang -fprofile-sample-use` and
// `llvm-profdata merge --sample`.
//
//   FUNCTION:TOTAL:HEAD             linkage name; the sum of its lines; samples of its first instruction
//    LINE[.DISCRIMINATOR]: COUNT    counted from the function's first line; [CALLED:COUNT …] if branches were recorded
//    LINE[.DISCRIMINATOR]: INLINED:TOTAL
//     LINE…                         of a function that was inlined there, counted from its own first line
//
// A line's count is the largest of its instructions. With recorded branches an instruction's count is that of the runs
// which it lies in, else of its samples. Lines and discriminators come from debug information.
//
// Errors: kNotFound: the debug information isn't here; those of read_hot_code().
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exporters/pgo/hot_code.h"
#include "query-engine/service/export_format.h"
#include "query-engine/symbol/source_frames.h"

namespace perfleet {
namespace {

constexpr std::size_t kOffsetsAtOnce = 4'096;
constexpr std::size_t kLineSizeBytes = 160;  // of memory, about

// LLVM puts three numbers into a discriminator, each in one bit (0), seven or fourteen: the block of the line, how
// often the code was duplicated, and which copy it is (DebugInfoMetadata.h, getUnsignedFromPrefixEncoding).
std::uint32_t first_number(std::uint32_t encoded) {
    if ((encoded & 1U) != 0) {
        return 0;
    }
    encoded >>= 1U;
    return (encoded & 0x20U) != 0 ? ((encoded >> 1U) & 0xfe0U) | (encoded & 0x1fU) : encoded & 0x1fU;
}

std::uint32_t without_first_number(std::uint32_t encoded) {
    return (encoded & 1U) != 0 ? encoded >> 1U : encoded >> ((encoded & 0x40U) != 0 ? 14U : 7U);
}

// A line of a function: its number from the function's first (16 bits, as the compiler compares them) and its block.
using Line = std::pair<std::uint32_t, std::uint32_t>;

Line line_of(const SourceFrame& frame) {
    return {(frame.line - frame.first_line) & 0xffffU, first_number(frame.discriminator)};
}

std::uint64_t duplication_of(const SourceFrame& frame) {
    return std::max(first_number(without_first_number(frame.discriminator)), 1U);
}

struct SampledFunction {
    std::uint64_t head = 0;
    std::map<Line, std::uint64_t> counts;
    std::map<Line, std::map<std::string, std::uint64_t>> called;
    std::map<Line, std::map<std::string, SampledFunction>> inlined;

    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const auto& [line, count] : counts) {
            sum += count;
        }
        for (const auto& [line, functions] : inlined) {
            for (const auto& [name, function] : functions) {
                sum += function.total();
            }
        }
        return sum;
    }
};

class SampleProfile {
public:
    SampleProfile(HotCode& code, Symbolizer& symbolizer, QueryMemory& memory)
        : code_{code}, symbolizer_{symbolizer}, memory_{memory}, share_{memory} {}

    Result<Done> count() {
        if (code_.branches.empty()) {
            for (const auto& [offset, count] : code_.samples) {
                add(offset, count);
            }
        } else {
            add_runs();
        }
        count_all();
        count_calls();
        PERFLEET_TRY(share_.check());
        if (functions_.empty()) {
            return Error{ErrorCode::kNotFound,
                         "llvm-sample: neither the store nor " + code_.image.name +
                             ", or a file below --symfs, has debug information of this build (-g)"};
        }
        code_.outcome.summary = std::to_string(functions_.size()) + " functions";
        if (unknown_count_ != 0) {
            code_.outcome.warnings.push_back(std::to_string(unknown_count_) +
                                             " addresses are left out: debug information has no line of them");
        }
        return Done{};
    }

    // The function with the most samples first.
    [[nodiscard]] std::string text() const {
        std::vector<std::pair<std::uint64_t, const std::pair<const std::string, SampledFunction>*>> order;
        for (const auto& function : functions_) {
            order.emplace_back(function.second.total(), &function);
        }
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        std::string text;
        for (const auto& [total, function] : order) {
            fmt::format_to(std::back_inserter(text), "{}:{}:{}\n", function->first, total, function->second.head);
            write(function->second, 1, text);
        }
        return text;
    }

private:
    // Instructions begin at some of a run's bytes; the others belong to the line of the instruction that they are in.
    void add_runs() {
        std::map<std::uint64_t, std::uint64_t> changes;  // of the count, modulo 2^64
        for (const auto& [run, count] : code_.runs) {
            changes[run.first] += count;
            changes[run.last + 1] -= count;
        }
        std::uint64_t count = 0;
        for (auto change = changes.begin(); change != changes.end(); ++change) {
            count += change->second;
            const auto next = std::next(change);
            for (std::uint64_t offset = change->first; count != 0 && offset < next->first; ++offset) {
                add(offset, count);
            }
        }
    }

    void add(std::uint64_t offset, std::uint64_t count) {
        offsets_.push_back(offset);
        counts_.push_back(count);
        if (offsets_.size() == kOffsetsAtOnce) {
            count_all();
        }
    }

    void count_all() {
        const auto frames = symbolizer_.source_frames().frames_at(code_.image, offsets_);
        for (std::size_t i = 0; i < offsets_.size(); ++i) {
            SampledFunction* const function = function_of(frames[i]);
            if (function == nullptr) {
                ++unknown_count_;
                continue;
            }
            const SourceFrame& inner = frames[i].front();
            std::uint64_t& known = function->counts[line_of(inner)];
            known = std::max(known, counts_[i] * duplication_of(inner));
            if (code_.branches.empty() && is_start(offsets_[i])) {
                functions_[frames[i].back().function].head += counts_[i];
            }
        }
        offsets_.clear();
        counts_.clear();
    }

    // Taken branches to the start of a function.
    void count_calls() {
        for (const auto& [branch, count] : code_.branches) {
            if (!branch.to || !is_start(*branch.to)) {
                continue;
            }
            const std::vector<SourceFrame> called = frames_at(*branch.to);
            if (!is_known(called)) {
                continue;
            }
            const std::string& name = called.back().function;
            functions_[name].head += count.taken;
            const std::vector<SourceFrame> caller = branch.from ? frames_at(*branch.from) : std::vector<SourceFrame>{};
            if (SampledFunction* const function = function_of(caller)) {
                function->called[line_of(caller.front())][name] += count.taken;
            }
        }
    }

    [[nodiscard]] std::vector<SourceFrame> frames_at(std::uint64_t offset) {
        return std::move(symbolizer_.source_frames().frames_at(code_.image, {&offset, 1}).front());
    }

    [[nodiscard]] bool is_start(std::uint64_t offset) {
        const Symbol symbol = symbolizer_.resolve(code_.image, offset);
        return symbol.resolved && symbol.offset == offset;
    }

    static bool is_known(const std::vector<SourceFrame>& frames) {
        return !frames.empty() && std::all_of(frames.begin(), frames.end(), [](const SourceFrame& frame) {
            return !frame.function.empty() && frame.line != 0 && frame.first_line != 0;
        });
    }

    // The innermost function; null if a function or a line isn't known.
    [[nodiscard]] SampledFunction* function_of(const std::vector<SourceFrame>& frames) {
        if (!is_known(frames)) {
            return nullptr;
        }
        SampledFunction* function = &functions_[frames.back().function];
        for (std::size_t i = frames.size() - 1; i > 0; --i) {
            function = &function->inlined[line_of(frames[i])][frames[i - 1].function];
        }
        share_.add(function->counts.contains(line_of(frames.front())) ? 0 : kLineSizeBytes);
        return function;
    }

    static void write_line(const Line& line, std::size_t depth, std::string& text) {
        text.append(depth, ' ').append(std::to_string(line.first));
        text += line.second == 0 ? "" : "." + std::to_string(line.second);
        text += ':';
    }

    static void write(const SampledFunction& function, std::size_t depth, std::string& text) {
        for (const auto& [line, count] : function.counts) {
            write_line(line, depth, text);
            text += ' ' + std::to_string(count);
            if (const auto called = function.called.find(line); called != function.called.end()) {
                for (const auto& [name, calls] : called->second) {
                    text += ' ' + name + ':' + std::to_string(calls);
                }
            }
            text += '\n';
        }
        for (const auto& [line, functions] : function.inlined) {
            for (const auto& [name, inner] : functions) {
                write_line(line, depth, text);
                text += ' ' + name + ':' + std::to_string(inner.total()) + '\n';
                write(inner, depth + 1, text);
            }
        }
    }

    HotCode& code_;
    Symbolizer& symbolizer_;
    QueryMemory& memory_;
    MemoryShare share_;
    std::vector<std::uint64_t> offsets_;  // still to be counted
    std::vector<std::uint64_t> counts_;
    std::map<std::string, SampledFunction> functions_;
    std::size_t unknown_count_ = 0;
};

Result<QueryEnd> write_llvm_sample(const ExportInput& input, Symbolizer& symbolizer, const NoOptions&,
                                   ExportSink& sink) {
    HotCode code = PERFLEET_TRY(read_hot_code(input, symbolizer, "llvm-sample"));
    SampleProfile profile{code, symbolizer, input.scan.memory()};
    PERFLEET_TRY(profile.count());
    const std::string text = profile.text();
    PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{text})));
    return std::move(code.outcome);
}

}  // namespace

ExportFormat llvm_sample_format() {
    return with_options(
        {.name = "llvm-sample", .summary = "for clang -fprofile-sample-use: a program's profile (--image)"},
        no_options(), write_llvm_sample);
}

}  // namespace perfleet
