# SPDX-License-Identifier: Apache-2.0
# paes_kernel_table(TARGET TABLE COMPILED) adds to a library the kernels of a table whose lines are
# those of src/kernel/kernels.def. Each file is compiled with only the flags of its line, so that an
# instruction set never leaks into code that runs everywhere. The lines whose files are in this
# build become the file COMPILED, which the library includes.
function(paes_kernel_table target table compiled_table)
  set(table ${CMAKE_CURRENT_SOURCE_DIR}/${table})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  set(compiled_for any ${CMAKE_SYSTEM_PROCESSOR})
  if(PAES_LIBCRYPTO)
    list(APPEND compiled_for libcrypto)
  endif()
  cmake_path(GET table FILENAME table_name)
  set(compiled "// Those lines of ${table_name} whose files are part of this build.\n")

  file(STRINGS ${table} rows REGEX "^PAES_KERNEL\\(")
  foreach(row IN LISTS rows)
    if(NOT row MATCHES "^PAES_KERNEL\\(([a-z0-9_]+), ([a-z0-9_]+), \"(.*)\"\\)$")
      message(FATAL_ERROR "${table_name}: cannot read: ${row}")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(condition ${CMAKE_MATCH_2})
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_3}")
    if(condition IN_LIST compiled_for)
      string(APPEND compiled "${row}\n")
      target_sources(${target} PRIVATE ${name}.cpp)
      set_source_files_properties(${name}.cpp PROPERTIES COMPILE_OPTIONS "${flags}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${compiled_table} CONTENT "${compiled}" @ONLY)
  target_include_directories(${target} PUBLIC ${PROJECT_BINARY_DIR}/generated)
endfunction()
