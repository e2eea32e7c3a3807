/* lwIP as network/tcp_stream.h uses it: one connection, made from this side, over IPv4; static pools instead of a heap.
   Sizes are those of kSendBufferBytes and kReceiveBufferBytes in tcp_stream.h. */
#pragma once

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_STATS 0

/* Memory: pools of lwippools.h, of any size that is asked for, and of each type of object. */
#define MEM_ALIGNMENT 8
#define MEM_USE_POOLS 1
#define MEMP_USE_CUSTOM_POOLS 1
#define MEMP_NUM_TCP_PCB 2
#define MEMP_NUM_TCP_PCB_LISTEN 1
#define MEMP_NUM_UDP_PCB 1 /* DHCP */
#define MEMP_NUM_TCP_SEG 48
#define MEMP_NUM_PBUF 4
#define PBUF_POOL_SIZE 4

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define LWIP_ICMP 1
#define LWIP_RAW 0
#define LWIP_DHCP 1
#define DHCP_DOES_ARP_CHECK 0
#define LWIP_AUTOIP 0
#define LWIP_DNS 0
#define LWIP_IGMP 0
#define ARP_TABLE_SIZE 8
#define ARP_QUEUEING 0

#define TCP_MSS 1460
#define TCP_SND_BUF (22 * TCP_MSS)
#define TCP_SND_QUEUELEN 48
#define TCP_SNDLOWAT TCP_MSS
#define TCP_WND 4096
#define TCP_QUEUE_OOSEQ 0
#define LWIP_TCP_TIMESTAMPS 0

#define LWIP_CHKSUM_ALGORITHM 3 /* 32 bits at once */
#define LWIP_HOOK_FILENAME "perfleet_hooks.h"
