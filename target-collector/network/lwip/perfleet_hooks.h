/* Sequence numbers that a connection begins with. */
#pragma once

#ifdef __cplusplus
extern "C"
#endif
    unsigned
    perfleet_lwip_random(void);

#define LWIP_HOOK_TCP_ISN(local_ip, local_port, remote_ip, remote_port) perfleet_lwip_random()
