// Collects warnings about files with the same fault: a sentence for each of up to kSentencesMax files, else one line
// for all.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace perfleet {

class ReportedFiles {
public:
    static constexpr std::size_t kFilesMax = 256;  // kept at once
    static constexpr std::ptrdiff_t kSentencesMax = 3;

    // In the common line, `of_all` follows the names.
    explicit ReportedFiles(std::string of_all) : of_all_{std::move(of_all)} {}

    void add(const std::string& path, std::string sentence) {
        files_.emplace(path, std::move(sentence));
        if (files_.size() > kFilesMax) {  // drops the last by path, so the result doesn't depend on the order
            is_cut_ = true;
            files_.erase(std::prev(files_.end()));
        }
    }

    [[nodiscard]] bool has(const std::string& path) const { return files_.contains(path); }

    void remove(const std::string& path) { files_.erase(path); }

    void append_to(std::vector<std::string>& warnings) const {
        if (std::ssize(files_) <= kSentencesMax) {
            for (const auto& [path, sentence] : files_) {
                warnings.push_back(sentence);
            }
            return;
        }
        std::string some;
        for (auto file = files_.begin(); file != std::next(files_.begin(), kSentencesMax); ++file) {
            some += file->first + ", ";
        }
        warnings.push_back(some + (is_cut_ ? "and over " : "and ") +
                           std::to_string(std::ssize(files_) - kSentencesMax) + " more " + of_all_);
    }

private:
    std::string of_all_;
    std::map<std::string, std::string> files_;  // by path
    bool is_cut_ = false;
};

}  // namespace perfleet
