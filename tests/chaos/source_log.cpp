#include "tests/chaos/source_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "schemas/vocabulary/assert.h"

namespace perfleet::chaos {
namespace {

std::string text_of(const RowRanges& rows) {
    std::ostringstream text;
    for (const auto& [series, range] : rows) {
        text << ' ' << static_cast<unsigned>(series.kind) << ' ' << series.event.value << ' ' << range.first << ' '
             << range.last;
    }
    return text.str();
}

bool read_range(std::istream& line, Series& series, RowRange& range) {
    unsigned kind = 0;
    if (!(line >> kind >> series.event.value >> range.first >> range.last)) {
        return false;
    }
    series.kind = static_cast<Kind>(kind);
    return true;
}

RowRanges read_ranges(std::istream& line) {
    RowRanges rows;
    Series series;
    RowRange range;
    while (read_range(line, series, range)) {
        rows[series] = range;
    }
    return rows;
}

// Reads lines in their order, because the dropped batches follow from the order of acknowledging and sending.
class LogReader {
public:
    explicit LogReader(SourceLog& log) : log_{log} {}

    bool take(const std::string& text) {
        std::istringstream line{text};
        std::string word;
        line >> word;
        std::uint64_t number = 0;
        if (word == "session") {
            return static_cast<bool>(line >> std::hex >> log_.session.high >> log_.session.low >> log_.target.value);
        }
        if (word == "produced") {
            Series series;
            RowRange range;
            if (!read_range(line, series, range)) {
                return false;
            }
            log_.produced[series] = range.last;
            return true;
        }
        if (word == "sealed") {
            SourceLog::Sealed sealed;
            if (!(line >> number >> sealed.epoch.value >> sealed.bucket.value)) {
                return false;
            }
            sealed.rows = read_ranges(line);
            account(sealed.rows);
            sealed.produced = log_.accounted;
            sealed.ring_full = log_.ring_full;
            return log_.sealed.emplace(number, std::move(sealed)).second;
        }
        if (word == "ring_full") {
            const RowRanges rows = read_ranges(line);
            account(rows);
            for (const auto& [series, range] : rows) {
                log_.ring_full[series] += range.size();
            }
            return true;
        }
        if (word == "end") {
            return static_cast<bool>(line >> log_.end);
        }
        return (line >> number) && take_wire(word, number, line);
    }

private:
    void account(const RowRanges& rows) {
        for (const auto& [series, range] : rows) {
            log_.accounted[series] = range.last;
        }
    }

    bool take_wire(const std::string& word, std::uint64_t number, std::istream& line) {
        if (word == "hello") {
            retained_from(number);
        } else if (word == "sending") {
            std::uint64_t oldest = 0;
            if (!(line >> oldest)) {
                return false;
            }
            log_.sent.insert(number);
            retained_from(oldest);
        } else if (word == "bye") {
            log_.was_bye_sent = true;
            retained_from(number + 1);
        } else if (word == "acknowledged") {
            int is_finished = 0;
            if (!(line >> is_finished)) {
                return false;
            }
            log_.acknowledged = std::max(log_.acknowledged, number);
            log_.is_finish_acknowledged = log_.is_finish_acknowledged || is_finished != 0;
        } else if (word == "refused") {
            if (number == 0) {
                log_.is_session_refused = true;
            } else if (number > log_.acknowledged && !log_.dropped.contains(number)) {
                log_.refused.insert(number);
            }
        } else {
            return false;
        }
        return true;
    }

    // Everything before `oldest` has left the collector: whatever wasn't acknowledged or refused was dropped.
    void retained_from(std::uint64_t oldest) {
        for (std::uint64_t seq = std::max(log_.acknowledged, passed_) + 1; seq < oldest; ++seq) {
            if (!log_.refused.contains(seq)) {
                log_.dropped.insert(seq);
            }
        }
        passed_ = std::max({passed_, log_.acknowledged, oldest - 1});
    }

    SourceLog& log_;
    std::uint64_t passed_ = 0;
};

}  // namespace

std::string source_log_path(const std::string& folder, SessionId session) {
    std::ostringstream name;
    name << folder << '/' << std::hex << std::setfill('0') << std::setw(16) << session.high << std::setw(16)
         << session.low << ".log";
    return name.str();
}

SourceLogWriter::SourceLogWriter(const std::string& path)
    : descriptor_{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
    PERFLEET_ASSERT(descriptor_ >= 0);
}

SourceLogWriter::~SourceLogWriter() { ::close(descriptor_); }

void SourceLogWriter::write(const std::string& line) {
    const std::string whole = line + "\n";
    PERFLEET_ASSERT(::write(descriptor_, whole.data(), whole.size()) == static_cast<ssize_t>(whole.size()));
}

void SourceLogWriter::session(SessionId session, TargetId target) {
    std::ostringstream line;
    line << "session " << std::hex << session.high << ' ' << session.low << ' ' << target.value;
    write(line.str());
}

void SourceLogWriter::produced(Series series, RowRange rows) { write("produced" + text_of({{series, rows}})); }

void SourceLogWriter::sealed(Seq seq, EpochNumber epoch, BucketNumber bucket, const RowRanges& rows) {
    write("sealed " + std::to_string(seq.value) + ' ' + std::to_string(epoch.value) + ' ' +
          std::to_string(bucket.value) + text_of(rows));
}

void SourceLogWriter::ring_full(const RowRanges& rows) { write("ring_full" + text_of(rows)); }

void SourceLogWriter::hello(Seq oldest_retained) { write("hello " + std::to_string(oldest_retained.value)); }

void SourceLogWriter::sending(Seq seq, Seq oldest_retained) {
    write("sending " + std::to_string(seq.value) + ' ' + std::to_string(oldest_retained.value));
}

void SourceLogWriter::bye(Seq last) { write("bye " + std::to_string(last.value)); }

void SourceLogWriter::acknowledged(Seq prefix, bool is_finished) {
    write("acknowledged " + std::to_string(prefix.value) + (is_finished ? " 1" : " 0"));
}

void SourceLogWriter::refused(Seq seq, std::uint16_t reason) {
    write("refused " + std::to_string(seq.value) + ' ' + std::to_string(reason));
}

void SourceLogWriter::end(const std::string& name) { write("end " + name); }

Result<SourceLog> read_source_log(const std::string& path) {
    std::ifstream file{path};
    if (!file) {
        return error_from_errno(errno, path);
    }
    SourceLog log;
    LogReader reader{log};
    std::string line;
    std::size_t number = 0;
    while (std::getline(file, line)) {
        ++number;
        if (file.eof()) {
            break;  // without its newline: the source was killed in the middle of it
        }
        if (!reader.take(line)) {
            return Error{ErrorCode::kInvalid, path + ":" + std::to_string(number) + ": can't be read: " + line};
        }
    }
    return log;
}

}  // namespace perfleet::chaos
