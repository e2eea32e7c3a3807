#include "schemas/host/suggestion.h"

#include <algorithm>
#include <array>

namespace perfleet {
namespace {

constexpr std::size_t kWordSizeMax = 256;  // longer words aren't typing errors
constexpr std::size_t kPrefixSizeMin = 3;
constexpr std::size_t kSuggestionCountMax = 3;

std::string_view letters_of(std::string_view name) {
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    if (a.size() > kWordSizeMax || b.size() > kWordSizeMax) {
        return SIZE_MAX;
    }
    using Row = std::array<std::size_t, kWordSizeMax + 1>;
    Row before_last{};
    Row last{};
    Row row{};
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before_last = last;
        last = row;
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool is_equal = a[i - 1] == b[j - 1];
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (is_equal ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

std::vector<std::string> nearest_names(std::string_view word, const std::vector<std::string>& names) {
    const std::string_view letters = letters_of(word);
    std::vector<std::string> nearest;
    std::size_t nearest_distance = SIZE_MAX;
    for (const std::string& name : names) {
        const std::string_view known = letters_of(name);
        const bool is_beginning = letters.size() >= kPrefixSizeMin && known.starts_with(letters);
        const std::size_t distance = is_beginning ? 1 : edit_distance(letters, known);
        if (distance > std::max(letters.size(), known.size()) / 3 || distance > nearest_distance) {
            continue;
        }
        if (distance < nearest_distance) {
            nearest.clear();
            nearest_distance = distance;
        }
        if (nearest.size() < kSuggestionCountMax) {
            nearest.push_back(name);
        }
    }
    return nearest;
}

std::string suggestion_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t index = 0; index < names.size(); ++index) {
        text += index == 0 ? "; did you mean '" : index + 1 == names.size() ? " or '" : ", '";
        text += names[index] + "'";
    }
    return text.empty() ? text : text + "?";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    return suggestion_of(nearest_names(word, names));
}

}  // namespace perfleet
