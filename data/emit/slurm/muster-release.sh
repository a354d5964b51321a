#!/bin/sh
# muster-release.sh [--loop] [HEARTBEAT]: lets every job go that waits at Muster's gate once Muster's heartbeat is stale.
#
# Runs beside slurmctld, as root or SlurmUser, and needs nothing of Muster: from a systemd timer each 20 s (once a call), or with
# --loop. Jobs at the gate are those that muster.lua marked ("muster: gate") and that pend for their start time; jobs that Muster
# had given nodes to ("muster: place") and that have not started lose those nodes, or they would wait for them for ever. Nothing else
# is touched. Prints a line only when it acts or cannot.
#
#   MUSTER_STALE_S   a heartbeat older than this is stale [30]
#   MUSTER_LOOP_S    seconds between two looks of --loop [10]
#   SLURM_CONF       as for every command of Slurm
set -u

loop=no
if [ "${1:-}" = "--loop" ]; then
  loop=yes
  shift
fi
heartbeat=${1:-/run/muster/heartbeat}
stale_s=${MUSTER_STALE_S:-30}
loop_s=${MUSTER_LOOP_S:-10}

say() { printf '%s muster-release: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

# The time stands in the file, as muster.lua reads it. A time to come counts as stale: a clock was set.
is_fresh() {
  beat=
  [ -r "$heartbeat" ] && read -r beat < "$heartbeat"
  case $beat in
    '' | *[!0-9]*) return 1 ;;
  esac
  age=$(($(date +%s) - beat))
  [ "$age" -le "$stale_s" ] && [ "$age" -ge "-$stale_s" ]
}

# Numbers of pending jobs with commas between them: those at the gate, a hundred a line; or those that Muster gave nodes to, one a
# line, because Slurm takes no list of jobs where nodes are changed.
waiting() {
  awk -F'|' -v kind="$1" '
    kind == "gate" && $2 == "BeginTime" && $4 ~ /^muster: gate/ { ids[++n] = $1 }
    kind == "place" && $3 != "" && $3 != "N/A" && $4 ~ /^muster: place/ { ids[++n] = $1 }
    END { for (i = 1; i <= n; i++) printf "%s%s", ids[i], kind == "place" || i % 100 == 0 || i == n ? "\n" : "," }'
}

# One that has started or ended meanwhile is refused; the others of its line are changed all the same.
update() {
  change=$1
  while read -r ids; do
    if answer=$(timeout 60 scontrol update "JobId=$ids" "$change" "AdminComment=muster: left to Slurm: Muster was away" 2>&1); then
      say "heartbeat $heartbeat is stale: $change for jobs $ids"
    else
      say "heartbeat $heartbeat is stale: $change for jobs $ids, of which not all could be changed: $answer"
    fi
  done
}

once() {
  is_fresh && return 0
  if ! jobs=$(timeout 60 squeue -h -a -t PENDING -O 'JobID:|,Reason:|,ReqNodes:|,admin_comment:256' 2>&1); then
    say "squeue does not answer: $jobs"
    return 1
  fi
  printf '%s\n' "$jobs" | waiting gate | update StartTime=now
  printf '%s\n' "$jobs" | waiting place | update NodeList=
}

if [ "$loop" = no ]; then
  once
  exit
fi
while :; do
  once
  sleep "$loop_s"
done
