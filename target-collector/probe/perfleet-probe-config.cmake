# find_package(perfleet-probe): the target perfleet::probe.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/perfleet-probe-targets.cmake")
