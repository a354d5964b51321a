# Sourced by ./run and ./test: installs what is missing, then builds. Each step prints one line on stderr, so that stdout is left
# to muster. Every function is safe to repeat and quick when there is nothing to do.

preset=release
build_dir=build/$preset
must_configure=no

say() { printf '%s: %s\n' "${me:?}" "$*" >&2; }
die() { say "$@"; exit 1; }

# Names in packaging/apt.txt, one per line: those below the line "# PART", or all of them.
listed_packages() {
  local part=$1 line at=
  while IFS= read -r line; do
    case $line in
      '# build' | '# slurm-lab' | '# tests') at=${line#\# } ;;
      '' | '#'*) ;;
      *) if [ "$part" = all ] || [ "$part" = "$at" ]; then printf '%s\n' "$line"; fi ;;
    esac
  done <packaging/apt.txt
}

# Those of the listed packages that this machine lacks. Node may have come from elsewhere; Debian's npm would then conflict.
missing_packages() {
  local part=$1 native have package
  native=$(dpkg --print-architecture)
  have=$(dpkg-query -W -f '${db:Status-Status} ${Architecture} ${Package}\n' 2>/dev/null |
    awk -v native="$native" '$1 == "installed" && ($2 == native || $2 == "all") {print $3}')
  listed_packages "$part" | while IFS= read -r package; do
    case $package in
      nodejs) if command -v node >/dev/null; then continue; fi ;;
      npm) if command -v npm >/dev/null; then continue; fi ;;
    esac
    case $'\n'$have$'\n' in
      *$'\n'"$package"$'\n'*) ;;
      *) printf '%s\n' "$package" ;;
    esac
  done
}

# Output goes to a log, whose end is shown only on failure.
apt_get() {
  local log=build/apt.log as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "apt-get $1 failed (whole output: $log)"
  fi
}

install_packages() {
  local part=$1 missing started=$SECONDS
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "packages: not a Debian system, nothing installed; the build needs what packaging/apt.txt lists"
    return
  fi
  missing=$(missing_packages "$part")
  if [ -z "$missing" ]; then
    say "packages: all present"
    return
  fi
  missing=${missing//$'\n'/ }
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    die "packages are missing, and this is neither root nor is there sudo. As root: apt-get install $missing"
  fi
  say "packages: installing $missing"
  apt_get update
  # shellcheck disable=SC2086  # one word per package
  apt_get install -y --no-install-recommends $missing
  say "packages: installed in $((SECONDS - started)) s"
  must_configure=yes
}

# node_packages FOLDER NAME: what FOLDER/package-lock.json asks for. Each folder's are apart from those of the page, which ships.
node_packages() {
  local folder=$1 name=$2 stamp=build/$2-packages.sha256 now major started=$SECONDS
  if [ ! -f "$folder/package-lock.json" ]; then return; fi
  major=$(node --version) || die "node does not run; Muster's page needs Node 18 or newer"
  major=${major#v}
  if [ "${major%%.*}" -lt 18 ]; then die "Node $major is too old; Muster's page needs 18 or newer"; fi
  now=$(sha256sum "$folder/package.json" "$folder/package-lock.json")
  if [ -d "$folder/node_modules" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$now" ]; then
    say "$name packages: up to date"
    return
  fi
  say "$name packages: npm ci"
  if ! (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >build/npm.log 2>&1; then
    tail -n 20 build/npm.log >&2
    die "npm ci failed in $folder/ (whole output: build/npm.log)"
  fi
  printf '%s\n' "$now" >"$stamp"
  say "$name packages: installed in $((SECONDS - started)) s"
}

# One compiler for each core, but no more than memory has room for: the largest file needs about 1.5 GB.
build_jobs() {
  local cores free_mb limit jobs
  cores=$(nproc)
  free_mb=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [ "$limit" != max ] && [ $((limit / 1048576)) -lt "$free_mb" ]; then free_mb=$((limit / 1048576)); fi
  jobs=$((free_mb / 1500))
  if [ "$jobs" -gt "$cores" ]; then jobs=$cores; fi
  if [ "$jobs" -lt 1 ]; then jobs=1; fi
  echo "$jobs"
}

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build_dir/CMakeCache.txt" 2>/dev/null; }

# ninja configures again by itself when a CMakeLists.txt or the list of files changes; what it cannot see is decided here.
configure() {
  local tests=$1 started=$SECONDS options=()
  if [ -f "$build_dir/CMakeCache.txt" ] && [ "$(cached CMAKE_HOME_DIRECTORY)" != "$PWD" ]; then
    say "configure: $build_dir was made for $(cached CMAKE_HOME_DIRECTORY), starting afresh"
    rm -rf "$build_dir"
  fi
  if [ ! -f "$build_dir/build.ninja" ] || [ CMakePresets.json -nt "$build_dir/build.ninja" ]; then must_configure=yes; fi
  if [ "$tests" = yes ] && [ "$(cached MUSTER_TESTS)" != ON ]; then must_configure=yes; fi
  if [ "$must_configure" = no ]; then return; fi
  # Tests need packages that ./run does not install.
  if [ "$tests" = yes ]; then options+=(-DMUSTER_TESTS=ON); fi
  if [ "$tests" = no ] && [ ! -f "$build_dir/CMakeCache.txt" ]; then options+=(-DMUSTER_TESTS=OFF); fi
  if ! cmake --preset "$preset" "${options[@]}" >build/configure.log 2>&1; then
    tail -n 30 build/configure.log >&2
    die "cmake failed (whole output: build/configure.log)"
  fi
  say "configure: done in $((SECONDS - started)) s"
}

build() {
  local started=$SECONDS jobs
  jobs=$(build_jobs)
  say "build: $* with $jobs job(s)"
  if [ -t 2 ]; then
    ninja -C "$build_dir" -j "$jobs" "$@" >&2 || die "the build failed"
  else
    ninja -C "$build_dir" -j "$jobs" --quiet "$@" >build/ninja.log 2>&1 || { cat build/ninja.log >&2; die "the build failed"; }
    sed '/^ninja: no work to do/d; /^-- /d' build/ninja.log >&2
  fi
  if [ "$SECONDS" -gt "$started" ]; then say "build: done in $((SECONDS - started)) s"; fi
}

# prepare PART TARGET...: PART is `build` or `all`, as in packaging/apt.txt.
prepare() {
  local part=$1 tests=no
  shift
  if [ "$part" = all ]; then tests=yes; fi
  mkdir -p build 2>/dev/null || die "cannot write to $PWD/build"
  if [ ! -w build ]; then die "cannot write to $PWD/build; was it made by another user? (sudo chown -R $(id -un) build)"; fi
  install_packages "$part"
  node_packages web web
  if [ "$tests" = yes ]; then node_packages tests/live/fleet_emit terraform; fi
  configure "$tests"
  build "$@"
}
