// completion: a script for a shell, generated from this program's options.
#include "daemon/command-line/completion.h"

#include <string>

#include "daemon/command-line/description.h"
#include "daemon/option/program_options.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

void add_completion_command(CLI::App& app, Invocation& invocation) {
    const auto print_script = [&app](const std::string& shell) {
        return print_text(completion_script(describe_program(app), *shell_of_name(shell)));
    };
    const auto [command, shell] = add_command<std::string>(
        app, invocation, "completion", "Print completion of perfleet's arguments for a shell", print_script);
    command->footer(
        "Packages install it. Without them:\n"
        "  perfleet completion bash > ~/.local/share/bash-completion/completions/perfleet\n"
        "  perfleet completion zsh > _perfleet    # in a folder of $fpath\n"
        "  perfleet completion fish > ~/.config/fish/completions/perfleet.fish\n"
        "For the other programs: perfleet-gateway --completion bash.");
    add_options(*command, {{"shell SHELL", *shell, "The shell", is_one_of({"bash", "zsh", "fish"}), is_required}});
}

}  // namespace perfleet
