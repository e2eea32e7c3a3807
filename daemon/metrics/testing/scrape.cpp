#include "daemon/metrics/testing/scrape.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

namespace perfleet {
namespace {

constexpr int kHttpTimeoutS = 30;

bool is_name(std::string_view text, bool allows_colon) {
    const auto is_letter = [&](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
               (allows_colon && letter == ':');
    };
    if (text.empty() || !is_letter(text.front())) {
        return false;
    }
    for (const char letter : text) {
        if (!is_letter(letter) && (letter < '0' || letter > '9')) {
            return false;
        }
    }
    return true;
}

// As the exposition format writes numbers: what strtod reads, but no spaces before and nothing hexadecimal.
std::optional<double> number_of(const std::string& text) {
    if (text.empty() || text.find_first_of(" \t\nxXpP") != std::string::npos) {
        return std::nullopt;
    }
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size()) {
        return std::nullopt;
    }
    return value;
}

struct SampleLine {
    std::string name;
    std::map<std::string, std::string> labels;
    std::string written;  // name and labels
    double value = 0;
};

// Takes `{name="value",…}` off the front. False: it isn't well-formed.
bool take_labels(std::string_view& rest, std::map<std::string, std::string>& labels) {
    rest.remove_prefix(1);
    while (!rest.empty() && rest.front() != '}') {
        const std::size_t equals = rest.find('=');
        if (equals == std::string_view::npos || !is_name(rest.substr(0, equals), false) ||
            rest.substr(equals + 1, 1) != "\"") {
            return false;
        }
        const std::string name{rest.substr(0, equals)};
        rest.remove_prefix(equals + 2);
        std::string value;
        while (!rest.empty() && rest.front() != '"') {
            if (rest.front() == '\\') {
                const std::string_view escape = rest.substr(0, 2);
                if (escape != "\\\\" && escape != "\\\"" && escape != "\\n") {
                    return false;
                }
                value += escape == "\\n" ? '\n' : escape[1];
                rest.remove_prefix(2);
            } else {
                value += rest.front();
                rest.remove_prefix(1);
            }
        }
        if (rest.empty() || !labels.emplace(name, value).second) {
            return false;
        }
        rest.remove_prefix(1);
        if (rest.starts_with(',')) {
            rest.remove_prefix(1);
        } else if (!rest.starts_with('}')) {
            return false;
        }
    }
    if (rest.empty()) {
        return false;
    }
    rest.remove_prefix(1);
    return true;
}

std::optional<SampleLine> sample_of(std::string_view line) {
    SampleLine sample;
    std::string_view rest = line;
    const std::size_t name_end = rest.find_first_of("{ ");
    if (name_end == std::string_view::npos || !is_name(rest.substr(0, name_end), true)) {
        return std::nullopt;
    }
    sample.name = rest.substr(0, name_end);
    rest.remove_prefix(name_end);
    if (rest.front() == '{' && !take_labels(rest, sample.labels)) {
        return std::nullopt;
    }
    sample.written = line.substr(0, line.size() - rest.size());
    if (!rest.starts_with(' ')) {
        return std::nullopt;
    }
    const auto value = number_of(std::string{rest.substr(1)});
    if (!value) {
        return std::nullopt;
    }
    sample.value = *value;
    return sample;
}

class Reader {
public:
    ScrapedPage read(std::string_view text) {
        if (!text.ends_with('\n')) {
            report("the text doesn't end with a newline");
        }
        while (!text.empty()) {
            ++line_number_;
            const std::size_t end = std::min(text.find('\n'), text.size());
            take(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        end_family();
        return std::move(page_);
    }

private:
    void report(const std::string& what) {
        page_.problems.push_back("line " + std::to_string(line_number_) + ": " + what);
    }

    void take(std::string_view line) {
        if (line.starts_with("# HELP ")) {
            take_help(line.substr(7));
        } else if (line.starts_with("# TYPE ")) {
            take_type(line.substr(7));
        } else if (line.empty() || line.front() == '#') {
            report("an empty line or a comment, that no program of ours writes");
        } else {
            take_sample(line);
        }
    }

    void take_help(std::string_view rest) {
        const std::size_t space = rest.find(' ');
        if (space == std::string_view::npos || space + 1 == rest.size()) {
            return report("HELP without a text");
        }
        end_family();
        family_ = rest.substr(0, space);
        if (!is_name(family_, true)) {
            report("'" + family_ + "' is no name");
        }
        if (!page_.families.emplace(family_, ScrapedFamily{{}, std::string{rest.substr(space + 1)}, {}}).second) {
            report(family_ + " is there twice");
        }
    }

    void take_type(std::string_view rest) {
        const std::size_t space = rest.find(' ');
        if (family_.empty() || rest.substr(0, space) != family_ || !current().type.empty() ||
            !current().samples.empty()) {
            return report("TYPE that doesn't follow its HELP");
        }
        current().type = space == std::string_view::npos ? "" : rest.substr(space + 1);
        static const std::set<std::string> kTypes{"counter", "gauge", "histogram", "summary", "untyped"};
        if (!kTypes.contains(current().type)) {
            report("'" + current().type + "' is no type");
        }
        if (current().type == "counter" && !family_.ends_with("_total")) {
            report("the counter " + family_ + " isn't called …_total");
        }
    }

    void take_sample(std::string_view line) {
        const auto sample = sample_of(line);
        if (!sample) {
            return report("'" + std::string{line} + "' is no sample");
        }
        if (family_.empty() || current().type.empty()) {
            return report(sample->name + " without HELP and TYPE");
        }
        const std::string suffix = sample->name.starts_with(family_) ? sample->name.substr(family_.size()) : "?";
        const std::string& type = current().type;
        const bool fits = type == "histogram" ? suffix == "_bucket" || suffix == "_sum" || suffix == "_count"
                          : type == "summary" ? suffix.empty() || suffix == "_sum" || suffix == "_count"
                                              : suffix.empty();
        if (!fits) {
            return report(sample->name + " among the samples of " + family_);
        }
        if (!current().samples.emplace(sample->written, sample->value).second) {
            report(sample->written + " is there twice");
        }
        if (type == "counter" && !(sample->value >= 0)) {
            report(sample->written + " is below 0");
        }
        if (type == "histogram") {
            take_histogram(*sample, suffix);
        }
    }

    void take_histogram(const SampleLine& sample, const std::string& suffix) {
        if (suffix == "_sum") {
            has_sum_ = true;
        } else if (suffix == "_count") {
            count_ = sample.value;
        } else {
            const auto le = sample.labels.find("le");
            const auto bound = le == sample.labels.end() ? std::nullopt : number_of(le->second);
            if (!bound || !(*bound > last_bound_) || !(sample.value >= last_in_bucket_)) {
                report(sample.written + " doesn't ascend");
            }
            last_bound_ = bound.value_or(last_bound_);
            last_in_bucket_ = sample.value;
        }
    }

    void end_family() {
        if (family_.empty()) {
            return;
        }
        if (current().type.empty() || current().samples.empty()) {
            report(family_ + " has no type or no samples");
        }
        if (current().type == "histogram" && (!has_sum_ || !std::isinf(last_bound_) || count_ != last_in_bucket_)) {
            report(family_ + " lacks its sum or its last bucket, or its count is another");
        }
        has_sum_ = false;
        count_.reset();
        last_bound_ = -std::numeric_limits<double>::infinity();
        last_in_bucket_ = 0;
    }

    ScrapedFamily& current() { return page_.families[family_]; }

    ScrapedPage page_;
    int line_number_ = 0;
    std::string family_;
    // Of the histogram at hand.
    bool has_sum_ = false;
    std::optional<double> count_;
    double last_bound_ = -std::numeric_limits<double>::infinity();
    double last_in_bucket_ = 0;
};

std::string header_of(const std::string& headers, const std::string& name) {
    const std::size_t at = headers.find("\r\n" + name + ": ");
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + name.size() + 4;
    return headers.substr(begin, headers.find("\r\n", begin) - begin);
}

// Everything that comes after this request, until the server closes.
std::string answer_to(const std::string& address, const std::string& request) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
    const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval timeout{kHttpTimeoutS, 0};
    setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    std::string answer;
    if (colon != std::string::npos && inet_pton(AF_INET, address.substr(0, colon).c_str(), &place.sin_addr) == 1 &&
        connect(socket_fd, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 &&
        send(socket_fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
        std::array<char, 16'384> buffer{};
        for (ssize_t size = 0; (size = recv(socket_fd, buffer.data(), buffer.size(), 0)) > 0;) {
            answer.append(buffer.data(), static_cast<std::size_t>(size));
        }
    }
    close(socket_fd);
    return answer;
}

}  // namespace

std::optional<double> ScrapedPage::value(const std::string& sample) const {
    for (const auto& [name, family] : families) {
        if (const auto found = family.samples.find(sample); found != family.samples.end()) {
            return found->second;
        }
    }
    return std::nullopt;
}

double ScrapedPage::sum(const std::string& family) const {
    double sum = 0;
    if (const auto found = families.find(family); found != families.end()) {
        for (const auto& [name, value] : found->second.samples) {
            sum += value;
        }
    }
    return sum;
}

std::string ScrapedPage::all_problems() const {
    std::string text;
    for (const std::string& problem : problems) {
        text += problem + "\n";
    }
    return text;
}

ScrapedPage read_exposition(std::string_view text) { return Reader{}.read(text); }

HttpAnswer http_get(const std::string& address, const std::string& path) {
    const std::string text =
        answer_to(address, "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n");
    HttpAnswer answer;
    const std::size_t end = text.find("\r\n\r\n");
    if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) {
        return answer;
    }
    const std::string headers = text.substr(0, end + 2);
    answer.body = text.substr(end + 4);
    answer.content_type = header_of(headers, "Content-Type");
    const std::string length = header_of(headers, "Content-Length");
    if (length.empty() || length == std::to_string(answer.body.size())) {  // else it is cut off
        answer.status = std::atoi(text.c_str() + 9);
    }
    return answer;
}

ScrapedPage scrape(const std::string& address) {
    const HttpAnswer answer = http_get(address, "/metrics");
    ScrapedPage page = read_exposition(answer.body);
    if (answer.status != 200) {
        page.problems.push_back("http status " + std::to_string(answer.status));
    }
    if (!answer.content_type.starts_with("text/plain")) {
        page.problems.push_back("content type '" + answer.content_type + "'");
    }
    return page;
}

}  // namespace perfleet
