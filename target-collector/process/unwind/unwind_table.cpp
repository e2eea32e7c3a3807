#include "target-collector/process/unwind/unwind_table.h"

#include <algorithm>
#include <limits>
#include <list>
#include <map>
#include <optional>

#include "target-collector/process/unwind/cfa_program.h"
#include "target-collector/process/unwind/frame_entry.h"

namespace perfleet {

class UnwindTableBuilder {
public:
    explicit UnwindTableBuilder(const ElfFrames& frames) : frames_{frames} {
        table_.machine_ = frames.machine;
        (void)rule_index({});
    }

    Result<UnwindTable> build() {
        for (const FrameSection& section : frames_.sections) {
            add_functions(section);
        }
        std::stable_sort(functions_.begin(), functions_.end(),
                         [](const Function& a, const Function& b) { return a.file_offset < b.file_offset; });
        std::uint64_t end = 0;
        for (const Function& function : functions_) {
            if (function.file_offset < end) {
                continue;  // overlaps an earlier function: the first one counts
            }
            add_gap(end, function.file_offset);
            add_rows(function);
            end = function.file_offset + function.fde.size_bytes;
            if (is_full_) {
                return Error{ErrorCode::kTooLarge, "its unwind information is too large"};
            }
        }
        add_gap(end, std::numeric_limits<std::uint64_t>::max());
        table_.places_.shrink_to_fit();
        table_.rule_indices_.shrink_to_fit();
        table_.rules_.shrink_to_fit();
        return std::move(table_);
    }

private:
    struct Function {
        std::uint64_t file_offset = 0;
        FrameFde fde;
        const FrameCie* cie = nullptr;
        const FrameState* initial = nullptr;
    };

    // Adds rows between functions. A program's entry, which has no caller, often lacks unwind information (ld.so).
    void add_gap(std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t entry = file_offset_of(frames_.entry).value_or(0);
        if (end - begin > kUnwindPaddingBytesMax && begin != 0 && begin != entry) {
            add_row(begin, {});
        }
        if (entry != 0 && entry >= begin && entry < end) {
            add_row(entry, {.cfa_base = CfaBase::kOutermost});
            if (end - entry > kUnwindEntryBytesMax) {
                add_row(entry + kUnwindEntryBytesMax, {});
            }
        }
    }

    [[nodiscard]] std::optional<std::uint64_t> file_offset_of(std::uint64_t address) const {
        for (const CodeSegment& one : frames_.code) {
            if (address >= one.address && address - one.address < one.size_bytes) {
                // Table offsets have 32 bits.
                const std::uint64_t offset = one.file_offset + (address - one.address);
                return offset <= std::numeric_limits<std::uint32_t>::max() - kUnwindEntryBytesMax
                           ? std::optional{offset}
                           : std::nullopt;
            }
        }
        return std::nullopt;
    }

    void add_functions(const FrameSection& section) {
        FrameEntries& entries = entries_.emplace_back(read_frame_entries(section));
        table_.refused_count_ += entries.refused_count;
        std::vector<std::optional<FrameState>>& states = states_.emplace_back();
        for (const FrameCie& cie : entries.cies) {
            // Entries may overlap; in total, no more instructions are run than the sections have bytes.
            instructions_left_ -= std::min(instructions_left_, cie.instructions.size());
            states.push_back(instructions_left_ > 0 ? initial_frame_state(frames_.machine, cie) : std::nullopt);
        }
        for (FrameFde& fde : entries.fdes) {
            const auto segment = std::find_if(frames_.code.begin(), frames_.code.end(), [&](const CodeSegment& one) {
                return fde.address >= one.address && fde.address - one.address < one.size_bytes;
            });
            if (segment == frames_.code.end()) {
                continue;  // code that the linker discarded
            }
            fde.size_bytes = std::min(fde.size_bytes, segment->size_bytes - (fde.address - segment->address));
            const std::uint64_t offset = segment->file_offset + (fde.address - segment->address);
            const auto& initial = states[fde.cie_index];
            if (!initial || offset + fde.size_bytes > std::numeric_limits<std::uint32_t>::max() ||
                fde.instructions.size() > instructions_left_) {
                ++table_.refused_count_;
                continue;
            }
            if (fde.size_bytes > 0) {
                instructions_left_ -= fde.instructions.size();
                functions_.push_back({offset, fde, &entries.cies[fde.cie_index], &*initial});
            }
        }
    }

    void add_rows(const Function& function) {
        if (!frame_rows(frames_.machine, *function.cie, *function.initial, function.fde, rows_)) {
            ++table_.refused_count_;
        }
        for (const FrameRow& row : rows_) {
            add_row(function.file_offset + (row.address - function.fde.address), row.rule);
        }
    }

    void add_row(std::uint64_t file_offset, const UnwindRule& rule) {
        const auto index = rule_index(rule);
        if (!index || table_.places_.size() >= kUnwindRowsMax) {
            is_full_ = true;
            return;
        }
        if (table_.rule_indices_.empty() || table_.rule_indices_.back() != *index) {
            table_.places_.push_back(static_cast<std::uint32_t>(file_offset));
            table_.rule_indices_.push_back(*index);
        }
    }

    std::optional<std::uint16_t> rule_index(const UnwindRule& rule) {
        const auto [found, is_new] = indices_.try_emplace(rule, static_cast<std::uint16_t>(table_.rules_.size()));
        if (is_new) {
            if (table_.rules_.size() == kUnwindRulesMax) {
                indices_.erase(found);
                return std::nullopt;
            }
            table_.rules_.push_back(rule);
        }
        return found->second;
    }

    const ElfFrames& frames_;
    std::size_t instructions_left_ = 2 * kFrameSectionBytesMax;
    std::list<FrameEntries> entries_;
    std::list<std::vector<std::optional<FrameState>>> states_;
    std::vector<Function> functions_;
    std::vector<FrameRow> rows_;
    std::map<UnwindRule, std::uint16_t> indices_;
    bool is_full_ = false;
    UnwindTable table_;
};

Result<UnwindTable> UnwindTable::compile(const ElfFrames& frames) { return UnwindTableBuilder{frames}.build(); }

Result<UnwindTable> UnwindTable::of_image(const ReadImage& read, std::uint64_t size_bytes) {
    auto frames = read_elf_frames(read, size_bytes);
    return frames.ok() ? compile(*frames) : Result<UnwindTable>{std::move(frames).error()};
}

const UnwindRule& UnwindTable::find(std::uint64_t file_offset) const {
    const auto after = std::upper_bound(places_.begin(), places_.end(), file_offset);
    return after == places_.begin() ? rules_.front()
                                    : rules_[rule_indices_[static_cast<std::size_t>(after - places_.begin()) - 1]];
}

std::size_t UnwindTable::size_bytes() const {
    return sizeof(*this) + (places_.capacity() * sizeof(places_[0])) +
           (rule_indices_.capacity() * sizeof(rule_indices_[0])) + (rules_.capacity() * sizeof(rules_[0]));
}

}  // namespace perfleet
