// A child domain that calls the server again and again.
#include <microkit.h>

#include "own_stack.h"

#define SERVER 1

uintptr_t stack_address = 1;

__attribute__((noinline, noclone)) void ask(void) { (void)microkit_ppcall(SERVER, microkit_msginfo_new(0, 0)); }

static void ask_on(void) {
    for (;;) {
        ask();
    }
}

void init(void) { run_on_own_stack(ask_on); }

void notified(microkit_channel channel) { (void)channel; }
