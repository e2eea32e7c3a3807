#include "tools/perfleet/live/live_view.h"

#define NCURSES_NOMACROS  // macros have names that other headers use
#include <fmt/format.h>
#include <fnmatch.h>
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "exporters/report/report.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "tools/perfleet/query/annotation.h"
#include "tools/perfleet/query/table_text.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr std::size_t kFilterSizeMax = 200;
constexpr double kHotPercent = 5.0;  // as perf colours them
constexpr double kWarmPercent = 0.5;
constexpr int kEscapeDelayMs = 25;
constexpr int kEscape = 27;
constexpr int kColorHot = 1;
constexpr int kColorWarm = 2;

// Set by SIGCONT: the terminal may have been given back to a shell, and must be set up again.
volatile std::sig_atomic_t is_continued = 0;
void on_continue(int /*signal*/) { is_continued = 1; }

// The terminal while ncurses has it.
class Terminal {
public:
    [[nodiscard]] static bool open(bool has_color) {
        if (std::setlocale(LC_CTYPE, "") == nullptr || std::string_view{::nl_langinfo(CODESET)} != "UTF-8") {
            (void)std::setlocale(LC_CTYPE, "C.UTF-8");
        }
        if (::newterm(nullptr, stdout, stdin) == nullptr) {
            return false;
        }
        ::set_escdelay(kEscapeDelayMs);
        ::cbreak();
        ::noecho();
        ::keypad(stdscr, TRUE);
        ::nodelay(stdscr, TRUE);
        ::curs_set(0);
        if (has_color && ::has_colors()) {
            ::start_color();
            ::use_default_colors();
            ::init_pair(kColorHot, COLOR_RED, -1);
            ::init_pair(kColorWarm, COLOR_GREEN, -1);
        }
        struct sigaction action {};
        sigemptyset(&action.sa_mask);
        action.sa_handler = on_continue;
        ::sigaction(SIGCONT, &action, nullptr);
        return true;
    }
    Terminal() = default;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal() { ::endwin(); }

    static void set_up_again() {
        is_continued = 0;
        ::endwin();
        ::clearok(curscr, TRUE);
        ::refresh();
    }
};

struct Line {
    std::string text;
    int attributes = 0;
};

class View {
public:
    View(LiveProfile& profile, LiveOptions options, const OutputOptions& printing)
        : profile_{profile}, options_{std::move(options)}, printing_{printing}, since_{profile.began()} {
        options_.values.erase("limit");
    }

    void run(int stop_fd) {
        update();
        while (!has_quit_) {
            draw();
            const int wait_ms = static_cast<int>(
                std::clamp<std::int64_t>((next_.value - utc_now().value) / 1'000'000 + 1, 0, INT32_MAX));
            const bool has_ended = profile_.has_ended();
            std::array<pollfd, 3> events{
                {{STDIN_FILENO, POLLIN, 0}, {stop_fd, POLLIN, 0}, {profile_.end_fd(), POLLIN, 0}}};
            (void)::poll(events.data(), has_ended ? 2 : 3, has_ended ? -1 : wait_ms);
            if (events[1].revents != 0 || (events[0].revents & (POLLHUP | POLLERR)) != 0) {
                return;
            }
            if (is_continued != 0) {
                Terminal::set_up_again();
            }
            is_due_ = next_ <= utc_now();
            if (!has_ended && events[2].revents != 0) {
                (void)profile_.finish();
                options_.is_total = true;
                is_due_ = true;
            }
            for (int key = 0; is_due_ || (key = ::getch()) != ERR;) {
                if (is_due_) {
                    update();  // the function that the next key refers to
                } else {
                    is_typing_ ? type(key) : take(key);
                }
            }
        }
    }

private:
    enum class Shown { kTable, kCallers, kAnnotated, kHelp };

    // Of the last period, or of the time so far while there is none.
    [[nodiscard]] LiveProfile::Range range() const {
        const UtcNs until = profile_.complete_until();
        const std::int64_t from = options_.is_total ? since_.value : until.value - options_.period_ns();
        return {{std::min(std::max(from, since_.value), until.value - 1)}, until};
    }

