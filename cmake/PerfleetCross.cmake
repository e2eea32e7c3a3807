# Code for machines other than this one, by a compiler of its own.

# perfleet_cross_objects(<variable> FOLDER <name> COMPILER <program> FLAGS … SOURCES …): objects in build/<preset>/FOLDER, each
# named for its source; their paths are put into the variable.
function(perfleet_cross_objects variable)
  cmake_parse_arguments(CROSS "" "FOLDER;COMPILER" "FLAGS;SOURCES" ${ARGN})
  set(objects "")
  foreach(source ${CROSS_SOURCES})
    get_filename_component(source "${source}" ABSOLUTE)
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${source}")
    if(name MATCHES "^\\.\\.")
      get_filename_component(name "${source}" NAME)
    endif()
    set(object "${CMAKE_BINARY_DIR}/${CROSS_FOLDER}/${name}.o")
    get_filename_component(folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${object}"
                       COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${CROSS_COMPILER}" ${CROSS_FLAGS} -MD -MF "${object}.d"
                               -c "${source}" -o "${object}"
                       DEPENDS "${source}" DEPFILE "${object}.d" VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()
