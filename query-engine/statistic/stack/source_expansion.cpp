#include "query-engine/statistic/stack/source_expansion.h"

#include <algorithm>

#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/source_frames.h"

namespace perfleet {
namespace {

constexpr std::size_t kPlaceSizeBytes = 128;  // of what is known of an offset, about
constexpr std::size_t kNodeSizeBytes = 96;    // of a node while an epoch is expanded, about

std::string line_text(const SourceFrame& frame) {
    return frame.line == 0 || frame.file.empty()
               ? std::string{}
               : frame.file.substr(frame.file.rfind('/') + 1) + ":" + std::to_string(frame.line);
}

// A name must not contain the separator.
std::string without_separator(std::string text) {
    std::replace(text.begin(), text.end(), SourceExpansion::kLineSeparator, '?');
    return text;
}

}  // namespace

const OptionTable<SourceOptions>& inline_option() {
    static const OptionTable<SourceOptions> kTable = OptionTable<SourceOptions>{}.flag(
        "inlines", &SourceOptions::has_inlines,
        "folded, pprof: inlined functions as calls, from debug information (`NAME (inlined)`)");
    return kTable;
}

// One epoch while its chains are expanded.
class SourceExpansion::Epoch {
public:
    Epoch(SourceExpansion& expansion, const EpochStackCounts& from)
        : expansion_{expansion}, from_{from}, old_{*from.dictionary} {}

    Result<EpochStackCounts> expand() {
        look_up();
        define_images();
        EpochStackCounts counts{from_.session_index, from_.epoch, from_.part, from_.total, nullptr, from_.runners, {}};
        std::vector<StackNumber> chain;
        for (const StackCount& count : from_.counts) {
            StackNumber node = kEmptyStack;
            chain_of(old_, count.stack, chain);
            auto known = std::find_if(chain.begin() + 1, chain.end(),
                                      [&](StackNumber caller) { return callers_.contains(caller.value); });
            node = known == chain.end() ? kEmptyStack : callers_.at(known->value);
            while (known != chain.begin()) {
                --known;
                const bool is_caller = known != chain.begin();
                node = add(node, *known, is_caller);
                if (is_caller) {
                    callers_.emplace(known->value, node);
                }
            }
            counts.counts.push_back({count.runner_index, node, count.sum});
        }
        if (failure_) {
            return *failure_;
        }
        std::sort(counts.counts.begin(), counts.counts.end(), [](const StackCount& a, const StackCount& b) {
            return std::pair{a.runner_index, a.stack} < std::pair{b.runner_index, b.stack};
        });
        // Chains that differed only in addresses may be equal now.
        std::size_t kept = 0;
        for (const StackCount& count : counts.counts) {
            StackCount* const last = kept == 0 ? nullptr : &counts.counts[kept - 1];
            if (last != nullptr && last->runner_index == count.runner_index && last->stack == count.stack) {
                last->sum += count.sum;
            } else {
                counts.counts[kept++] = count;
            }
        }
        counts.counts.resize(kept);
        counts.dictionary = std::make_shared<const EpochDictionary>(std::move(new_));
        return counts;
    }

    [[nodiscard]] std::size_t size_bytes() const { return std::size_t{last_} * kNodeSizeBytes; }

private:
    void look_up() {
        std::map<ImageNumber, std::vector<Place>> places;
        std::vector<bool> is_seen(old_.stack_count());
        for (const StackCount& count : from_.counts) {
            if (!old_.has_stack(count.stack)) {
                continue;
            }
            const Frame leaf = old_.stack(count.stack).frame;
            places[leaf.image].emplace_back(leaf.offset, false);
            for (StackNumber node = caller_of(old_, count.stack); node != kEmptyStack && !is_seen[node.value];
                 node = caller_of(old_, node)) {
                is_seen[node.value] = true;
                const Frame frame = old_.stack(node).frame;
                places[frame.image].emplace_back(frame.offset, true);
            }
        }
        for (auto& [image, of] : places) {
            std::sort(of.begin(), of.end());
            of.erase(std::unique(of.begin(), of.end()), of.end());
            expansion_.look_up(old_.image(image), of);
        }
        for (auto& [image, of] : places) {
            const auto known = expansion_.known_.find(old_.image(image));
            frames_[image] = known == expansion_.known_.end() ? nullptr : &known->second;
        }
    }

    // Defines the old images, then those of the made frames.
    void define_images() {
        const auto count = static_cast<std::uint32_t>(old_.image_count());
        for (std::uint32_t i = 0; i < count; ++i) {
            const ImageNumber number{i};
            if (!old_.has_image(number)) {
                continue;
            }
            take(new_.define_image(number, old_.image(number)));
            if (const auto kernel = old_.kernel_of(number)) {
                new_.set_kernel(number, *kernel);
            }
        }
        std::uint32_t next = count;
        for (const auto& [image, frames] : frames_) {
            if (frames != nullptr) {
                ImageDefinition made = old_.image(image);
                made.flags |= Symbolizer::kMadeFrame;
                take(new_.define_image(ImageNumber{next}, std::move(made)));
                made_images_[image] = ImageNumber{next++};
            }
        }
    }

