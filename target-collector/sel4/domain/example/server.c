// A child domain that answers the client, on the client's time. Its stack is Microkit's: samples have its leaf alone.
#include <microkit.h>

__attribute__((noinline, noclone)) void answer(void) {
    for (int i = 0; i < 500; ++i) {
        __asm__ volatile("nop" ::: "memory");
    }
}

void init(void) {}

void notified(microkit_channel channel) { (void)channel; }

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message) {
    (void)channel;
    (void)message;
    answer();
    return microkit_msginfo_new(0, 0);
}
