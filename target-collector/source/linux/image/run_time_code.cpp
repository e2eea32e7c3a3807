#include "target-collector/source/linux/image/run_time_code.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/generation.h"

namespace perfleet {
namespace {

// A growing map is read often, an unchanged one once a second.
constexpr std::uint64_t kPauseMinNs = 20'000'000;
constexpr std::uint64_t kPauseMaxNs = 1'000'000'000;

}  // namespace

CodeNames::CodeNames(std::uint32_t pid, std::shared_ptr<const CodeNames> parent)
    : pid_{pid}, file_{pid}, parent_{std::move(parent)}, generation_{next_generation()} {}

void CodeNames::refresh(std::uint64_t now_ns) {
    if (now_ns < next_look_ns_) {
        return;
    }
    const auto news = file_.read();
    if (news) {
        if (news->is_anew) {
            functions_.clear();
        }
        functions_.add(news->text);
    }
    const bool has_dumped = dump_ != nullptr && dump_->read(functions_);
    pause_ns_ = news || has_dumped ? kPauseMinNs : std::clamp(pause_ns_ * 2, kPauseMinNs, kPauseMaxNs);
    next_look_ns_ = now_ns + pause_ns_;
    if (news || has_dumped) {
        generation_ = next_generation();
    }
    if (parent_ != nullptr && parent_->generation() != parent_generation_) {
        parent_generation_ = parent_->generation();
        generation_ = next_generation();
    }
}

void CodeNames::look_for_dump(const MappingList& mappings, const ImageTable& images) {
    if (dump_ != nullptr || std::exchange(searched_mappings_, mappings.generation()) == mappings.generation()) {
        return;
    }
    for (const Mapping& mapping : mappings.mappings()) {
        if (const std::string& path = images.at(mapping.image).name; is_jit_dump_path(path)) {
            dump_ = std::make_unique<JitDump>(pid_, path);
            next_look_ns_ = 0;
            return;
        }
    }
}

std::optional<PerfMap::Function> CodeNames::find(std::uint64_t address) const {
    auto function = functions_.find(address);
    return function || parent_ == nullptr ? function : parent_->find(address);
}

CodeNames* RunTimeCode::follow(Process& process) {
    if (process.code == nullptr) {
        std::erase_if(followed_, [](const auto& names) { return names.expired(); });
        if (followed_.size() == kFollowedMax) {
            return nullptr;
        }
        process.code = std::make_shared<CodeNames>(process.pid, process.parent_code);
        followed_.push_back(process.code);
    }
    return process.code.get();
}

void RunTimeCode::name_frames(Process& process, ResolvedStack& stack, std::uint64_t now_ns) {
    CodeNames* names = nullptr;
    for (ResolvedFrame& frame : std::span{stack.frames}.first(stack.frame_count)) {
        const Image& memory = images_.at(frame.image);
        if ((memory.flags & image_flags::kAnonymous) == 0 || memory.size != 0) {
            continue;
        }
        if (names == nullptr) {
            names = follow(process);
            if (names == nullptr) {
                return;
            }
            if (process.mappings != nullptr) {
                names->look_for_dump(*process.mappings, images_);
            }
            names->refresh(now_ns);
        }
        const std::uint64_t address = memory.address + frame.offset;
        const auto function = names->find(address);
        if (!function) {
            continue;
        }
        const auto image = intern_function(
            {std::string{function->name}, image_flags::kAnonymous, function->start, function->size_bytes, {}});
        if (image) {
            frame = {*image, address - function->start};
        }
    }
}

std::optional<ImageIndex> RunTimeCode::intern_function(Image function) {
    if (is_full()) {
        return std::nullopt;
    }
    const std::size_t before = images_.image_count();
    const auto image = images_.intern(std::move(function));
    function_image_count_ += images_.image_count() - before;
    return image;
}

void RunTimeCode::refresh(std::uint64_t now_ns) {
    for (const auto& names : followed_) {
        if (const auto alive = names.lock()) {
            alive->refresh(now_ns);
        }
    }
}

}  // namespace perfleet