    void update() {
        is_due_ = false;
        next_ = UtcNs{utc_now().value + options_.period_ns()};
        lines_.clear();
        if (shown_ == Shown::kHelp) {
            for (const Key& key : keys()) {
                lines_.push_back({fmt::format("  {:<18}{}", key.name, key.help)});
            }
            return;
        }
        const LiveProfile::Range range = this->range();
        OptionValues values = live_values(options_);
        if (shown_ == Shown::kTable) {
            const std::size_t grouping = grouping_ % kGroupings.size();
            values["by"] = grouping == 0 && values.contains("by") ? values["by"] : kGroupings[grouping];
        } else if (shown_ == Shown::kCallers) {
            values["callers"] = function_;
        } else {
            values = {{"symbol", function_}, {"tid", values["tid"]}};
        }
        auto answer = profile_.ask(shown_ == Shown::kAnnotated ? "annotate" : "top", values, range);
        if (!answer.ok()) {
            note_ = shown_ == Shown::kTable ? answer.error().message : "no sample of this time has " + function_;
            return;
        }
        note_.clear();
        if (shown_ != Shown::kAnnotated) {
            head_ = with_grouped_digits(live_head(profile_, options_, range, *answer));
            show_table(std::move(*answer));
        } else if (const auto functions = functions_of(*answer); !functions.empty()) {
            show_instructions(functions.front());
        } else {
            note_ = "no sample of this time is in " + function_;
        }
    }

    static std::size_t column_of(const Answer& answer, std::string_view name) {
        const auto found = std::ranges::find(answer.columns, name, &AnswerColumn::name);
        return static_cast<std::size_t>(found - answer.columns.begin());
    }

    // Whether a name in the row matches the filter.
    [[nodiscard]] bool passes(const std::vector<AnswerValue>& row) const {
        return std::ranges::any_of(row, [&](const AnswerValue& value) {
            const auto* const name = std::get_if<std::string>(&value);
            return name != nullptr && ::fnmatch(filter_.c_str(), name->c_str(), 0) == 0;
        });
    }

