// Loads librados when it is first needed: linking it would cost each command 12 MB and 20 ms, and each package its
// dependencies.
//
// Threads: any.
#pragma once

#include <rados/librados.h>

namespace perfleet {

// clang-format off
#define PERFLEET_LIBRADOS(F) \
    F(rados_aio_cancel) F(rados_aio_create_completion2) F(rados_aio_get_return_value) F(rados_aio_read_op_operate) \
    F(rados_aio_release) F(rados_aio_remove) F(rados_aio_wait_for_complete_and_cb) F(rados_aio_write_op_operate) \
    F(rados_conf_read_file) F(rados_conf_set) F(rados_connect) F(rados_create) F(rados_create_read_op) \
    F(rados_create_write_op) F(rados_getxattrs_end) F(rados_getxattrs_next) F(rados_ioctx_create) F(rados_ioctx_destroy) F(rados_ioctx_set_namespace) \
    F(rados_omap_get_end) F(rados_omap_get_next2) \
    F(rados_read_op_getxattrs) F(rados_read_op_omap_get_vals2) F(rados_read_op_omap_get_vals_by_keys2) \
    F(rados_read_op_read) F(rados_release_read_op) F(rados_release_write_op) \
    F(rados_set_pool_full_try) F(rados_shutdown) \
    F(rados_write_op_assert_exists) F(rados_write_op_cmpxattr) F(rados_write_op_create) \
    F(rados_write_op_omap_rm_keys2) F(rados_write_op_omap_set2) \
    F(rados_write_op_setxattr) F(rados_write_op_write)
// clang-format on

struct Librados {
#define PERFLEET_LIBRADOS_MEMBER(name) decltype(&::name) name = nullptr;
    PERFLEET_LIBRADOS(PERFLEET_LIBRADOS_MEMBER)
#undef PERFLEET_LIBRADOS_MEMBER
};

inline constexpr const char* kLibradosFile = "librados.so.2";

// Null if it can't be loaded.
[[nodiscard]] const Librados* librados();

}  // namespace perfleet
