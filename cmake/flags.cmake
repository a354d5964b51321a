# One set of flags for every room. No fused multiply-add and never -ffast-math: the twin's history must be the same on every CPU.
add_library(muster_flags INTERFACE)
# g++ 12 warns of its own std::string when inlined (array-bounds, restrict, stringop-overflow): false alarms, gone in later ones.
target_compile_options(muster_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow>)
target_compile_options(muster_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  -Werror=return-type -Werror=switch -ffp-contract=off -fstack-protector-strong -fstack-clash-protection
  -ftrivial-auto-var-init=zero -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
target_compile_definitions(muster_flags INTERFACE _GLIBCXX_ASSERTIONS MUSTER_VERSION="${PROJECT_VERSION}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_options(muster_flags INTERFACE -mbranch-protection=standard)
else()
  target_compile_options(muster_flags INTERFACE -fcf-protection=full)
endif()
if(MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(muster_flags INTERFACE -fsanitize=address,undefined)
else()
  target_compile_options(muster_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
target_link_options(muster_flags INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)
find_program(MOLD mold)
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  target_link_options(muster_flags INTERFACE -fuse-ld=mold)
endif()
