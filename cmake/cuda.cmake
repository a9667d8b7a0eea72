# SPDX-License-Identifier: Apache-2.0
# Code for NVIDIA's devices: the build's options, the compiler, and paes_device_kernels(), which
# src/cuda calls for the kernels that users run and bench/gpu for those that studies have tried.
set(PAES_CUDA AUTO CACHE STRING "Build for CUDA devices: ON, OFF or AUTO (where nvcc is found)")
option(PAES_REPRODUCIBLE "Objects of nvcc are the same wherever the sources lie; no ccache for them" OFF)
set_property(CACHE PAES_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PAES_CUDA_ARCHITECTURES "75;80;86;89;90" CACHE STRING
    "Compute capabilities to compile for; PTX of the oldest and of the newest is kept for all others")

# The first nvcc that runs and accepts the host's compiler and C library: they may be newer than it
# knows. It says itself where its toolkit is, because it may be a script or a link. If the machine has
# none, dev installs PyPI's packages into build/cuda.
set(PAES_NVCC "")
set(refused "")
if(NOT PAES_CUDA STREQUAL "OFF")
  find_program(PAES_NVCC_IN_PATH nvcc)
  file(GLOB packaged ${PROJECT_SOURCE_DIR}/build/cuda/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
  foreach(candidate IN ITEMS $ENV{CUDA_PATH}/bin/nvcc ${PAES_NVCC_IN_PATH} /usr/local/cuda/bin/nvcc ${packaged})
    execute_process(COMMAND ${candidate} --dryrun -x cu /dev/null RESULT_VARIABLE failed
                    OUTPUT_QUIET ERROR_VARIABLE steps)
    if(failed OR NOT steps MATCHES "TOP=([^\n]+)")
      continue()
    endif()
    set(toolkit ${CMAKE_MATCH_1})
    execute_process(COMMAND ${candidate} -ccbin ${CMAKE_CXX_COMPILER} -x cu -cuda /dev/null
                            -o ${CMAKE_BINARY_DIR}/CMakeFiles/nvcc-tried
                    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT failed)
      set(PAES_NVCC ${candidate})
      break()
    endif()
    string(REGEX MATCH "error[^\n]*" reason "${said}")
    string(APPEND refused "\n  ${candidate} refuses ${CMAKE_CXX_COMPILER} or its headers: ${reason}")
  endforeach()
endif()
if(PAES_CUDA STREQUAL "ON" AND NOT PAES_NVCC)
  message(FATAL_ERROR "PAES_CUDA is ON, but no nvcc works in CUDA_PATH, PATH, /usr/local/cuda or build/cuda${refused}")
endif()

if(NOT PAES_NVCC)
  message(STATUS "CUDA: no nvcc; only tests have a device, an emulated one${refused}")
else()
  message(STATUS "CUDA: ${PAES_NVCC}")
  find_library(PAES_CUDART cudart_static NO_CACHE REQUIRED
               HINTS ${toolkit}/lib64 ${toolkit}/lib ${toolkit}/targets/x86_64-linux/lib)
  find_path(PAES_CUDA_HEADERS cuda_runtime_api.h NO_CACHE REQUIRED
            HINTS ${toolkit}/include ${toolkit}/targets/x86_64-linux/include)

  # Not a CMake language, because a single command is enough, and it accepts any toolkit's layout.
  set(code "")
  foreach(architecture IN LISTS PAES_CUDA_ARCHITECTURES)
    list(APPEND code -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  # The driver compiles PTX for any device that is at least as new. PTX of the oldest architecture
  # serves the devices in between; that of the newest makes better code for later devices. A letter,
  # as in 90a, would bind it to one architecture.
  list(TRANSFORM PAES_CUDA_ARCHITECTURES REPLACE "[^0-9]" "" OUTPUT_VARIABLE numbers)
  list(SORT numbers COMPARE NATURAL)
  list(GET numbers 0 cuda_least)
  list(GET numbers -1 cuda_newest)
  set(cuda_ptx ${cuda_least} ${cuda_newest})
  list(REMOVE_DUPLICATES cuda_ptx)
  foreach(architecture IN LISTS cuda_ptx)
    list(APPEND code -gencode arch=compute_${architecture},code=compute_${architecture})
  endforeach()
  set(nvcc_flags -std=c++20 -O3 --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra
      -ccbin ${CMAKE_CXX_COMPILER} -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include)
  if(PAES_WARNINGS_AS_ERRORS)
    list(APPEND nvcc_flags --Werror all-warnings)
  endif()
  # The host's part, and libraries of the toolkit, may have come without PIE.
  list(APPEND nvcc_flags -Xcompiler=-fPIC,-fvisibility=hidden)
  if(PAES_REPRODUCIBLE)
    list(APPEND nvcc_flags -Xcompiler=-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  endif()
endif()

# paes_device_kernels(TARGET KERNEL...): adds the files KERNEL.cu of the current folder to a
# library. The host's compiler makes the kernels' rows from them, and nvcc, if there is one, the
# code for the device. The objects of TARGET_emulated are the emulation, which only tests link
# (tests/support/emulated/emulated_grid.hpp).
function(paes_device_kernels target)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  get_filename_component(above ${CMAKE_CURRENT_SOURCE_DIR} DIRECTORY)
  add_library(${target}_emulated OBJECT EXCLUDE_FROM_ALL)
  target_include_directories(${target}_emulated PRIVATE ${PAES_TEST_ROOTS})
  target_link_libraries(${target}_emulated PRIVATE ${target})
  set(objects "")
  set(sources "")
  foreach(kernel IN LISTS ARGN)
    set(include "#include \"${folder}/${kernel}.cu\"\n")
    file(CONFIGURE OUTPUT ${kernel}.cpp CONTENT "${include}")
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${kernel}.cpp)
    file(CONFIGURE OUTPUT emulated_${kernel}.cpp CONTENT "#include \"emulated/emulated_grid.hpp\"\n${include}")
    target_sources(${target}_emulated PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/emulated_${kernel}.cpp)
    if(PAES_NVCC)
      set(object ${CMAKE_CURRENT_BINARY_DIR}/${kernel}.o)
      set(compile ${PAES_NVCC} ${nvcc_flags} ${code} -I${above} ${CMAKE_CURRENT_SOURCE_DIR}/${kernel}.cu)
      if(PAES_REPRODUCIBLE)
        set(commands COMMAND ${compile} -M -MT ${object} -MF ${object}.d
                     COMMAND ${PROJECT_SOURCE_DIR}/cmake/nvcc_anywhere.sh ${compile} --frandom-seed=${kernel}
                             --objdir-as-tempdir -c -o ${object})
      else()
        set(commands COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${compile} -MD -MF ${object}.d -c -o ${object})
      endif()
      add_custom_command(
        OUTPUT ${object}
        ${commands}
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${kernel}.cu
        DEPFILE ${object}.d
        COMMENT "Building CUDA object ${kernel}.o"
        VERBATIM)
      target_sources(${target} PRIVATE ${object})
      list(APPEND objects ${object})
      list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/${kernel}.cu)
    endif()
  endforeach()
  # For tests.
  set_target_properties(${target} PROPERTIES PAES_CUDA_OBJECTS "${objects}" PAES_CUDA_SOURCES "${sources}")
  paes_calls_cuda(${target})
endfunction()

# paes_calls_cuda(TARGET): for sources that include the run-time library's headers if they exist.
function(paes_calls_cuda target)
  if(PAES_NVCC)
    target_compile_definitions(${target} PRIVATE PAES_HAS_NVCC)
    target_include_directories(${target} SYSTEM PRIVATE ${PAES_CUDA_HEADERS})
  endif()
endfunction()