    StackNumber add(StackNumber caller, StackNumber old, bool is_caller) {
        if (!old_.has_stack(old)) {
            return old == kEmptyStack ? caller : child(caller, old_.stack(old).frame);
        }
        const Frame frame = old_.stack(old).frame;
        const auto* const frames = frames_[frame.image];
        const auto known = frames == nullptr ? nullptr : find(*frames, {frame.offset, is_caller});
        if (known == nullptr) {
            return child(caller, frame);
        }
        for (std::size_t i = 0; i < known->size(); ++i) {
            if (i > 0 && inlined_[caller.value] >= kInlinedOfChainMax) {
                break;
            }
            const MadeFrame& made = (*known)[i];
            const StackNumber node =
                child(caller, made.is_made ? Frame{made_images_[frame.image], made.number} : frame);
            if (i > 0) {
                inlined_[node.value] = inlined_[caller.value] + 1;
            }
            caller = node;
        }
        return caller;
    }

    static const MadeFrames* find(const std::map<Place, MadeFrames>& frames, Place place) {
        const auto known = frames.find(place);
        return known == frames.end() || known->second.empty() ? nullptr : &known->second;
    }

    StackNumber child(StackNumber caller, const Frame& frame) {
        const auto [known, is_new] = children_.try_emplace({caller, frame}, StackNumber{last_ + 1});
        if (is_new) {
            ++last_;
            take(new_.define_stack(known->second, {caller, frame}));
            inlined_.resize(std::size_t{last_} + 1);
            inlined_[last_] = inlined_[caller.value];
        }
        return known->second;
    }

    void take(const Result<Done>& done) {
        if (!done.ok() && !failure_) {
            failure_ = Error{ErrorCode::kTooLarge,
                             "inlined functions and source lines make more call chains than an "
                             "epoch may have: they are left out"};
        }
    }

    SourceExpansion& expansion_;
    const EpochStackCounts& from_;
    const EpochDictionary& old_;
    EpochDictionary new_;
    std::map<ImageNumber, const std::map<Place, MadeFrames>*> frames_;
    std::map<ImageNumber, ImageNumber> made_images_;
    std::map<std::pair<StackNumber, Frame>, StackNumber> children_;
    std::unordered_map<std::uint32_t, StackNumber> callers_;  // by old number: the node as a caller
    std::vector<std::uint32_t> inlined_{0};                   // by new number: inlined frames of the chain up to it
    std::uint32_t last_ = 0;
    std::optional<Error> failure_;
};

void SourceExpansion::look_up(const ImageDefinition& image, const std::vector<Place>& places) {
    std::map<Place, MadeFrames>& known = known_[image];
    std::vector<Place> asked;
    std::vector<std::uint64_t> offsets;
    for (const Place& place : places) {
        if (!known.contains(place)) {
            asked.push_back(place);
            offsets.push_back(place.first - (place.second && place.first > 0 ? 1 : 0));
        }
    }
    const std::vector<std::vector<SourceFrame>> found = symbolizer_.source_frames().frames_at(image, offsets);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        MadeFrames& made = known[asked[i]];
        size_bytes_ += kPlaceSizeBytes + found[i].size() * sizeof(MadeFrame);
        const auto make = [&](std::string name, const std::string& line) {
            if (options_.lines_alone) {
                name = line.empty() ? kUnknownLine : line;
            } else if (name = without_separator(std::move(name)); options_.has_lines) {
                name += kLineSeparator + without_separator(line);
            }
            made.push_back({true, symbolizer_.number_of_made(std::move(name))});
        };
        if (found[i].empty()) {
            const std::string line = Symbolizer::interpreted_line(image, asked[i].first);
            if (options_.lines_alone || (options_.has_lines && !line.empty())) {
                make(symbolizer_.resolve(image, asked[i].first).name, line);
            }
            continue;
        }
        if (!options_.has_lines) {
            made.push_back({});
        } else {
            const Symbol symbol = symbolizer_.resolve(image, asked[i].first);
            const std::string name = symbol.resolved ? symbol.name : demangled_name(found[i].back().function);
            make(name.empty() ? symbol.name : name,
                 line_text(options_.has_inlines ? found[i].back() : found[i].front()));
        }
        for (std::size_t inner = found[i].size() - 1; options_.has_inlines && inner-- > 0;) {
            const std::string name = demangled_name(found[i][inner].function);
            make((name.empty() ? "[unknown]" : name) + " (inlined)", line_text(found[i][inner]));
        }
    }
}

Result<EpochStackCounts> SourceExpansion::expand(const EpochStackCounts& epoch) {
    Epoch expanded{*this, epoch};
    Result<EpochStackCounts> counts = expanded.expand();
    share_.set(size_bytes_ + symbolizer_.made_size_bytes() + expanded.size_bytes());
    return counts;
}

Result<Done> SourceExpansion::visit(const Scan& scan, const Measure& measure, const StackCountOptions& options,
                                    const std::function<void(const EpochStackCounts&)>& visitor) {
    if (!options_.any()) {
        return visit_stack_counts(scan, measure, options, visitor);
    }
    return visit_stack_counts(scan, measure, options, [&](const EpochStackCounts& epoch) {
        const Result<EpochStackCounts> expanded = expand(epoch);
        if (!expanded.ok()) {
            scan.note_left_out(epoch.session_index,
                               "epoch " + std::to_string(epoch.epoch.value) + ": " + expanded.error().message);
        }
        visitor(expanded.ok() ? *expanded : epoch);
    });
}

}  // namespace perfleet
