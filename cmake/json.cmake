# SPDX-License-Identifier: Apache-2.0
# The parser of JSON, which is headers alone: it reads gocryptfs.conf, and the programs write with it.
# Who compiles for another system names their folder, because that of this system's headers has too
# many others. The source distribution of the Python package brings them.
set(PAES_JSON_HEADERS "" CACHE PATH "Folder of nlohmann/json.hpp; empty: looked for")
set(json_headers ${PAES_JSON_HEADERS})
if(NOT json_headers AND EXISTS ${PROJECT_SOURCE_DIR}/json/nlohmann/json.hpp)
  set(json_headers ${PROJECT_SOURCE_DIR}/json)
endif()
if(json_headers)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${json_headers})
else()
  find_package(nlohmann_json REQUIRED)
endif()
