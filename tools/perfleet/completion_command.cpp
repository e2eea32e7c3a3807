// completion: a script for a shell, generated from this program's options.
#include "daemon/command-line/completion.h"

#include <memory>
#include <string>

#include "daemon/command-line/description.h"
#include "daemon/option/program_options.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

void add_completion_command(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("completion", "Print completion of perfleet's arguments for a shell");
    command->footer(
        "Packages install it. Without them:\n"
        "  perfleet completion bash > ~/.local/share/bash-completion/completions/perfleet\n"
        "  perfleet completion zsh > _perfleet    # in a folder of $fpath\n"
        "  perfleet completion fish > ~/.config/fish/completions/perfleet.fish\n"
        "For the other programs: perfleet-gateway --completion bash.");
    const auto shell = std::make_shared<std::string>();
    add_options(*command, {{"shell SHELL", *shell, "The shell", is_one_of({"bash", "zsh", "fish"}), is_required}});
    command->callback([&invocation, &app, shell] {
        invocation.run = [&app, shell]() -> Result<int> {
            PERFLEET_TRY(print_text(completion_script(describe_program(app), *shell_of_name(*shell))));
            return 0;
        };
    });
}

}  // namespace perfleet
