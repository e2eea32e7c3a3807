// Two events of LTTng-UST, as probe_benchmark's peer. Read several times by LTTng's headers.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER perfleet_benchmark
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/benchmark/probe_lttng.h"
#if !defined(PERFLEET_PROBE_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PERFLEET_PROBE_LTTNG_H
#include <lttng/tracepoint.h>

// clang-format off
LTTNG_UST_TRACEPOINT_EVENT(perfleet_benchmark, start, LTTNG_UST_TP_ARGS(unsigned, id),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, id, id)))
LTTNG_UST_TRACEPOINT_EVENT(perfleet_benchmark, stop, LTTNG_UST_TP_ARGS(unsigned, id),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, id, id)))
// clang-format on
#endif
#include <lttng/tracepoint-event.h>
