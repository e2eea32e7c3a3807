// Writes the selected rows as collapsed stacks, one line a call chain, as flame graph tools read them.
//
//   command;outermost;…;innermost amount
//
// Lines are sorted by bytes; each chain occurs once. In names a `;` becomes `:`, and control characters and bytes that
// aren't UTF-8 are escaped. The event is chosen as in `top`. A selection without samples gives an empty text and a
// warning. Errors: those of the store. The only option used is `has_inlines`.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/service/export_format.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/source_expansion.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

// Semicolons separate frames.
std::string field(std::string_view text_untrusted) {
    std::string text = printable(text_untrusted);
    std::replace(text.begin(), text.end(), ';', ':');
    return text;
}

constexpr std::size_t kLineSizeBytes = 96;  // about, beside its text

class Folding {
public:
    Folding(Symbolizer& symbolizer, QueryMemory& memory, unsigned worker_count)
        : names_{symbolizer, memory, worker_count}, share_{memory} {}

    // Stops counting if the memory is exceeded.
    void add(const Measure& measure, const EpochStackCounts& epoch) {
        total_ += epoch.total;
        names_.name_epoch(*epoch.dictionary, epoch.counts);
        fields_.resize(names_.name_count());
        std::vector<StackNumber> chain;
        for (const StackCount& count : epoch.counts) {
            chain_of(*epoch.dictionary, count.stack, chain);
            std::string line = field(root_name(measure, epoch, epoch.runners[count.runner_index]));
            for (auto frame = chain.rbegin(); frame != chain.rend(); ++frame) {
                line += ';';
                line += field_of(names_.number_of(*frame));
            }
            const auto [entry, is_new] = lines_.try_emplace(std::move(line));
            entry->second += count.sum;
            // Held twice: here and in the text.
            size_bytes_ += is_new ? kLineSizeBytes + 2 * entry->first.size() : 0;
            share_.set(names_.size_bytes() + size_bytes_);
            if (share_.is_exceeded()) {
                return;
            }
        }
    }

    [[nodiscard]] const FrameNames& names() const { return names_; }
    [[nodiscard]] const RowTotal& total() const { return total_; }

    // Lines of amounts above 0.
    [[nodiscard]] std::string text(ShownAmounts& amounts) const {
        std::string text;
        for (const auto& [line, sum] : lines_) {
            if (amounts.add(sum.amount) && sum.amount != 0) {
                text += line + ' ' + std::to_string(sum.amount) + '\n';
            }
        }
        return text;
    }

private:
    const std::string& field_of(std::uint32_t name) {
        std::string& known = fields_[name];
        if (known.empty()) {
            known = field(names_.symbols().text(names_.name(name).symbol));
            size_bytes_ += sizeof(std::string) + known.size();
        }
        return known;
    }

    FrameNames names_;
    std::vector<std::string> fields_;  // by the number of the name; only used ones are filled
    std::map<std::string, Sum> lines_;
    RowTotal total_;
    std::size_t size_bytes_ = 0;  // of the lines and fields
    MemoryShare share_;
};

Result<QueryEnd> write_folded(const ExportInput& input, Symbolizer& symbolizer, const SourceOptions& options,
                              ExportSink& sink) {
    const Scan& scan = input.scan;
    QueryEnd outcome;
    outcome.summary = "collapsed stacks";
    const auto measure = PERFLEET_TRY(choose_measure(scan));
    if (!measure) {
        outcome.warnings.push_back("the file is empty: " + no_samples_text(scan));
        return outcome;
    }
    Folding folding{symbolizer, scan.memory(), scan.worker_count()};
    SourceExpansion expansion{symbolizer, scan.memory(), options};
    PERFLEET_TRY(
        expansion.visit(scan, *measure, {}, [&](const EpochStackCounts& epoch) { folding.add(*measure, epoch); }));
    ShownAmounts amounts;
    const std::string text = folding.text(amounts);
    if (text.empty()) {
        outcome.warnings.push_back("the file is empty: " + no_samples_text(scan));
    }
    PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{text})));
    folding.names().add_hint(FrameNames::HintAt::kNoAddresses, outcome.warnings);
    amounts.warn_of_negative(measure->unit, outcome.warnings);
    finish_profile(scan, *measure, folding.total(), symbolizer, outcome.ledger, outcome.warnings);
    return outcome;
}

}  // namespace

ExportFormat folded_format() {
    return with_options({.name = "folded", .summary = "collapsed stacks, for flame graphs"}, inline_option(),
                        write_folded);
}

}  // namespace perfleet
