#include "daemon/command-line/manual.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace perfleet {
namespace {

constexpr unsigned char kUtf8LeadMin = 0xc0;

using Sections = std::map<std::string, std::string>;

// Titles are in upper case.
Sections sections_of(const std::string& prose) {
    Sections sections;
    std::istringstream lines{prose};
    std::string title;
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view kRequest = ".SH ";
        if (line.starts_with(kRequest)) {
            title = line.substr(kRequest.size());
        } else {
            sections[title] += line + "\n";
        }
    }
    return sections;
}

std::string take(Sections& sections, const std::string& title) {
    const auto section = sections.extract(title);
    return section.empty() ? "" : section.mapped();
}

// A word that users copy: its hyphens are printed as minus signs.
std::string literal(const std::string& text) {
    std::string result;
    for (const char character : manual_text(text)) {
        result += character == '-' ? std::string{"\\-"} : std::string{character};
    }
    return result;
}

std::string bold(const std::string& text) { return "\\fB" + literal(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + literal(text) + "\\fR"; }

std::string reference(const std::string& page, const std::string& section) {
    return ".BR " + literal(page) + " (" + section + ")";
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

// NAME lines begin with a small letter, except for words such as "CPU".
std::string uncapitalised(std::string text) {
    if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    }
    return text;
}

std::string example(const std::string& lines) { return ".EX\n" + lines + ".EE\n"; }

// Footers are written for terminals: indented lines are commands, other lines are filled.
std::string flowing(const std::string& paragraph) {
    std::string text;
    std::string commands;
    std::istringstream lines{paragraph};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  ")) {
            commands += literal(line.substr(2)) + "\n";
            continue;
        }
        text += commands.empty() ? "" : example(std::exchange(commands, ""));
        text += manual_text(line) + "\n";
    }
    return text + (commands.empty() ? "" : example(commands));
}

// The paragraphs of a footer, by section.
struct Footer {
    std::string synopsis;
    std::string description;
    std::string examples;
    std::string exit_status;
};

Footer footer_of(const DescribedCommand& command) {
    Footer footer;
    std::string rest = command.footer;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find("\n\n"), rest.size());
        const std::string paragraph = rest.substr(0, end);
        rest.erase(0, std::min(end + 2, rest.size()));
        constexpr std::string_view kExamples = "Examples:\n";
        constexpr std::string_view kExitStatus = "Exit status: ";
        if (paragraph.starts_with(kExamples)) {
            footer.examples += flowing(paragraph.substr(kExamples.size()));
        } else if (paragraph.starts_with(kExitStatus)) {
            // The table of all commands is the last one, and goes before what is a command's own.
            std::string text = paragraph.substr(kExitStatus.size());
            text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
            footer.exit_status = flowing(text) + (footer.exit_status.empty() ? "" : ".PP\n" + footer.exit_status);
        } else if (paragraph.starts_with(joined_path(command, " ") + " ")) {
            footer.synopsis += example(literal(paragraph) + "\n");
        } else {
            footer.description += ".PP\n" + flowing(paragraph);
        }
    }
    return footer;
}

std::string synopsis_of(const DescribedCommand& command) {
    std::string line = bold(joined_path(command, " ")) + " [" + italic("OPTION") + "]...";
    if (!command.commands.empty()) {
        line += " " + italic("COMMAND") + " [" + italic("ARGUMENT") + "]...";
    }
    for (const DescribedOption& option : command.options) {
        if (option.is_positional) {
            const std::string value = italic(option.names.front()) + (option.is_repeated ? "..." : "");
            line += option.is_required ? " " + value : " [" + value + "]";
        }
    }
    return line + "\n";
}

std::string option_text(const DescribedOption& option) {
    std::string names;
    for (const std::string& name : option.names) {
        names += (names.empty() ? "" : ", ") + (option.is_positional ? italic(name) : bold(name));
    }
    if (option.kind != ValueKind::kNone && !option.is_positional) {
        names += " " + italic(option.placeholder);
    }
    std::string text = ".TP\n" + names + "\n" + manual_text(option.text);
    const auto add_sentence = [&text](const std::string& sentence) {
        const char last = text.back();
        text += (last == '.' || last == '?' ? "" : ".");
        text += "\n" + sentence;
    };
    if (!option.default_text.empty()) {
        add_sentence("Default: " + bold(option.default_text) + ".");
    }
    if (!option.excludes.empty()) {
        std::string excluded;
        for (const std::string& name : option.excludes) {
            excluded += (excluded.empty() ? "" : ", ") + bold(name);
        }
        add_sentence("Not with " + excluded + ".");
    }
    if (option.is_required) {
        add_sentence("Required.");
    }
    return text + "\n";
}

