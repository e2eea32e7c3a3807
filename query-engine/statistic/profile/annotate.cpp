#include "query-engine/statistic/profile/annotate.h"

#include <map>
#include <tuple>
#include <utility>

#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

constexpr std::size_t kAddressSizeBytes = 160;  // of memory, about

}  // namespace

Result<Answer> make_annotate(const Scan& scan, Symbolizer& symbolizer) {
    const auto measure = PERFLEET_TRY(choose_measure(scan));
    const std::string unit = measure ? measure->unit : kRowUnit;
    Answer answer;
    answer.columns = {{"image", ""},     {"build_id", ""},          {"symbol", ""}, {"first", "byte"},
                      {"last", "byte"},  {"offset", "byte"},        {"self", unit}, {"is_file_offset", ""},
                      {"start", "byte"}, {"self_samples", kRowUnit}};
    if (!measure) {
        answer.warnings.push_back(no_samples_text(scan));
        return answer;
    }
    std::map<std::pair<ImageDefinition, std::uint64_t>, Sum> sums;  // by image and offset
    RowTotal total;
    MemoryShare share{scan.memory()};
    PERFLEET_TRY(visit_stack_counts(scan, *measure, {}, [&](const EpochStackCounts& epoch) {
        total += epoch.total;
        for (const StackCount& count : epoch.counts) {
            if (count.stack == kEmptyStack) {
                continue;
            }
            const Frame frame = epoch.dictionary->stack(count.stack).frame;
            sums[{epoch.dictionary->image(frame.image), frame.offset}] += count.sum;
        }
        share.set(sums.size() * kAddressSizeBytes);
    }));
    PERFLEET_TRY(scan.memory().check());
    std::map<std::tuple<std::string, std::string, std::string, std::uint64_t>, std::vector<AnswerValue>> rows;
    for (const auto& [place, sum] : sums) {
        const auto& [image, offset] = place;
        const Symbol symbol = symbolizer.function_at(image, offset);
        const bool is_file_offset = (image.flags & image_flags::kFileOffset) != 0;
        const std::uint64_t base = is_file_offset ? 0 : image.address;
        std::string build_id = hex_of(build_id_of(image));
        rows[{image.name, build_id, symbol.name, base + offset}] = {
            AnswerValue{image.name},           AnswerValue{build_id},
            AnswerValue{symbol.name},          AnswerValue{base + symbol.first},
            AnswerValue{base + symbol.last},   AnswerValue{base + offset},
            integer_value(sum.amount),         AnswerValue{std::uint64_t{is_file_offset ? 1U : 0U}},
            AnswerValue{base + symbol.offset}, AnswerValue{sum.rows}};
    }
    for (auto& [key, row] : rows) {
        answer.rows.push_back(std::move(row));
    }
    set_measure(*measure, total, answer);
    warn_of_no_samples(*measure, !answer.rows.empty(), answer.warnings);
    finish_profile(scan, *measure, total, symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