    void show_table(Answer answer) {
        if (!filter_.empty()) {
            std::erase_if(answer.rows, [&](const auto& row) { return !passes(row); });
        }
        const std::size_t share =
            column_of(answer, shown_ == Shown::kTable && is_by_children_ ? "children_percent" : "self_percent");
        const auto percent = [share](const std::vector<AnswerValue>& row) {
            const double* const value = share < row.size() ? std::get_if<double>(&row[share]) : nullptr;
            return value == nullptr ? 0 : *value;
        };
        if (is_by_children_) {
            std::ranges::stable_sort(answer.rows, std::greater<>{}, percent);
        }
        functions_.clear();
        std::vector<int> attributes;
        const std::size_t symbol = column_of(answer, "symbol");
        for (const auto& row : answer.rows) {
            const auto* const name = symbol < row.size() ? std::get_if<std::string>(&row[symbol]) : nullptr;
            functions_.push_back(name == nullptr ? "" : *name);
            attributes.push_back(colour_of(percent(row)));
        }
        const std::string text =
            table_text_of("top").format(std::move(answer), {}, {static_cast<std::size_t>(COLS), false});
        std::istringstream table{text.substr(0, text.find("\n\n"))};
        for (std::string line; std::getline(table, line);) {
            lines_.push_back({line, 0});
        }
        // Headings are the lines before the rows. A terminal that is too narrow has no line for each row.
        heading_count_ = lines_.size() >= functions_.size() ? lines_.size() - functions_.size() : 0;
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            const bool is_row = i >= heading_count_ && i - heading_count_ < attributes.size();
            lines_[i].attributes = is_row ? attributes[i - heading_count_] : static_cast<int>(A_BOLD);
        }
        selected_ = std::min(selected_, functions_.empty() ? 0 : functions_.size() - 1);
    }

    void show_instructions(const AnnotatedFunction& function) {
        std::vector<std::string> warnings;
        const auto lines = annotate(function, {options_.paths}, warnings);
        head_ = function_ + " in " + printable(function.image) + ": " +
                with_grouped_digits(counted_noun(function.total.rows, "sample"));
        note_ = !lines.ok() ? lines.error().message : warnings.empty() ? "" : warnings.front();
        heading_count_ = 0;
        for (const AnnotatedLine& line : lines.ok() ? *lines : std::vector<AnnotatedLine>{}) {
            const std::string percent = line.self.rows == 0 ? "" : fmt::format("{:.2f}%", line.percent);
            lines_.push_back(
                {fmt::format("{:>8}  {}  {}", percent, line.address, printable(line.text)), colour_of(line.percent)});
        }
        functions_.assign(lines_.size(), function_);
        selected_ = std::min(selected_, lines_.empty() ? 0 : lines_.size() - 1);
    }

    [[nodiscard]] int colour_of(double percent) const {
        const int pair = percent >= kHotPercent ? kColorHot : percent >= kWarmPercent ? kColorWarm : 0;
        return printing_.screen().has_color ? static_cast<int>(COLOR_PAIR(pair)) : 0;
    }

    static void put(int y, const std::string& text, int attributes) {
        ::attrset(static_cast<attr_t>(attributes));
        ::mvaddstr(y, 0, shortened(text, static_cast<std::size_t>(COLS)).c_str());
    }

    // One line above the table, and two below: a message or the typed text, and the keys.
    void draw() {
        ::erase();
        put(0, "perfleet top: " + (head_.empty() ? "collecting" : head_) + (options_.is_total ? " (total)" : ""),
            A_BOLD);
        const std::size_t room = LINES > 4 ? static_cast<std::size_t>(LINES) - 4 : 0;  // with an empty line
        const std::size_t head = std::min(heading_count_, lines_.size());
        const std::size_t rows = room > head ? room - head : 0;
        first_ = std::min(first_, selected_);
        first_ = rows != 0 && selected_ >= first_ + rows ? selected_ - rows + 1 : first_;
        for (std::size_t i = 0; i < std::min(head, room); ++i) {
            put(static_cast<int>(i) + 2, lines_[i].text, lines_[i].attributes);
        }
        for (std::size_t i = 0; i < rows && head + first_ + i < lines_.size(); ++i) {
            const Line& line = lines_[head + first_ + i];
            const bool is_selected = first_ + i == selected_ && shown_ != Shown::kHelp;
            put(static_cast<int>(head + i) + 2, line.text,
                line.attributes | (is_selected ? static_cast<int>(A_REVERSE) : 0));
        }
        const std::string state = shown_ == Shown::kCallers ? "callers of " + function_
                                  : filter_.empty() ? profile_.has_ended() ? "the profile has ended; q quits" : ""
                                                    : "filter: " + filter_;
        put(LINES - 2, is_typing_ ? "filter: " + typed_ + "_" : note_.empty() ? state : note_, A_NORMAL);
        std::string words;
        for (const Key& key : keys()) {
            words += key.word.empty() ? "" : fmt::format("{}:{} ", key.name[0], key.word);
        }
        put(LINES - 1, words, A_DIM);
        ::refresh();
    }

    struct Key {
        std::vector<int> codes;
        std::string_view name;
        std::string_view word;  // below the table; empty: only in the help
        std::string_view help;
        void (*act)(View& view);
    };

    static const std::vector<Key>& keys() {
        static const std::vector<Key> kKeys{
            {{'q'}, "q", "quit", "quit", [](View& view) { view.has_quit_ = true; }},
            {{'/'},
             "/",
             "filter",
             "only rows with this in a name, or a glob",
             [](View& view) { view.is_typing_ = true; }},
            {{'s'},
             "s",
             "sort",
             "sort by self, or by what callees took, too (-g)",
             [](View& view) { view.is_by_children_ = !view.is_by_children_; }},
            {{'b'},
             "b",
             "by",
             "rows by symbol, image, command or thread",
             [](View& view) {
                 ++view.grouping_;
                 view.shown_ = Shown::kTable;
             }},
            {{'c', '\n'},
             "c, Enter",
             "callers",
             "callers of the selected function (sample with -g)",
             [](View& view) { view.open(Shown::kCallers); }},
            {{'a'},
             "a",
             "annotate",
             "instructions of the selected function",
             [](View& view) { view.open(Shown::kAnnotated); }},
            {{'t'},
             "t",
             "total",
             "totals, or the last period",
             [](View& view) { view.options_.is_total = !view.options_.is_total; }},
            {{'z'}, "z", "zero", "totals begin anew", [](View& view) { view.since_ = view.profile_.complete_until(); }},
            {{'i'},
             "i",
             "idle",
             "show or hide the idle task (swapper)",
             [](View& view) { view.options_.shows_idle = !view.options_.shows_idle; }},
            {{'h', '?'}, "h, ?", "help", "this help", [](View& view) { view.shown_ = Shown::kHelp; }},
            {{KEY_LEFT, KEY_BACKSPACE},
             "Left, Backspace",
             "",
             "back to the table",
             [](View& view) { view.shown_ = Shown::kTable; }},
            {{kEscape},
             "Escape",
             "",
             "no filter; back to the table",
             [](View& view) {
                 view.filter_.clear();
                 view.shown_ = Shown::kTable;
             }},
            {{KEY_RESIZE}, "up, down, pages", "", "move", [](View&) {}},
        };
        return kKeys;
    }

    // Whether the key moves the selection.
    bool move(int key) {
        const auto page = static_cast<std::size_t>(std::max(LINES - 6, 1));
        const std::size_t last = functions_.empty() ? 0 : functions_.size() - 1;
        switch (key) {
            case KEY_UP: selected_ -= selected_ > 0 ? 1 : 0; return true;
            case KEY_DOWN: selected_ = std::min(selected_ + 1, last); return true;
            case KEY_PPAGE: selected_ -= std::min(selected_, page); return true;
            case KEY_NPAGE: selected_ = std::min(selected_ + page, last); return true;
            case KEY_HOME: selected_ = 0; return true;
            case KEY_END: selected_ = last; return true;
            default: return false;
        }
    }

    void take(int key) {
        const auto found = std::ranges::find_if(
            keys(), [key](const Key& one) { return std::ranges::find(one.codes, key) != one.codes.end(); });
        if (!move(key) && found != keys().end()) {
            const Shown before = shown_;
            found->act(*this);
            selected_ = shown_ == before ? selected_ : 0;
            is_due_ = true;
        }
    }

    // Callers or instructions of the selected function, if the table has functions.
    void open(Shown shown) {
        if (selected_ < functions_.size() && !functions_[selected_].empty()) {
            function_ = functions_[selected_];
            shown_ = shown;
        }
    }

    void type(int key) {
        if (key == '\n' || key == KEY_ENTER) {
            const bool is_glob = typed_.empty() || typed_.find_first_of("*?[") != std::string::npos;
            filter_ = is_glob ? typed_ : "*" + typed_ + "*";
            is_typing_ = false;
            shown_ = Shown::kTable;
            is_due_ = true;
        } else if (key == kEscape) {
            is_typing_ = false;
        } else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && !typed_.empty()) {
            typed_.pop_back();
        } else if (key >= ' ' && key < 127 && typed_.size() < kFilterSizeMax) {
            typed_ += static_cast<char>(key);
        }
    }

    static constexpr std::array<const char*, 4> kGroupings{"symbol,image,command", "image", "command", "thread"};

    LiveProfile& profile_;
    LiveOptions options_;
    OutputOptions printing_;
    UtcNs since_;  // totals begin here
    bool has_quit_ = false;
    bool is_due_ = false;
    UtcNs next_;  // the next update
    Shown shown_ = Shown::kTable;
    std::string function_;  // of callers and instructions
    std::string filter_;
    bool is_typing_ = false;
    std::string typed_;
    bool is_by_children_ = false;
    std::size_t grouping_ = 0;
    std::string head_;
    std::string note_;
    std::vector<Line> lines_;
    std::size_t heading_count_ = 0;       // of lines_
    std::vector<std::string> functions_;  // of the lines below
    std::size_t selected_ = 0;
    std::size_t first_ = 0;  // that is drawn
};

}  // namespace

Result<Done> run_view(LiveProfile& profile, LiveOptions options, const OutputOptions& printing, int stop_fd) {
    if (!Terminal::open(printing.screen().has_color)) {
        return Error{ErrorCode::kUnsupported, "the terminal isn't known: set TERM, or TERM=dumb for tables"};
    }
    const Terminal terminal;
    View{profile, std::move(options), printing}.run(stop_fd);
    return Done{};
}

}  // namespace perfleet