std::string see_also(const DescribedCommand& command, const std::string& section) {
    std::vector<std::string> references;
    if (command.path.size() > 1) {
        references.push_back(reference(command.path.front(), section));
    }
    for (const DescribedCommand& sub : command.commands) {
        references.push_back(reference(joined_path(sub, "-"), section));
    }
    if (command.path.size() == 1) {
        for (const char* page : {"perfleet-collector", "perfleet-gateway", "perfleet-query"}) {
            if (command.path.front() != page) {
                references.push_back(reference(page, "8"));
            }
        }
        if (command.path.front() != "perfleet") {
            references.insert(references.begin(), reference("perfleet", "1"));
        }
    }
    return CLI::detail::join(references, " ,\n") + "\n";
}

}  // namespace

std::string manual_text(const std::string& text) {
    std::string result;
    bool is_line_begin = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char character = text[at];
        if (const auto lead = static_cast<unsigned char>(character); lead >= kUtf8LeadMin) {
            const std::size_t more = lead >= 0xf0U ? 3 : lead >= 0xe0U ? 2 : 1;
            std::uint32_t code = lead & (0x3fU >> more);
            for (std::size_t count = 0; count < more && at + 1 < text.size(); ++count) {
                code = code << 6U | (static_cast<unsigned char>(text[++at]) & 0x3fU);
            }
            std::array<char, 16> escape{};
            std::snprintf(escape.data(), escape.size(), "\\[u%04X]", code);
            result += escape.data();
            is_line_begin = false;
            continue;
        }
        if (is_line_begin && (character == '.' || character == '\'')) {
            result += "\\&";
        }
        switch (character) {
            case '\\': result += "\\e"; break;
            case '~': result += "\\(ti"; break;
            case '^': result += "\\(ha"; break;
            case '`': result += "\\(ga"; break;
            case '\'': result += "\\(aq"; break;
            default: result += character;
        }
        is_line_begin = character == '\n';
    }
    return result;
}

std::string manual_page(const DescribedCommand& command, const ManualContext& context) {
    Sections prose = sections_of(context.prose);
    const Footer footer = footer_of(command);
    const std::string name = joined_path(command, "-");
    std::string page = ".TH " + literal(upper(name)) + " " + context.section + " " + context.date + " \"" +
                       literal(context.version) + "\" \"perfleet manual\"\n";
    page += ".SH NAME\n" + literal(name) + " \\- " + manual_text(uncapitalised(first_sentence(command.text))) + "\n";
    page += ".SH SYNOPSIS\n" + (footer.synopsis.empty() ? synopsis_of(command) : footer.synopsis);
    page += ".SH DESCRIPTION\n" + manual_text(command.text) + (command.text.ends_with('.') ? "\n" : ".\n") +
            footer.description + take(prose, "DESCRIPTION");
    if (!command.commands.empty()) {
        page += ".SH COMMANDS\n";
        for (const DescribedCommand& sub : command.commands) {
            page += ".TP\n\\fB" + literal(joined_path(sub, "-")) + "\\fR(" + context.section + ")\n" +
                    manual_text(sub.text) + "\n";
        }
    }
    page += ".SH OPTIONS\n";
    for (const DescribedOption& option : command.options) {
        page += option_text(option);
    }
    if (const std::string examples = footer.examples + take(prose, "EXAMPLES"); !examples.empty()) {
        page += ".SH EXAMPLES\n" + examples;
    }
    page += ".SH EXIT STATUS\n" +
            (footer.exit_status.empty() ? "0 on success, 1 on failure, 2 for wrong usage.\n" : footer.exit_status);
    const std::string also = take(prose, "SEE ALSO");
    for (const auto& [title, text] : prose) {
        page += ".SH " + title + "\n" + text;
    }
    return page + ".SH SEE ALSO\n" + (also.empty() ? see_also(command, context.section) : also);
}

}  // namespace perfleet
